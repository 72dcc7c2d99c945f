"""The types that the APIs for asyncio and threads share."""

# The annotations of the fields are not strings: a string would be looked up in the public module of its class.
from collections.abc import Sequence
from enum import Enum
from typing import Any, Generic, NamedTuple, TypeVar

from incumbent import _incumbent

T = TypeVar("T")

_DESCRIPTIONS = {code: (may_drain, text) for code, may_drain, text in _incumbent.REASONS}


class Token(NamedTuple):
    """A fencing token: constant for a term, larger for every later term of the election.

    Send it with every request, and let the resource refuse a token smaller than the largest it has seen. Tokens compare
    as pairs; as text (``str(token)``, 33 characters) they sort the same, in every language.
    """

    incarnation: int
    """The incarnation of the store in which the term was won."""

    sequence: int
    """The number of the write that won the term."""

    def __str__(self) -> str:
        return f"{self.incarnation:016x}-{self.sequence:016x}"

    @classmethod
    def parse(cls, text: str) -> "Token":
        """Parses a token from the text that ``str`` returns; ``ValueError`` for any other text."""
        parts = text.split("-")
        digits = "0123456789abcdefABCDEF"
        if len(parts) != 2 or any(len(part) != 16 or part.strip(digits) for part in parts):
            message = f"{text!r} is not a fencing token: expected 16 hexadecimal digits, '-', 16 more"
            raise ValueError(message)
        return cls(int(parts[0], 16), int(parts[1], 16))


class Reason(str, Enum):
    """The reason for which a term ended."""

    # generated: reasons
    RESIGNED = "RESIGNED"
    """The leader resigned."""
    HANDED_OVER = "HANDED_OVER"
    """The leader handed over to a named successor."""
    USURPED = "USURPED"
    """Another candidate, or other software, wrote the key."""
    DELETED = "DELETED"
    """An operator deleted the key."""
    EXPIRED = "EXPIRED"
    """The deadline passed without a proven renewal, or the store reported that the lease expired."""
    REVOKED = "REVOKED"
    """A consumer group took the leadership away."""
    UNHEALTHY = "UNHEALTHY"
    """The candidate's health check failed, or its event loop or executor hung."""
    HANDLER_FAILED = "HANDLER_FAILED"
    """The work of the term failed."""
    STORE_RESET = "STORE_RESET"
    """The store was replaced or restored, or lost acknowledged writes."""
    CLOSED = "CLOSED"
    """The campaign was closed."""
    # end of reasons

    def __str__(self) -> str:
        return self.value

    @property
    def may_drain(self) -> bool:
        """Whether the work could be finished while the lease was still held."""
        return _DESCRIPTIONS[self.value][0]

    @property
    def description(self) -> str:
        """The reason as text."""
        return _DESCRIPTIONS[self.value][1]


class State(str, Enum):
    """The state of a campaign."""

    # generated: states
    IDLE = "IDLE"
    """Not campaigning: not yet asked to, or unhealthy."""
    SPLAYING = "SPLAYING"
    """Waiting for a random time before its first campaign."""
    WAITING = "WAITING"
    """Campaigning; another candidate holds the lease, or the key was not read yet."""
    ACQUIRING = "ACQUIRING"
    """An acquire was sent but not answered yet."""
    HOLDING = "HOLDING"
    """Holds the lease but does not lead yet, because a previous leader might still believe that it leads."""
    LEADING = "LEADING"
    """Leads."""
    DRAINING = "DRAINING"
    """Leads, and is finishing its work."""
    RELEASING = "RELEASING"
    """No longer leads, and releases the lease once the term's work has ended."""
    CLOSED = "CLOSED"
    """Over."""
    # end of states

    def __str__(self) -> str:
        return self.value


class _Record:
    """A record of named values that do not change; unlike a dataclass, it needs no slow import."""

    __slots__ = ()
    __match_args__: tuple[str, ...] = ()

    def __init__(self, *values: Any, **named: Any) -> None:
        names = self.__match_args__
        given = {**dict(zip(names, values)), **named}
        if len(values) + len(named) != len(names) or set(given) != set(names):
            message = f"{type(self).__name__} takes {', '.join(names)}, each once"
            raise TypeError(message)
        for name, value in given.items():
            object.__setattr__(self, name, value)

    def __setattr__(self, name: str, value: object) -> None:
        message = f"{type(self).__name__} does not change"
        raise AttributeError(message)

    def __delattr__(self, name: str) -> None:
        self.__setattr__(name, None)

    def _values(self) -> tuple[Any, ...]:
        return tuple(getattr(self, name) for name in self.__match_args__)

    def __eq__(self, other: object) -> bool:
        return self._values() == other._values() if isinstance(other, type(self)) else NotImplemented

    def __hash__(self) -> int:
        return hash((type(self).__name__, *self._values()))

    def __repr__(self) -> str:
        shown = ", ".join(f"{name}={getattr(self, name)!r}" for name in self.__match_args__)
        return f"{type(self).__name__}({shown})"

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), self._values()


class Leader(_Record):
    """The leader of an election."""

    __slots__ = ("_metadata", "name", "nonce", "revision")
    __match_args__ = ("name", "revision", "nonce", "_metadata")

    name: str
    """The name of the candidate."""
    revision: int
    """The revision of its newest record when it was first seen as the leader."""
    nonce: str | None
    """The nonce of its campaign; None for other software."""
    _metadata: tuple[tuple[str, str], ...]

    def __init__(
        self, name: str, revision: int = 0, nonce: str | None = None, metadata: Any = ()
    ) -> None:
        super().__init__(name, revision, nonce, tuple(tuple(pair) for pair in metadata))

    @property
    def metadata(self) -> dict[str, str]:
        """The metadata that it publishes."""
        return dict(self._metadata)

    def __repr__(self) -> str:
        return f"Leader(name={self.name!r}, revision={self.revision!r}, metadata={self.metadata!r})"


class Won(_Record, Generic[T]):
    """This candidate leads, from now until :class:`Lost`."""

    __slots__ = ("term",)
    __match_args__ = ("term",)
    term: T
    """The term that begins."""


class Draining(_Record, Generic[T]):
    """This leader leaves of its own accord; it still leads, and has ``term.drain_remaining`` seconds to finish."""

    __slots__ = ("reason", "term")
    __match_args__ = ("term", "reason")
    term: T
    """The term that drains."""
    reason: Reason
    """The reason for which it leaves."""


class Lost(_Record, Generic[T]):
    """This candidate no longer leads. Emitted exactly once for every :class:`Won`."""

    __slots__ = ("reason", "term")
    __match_args__ = ("term", "reason")
    term: T
    """The term that ended."""
    reason: Reason
    """The reason for which it ended."""


class LeaderChanged(_Record):
    """The holder of the key changed: another candidate, or none."""

    __slots__ = ("leader",)
    __match_args__ = ("leader",)
    leader: Leader | None
    """The leader; None while the key is free."""


class StateChanged(_Record):
    """The campaign entered another state."""

    __slots__ = ("state",)
    __match_args__ = ("state",)
    state: State
    """The new state."""


class Warning(_Record):
    """A problem that a person should look at: the store is unreachable, a permission is missing, a setting is
    unsafe."""

    __slots__ = ("code", "message")
    __match_args__ = ("code", "message")
    code: str
    """A stable name, the same in every language."""
    message: str
    """The problem and the remedy."""


class Observation(_Record):
    """The leader of an election, as the store shows it."""

    __slots__ = ("age", "election", "leader")
    __match_args__ = ("election", "leader", "age")
    election: str
    """The election's key."""
    leader: Leader | None
    """The leader; None while the key is free."""
    age: float
    """The seconds for which this state had lasted when the observation was emitted."""


class ElectionInfo(_Record):
    """An election of a store, and its leader."""

    __slots__ = ("election", "leader")
    __match_args__ = ("election", "leader")
    election: str
    """The election's key."""
    leader: Leader | None
    """The leader; None while the key is free."""


class CandidateInfo(_Record):
    """A candidate in an election: it waits, acquires or holds the lease, leads or leaves."""

    __slots__ = ("election", "name", "nonce", "standing_for")
    __match_args__ = ("election", "name", "nonce", "standing_for")
    election: str
    """The election's key."""
    name: str
    """The name of the candidate."""
    nonce: str | None
    """The nonce of its campaign, which distinguishes candidates of the same name; None if it is not reported."""
    standing_for: float
    """The seconds for which it has been a candidate without interruption."""


class InitReport(_Record):
    """The findings and actions of :func:`incumbent.init`."""

    __slots__ = ("created", "differences", "lease", "never_used", "topic", "updated")
    __match_args__ = ("created", "updated", "never_used", "lease", "topic", "differences")
    created: bool
    """Whether the store did not exist, and was created."""
    updated: bool
    """Whether a bucket existed, and was changed."""
    never_used: bool
    """Whether the store states that no election was ever held in it: then its first leader does not wait for a lease."""
    lease: float | None
    """The lease of the elections in a NATS bucket, in seconds; None on other stores, where each candidate has its
    own."""
    topic: str | None
    """The topic of the election, on Kafka."""
    differences: Sequence[tuple[str, str, str]]
    """The changed settings of a bucket: the name, the former value and the new value."""


def init_of(plain: "_incumbent.InitTuple") -> InitReport:
    """Makes a report from a tuple of the compiled part."""
    *values, differences = plain
    return InitReport(*values, tuple(differences))


def candidates_of(plain: "Sequence[_incumbent.CandidateTuple] | None") -> Sequence[CandidateInfo] | None:
    """Makes the candidates of an election from tuples of the compiled part."""
    return None if plain is None else [CandidateInfo(*one) for one in plain]


def leader_of(plain: "_incumbent.LeaderTuple | None") -> Leader | None:
    """Makes a leader from a tuple of the compiled part."""
    return None if plain is None else Leader(*plain)


def election_of(plain: "list[tuple[str, _incumbent.LeaderTuple | None]]") -> list[ElectionInfo]:
    """Makes the elections of a store from tuples of the compiled part."""
    return [ElectionInfo(election, leader_of(leader)) for election, leader in plain]


def observation_of(plain: "_incumbent.ObservedTuple") -> Observation:
    """Makes an observation from a tuple of the compiled part."""
    election, leader, age = plain
    return Observation(election, leader_of(leader), age)


def event_of(plain: "_incumbent.EventTuple", term_of: Any) -> Any:
    """Makes an event from a tuple of the compiled part; ``term_of`` makes the term for asyncio or threads."""
    kind, term, detail, leader = plain
    if kind == "LEADER_CHANGED":
        return LeaderChanged(None if leader is None else Leader(*leader))
    if kind == "WON":
        return Won(term_of(term))
    word, text = detail if detail is not None else ("", None)
    if kind == "DRAINING":
        return Draining(term_of(term), Reason(word))
    if kind == "LOST":
        return Lost(term_of(term), Reason(word))
    if kind == "STATE_CHANGED":
        return StateChanged(State(word))
    return Warning(word, text)
