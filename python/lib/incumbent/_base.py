"""The methods of terms and candidates that do not wait, for asyncio and threads alike."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar, Generic, TypeVar

from incumbent import _incumbent, _inside
from incumbent._types import Leader, Reason, State, Token, leader_of
from incumbent.errors import ClosedError, TermEnded

T = TypeVar("T", bound="BaseTerm")


def is_end(error: BaseException | None) -> bool:
    """Whether the error is a `TermEnded`, or a group of nothing but these, as a task group raises it."""
    if isinstance(error, TermEnded):
        return True
    # Does not check for the type `BaseExceptionGroup`, which Python 3.10 lacks.
    parts = getattr(error, "exceptions", None)
    return isinstance(parts, tuple) and bool(parts) and all(map(is_end, parts))


class _Drain:
    """The drain of a term, shared by all that shows this term to the same work."""

    __slots__ = ("is_noticed",)

    def __init__(self) -> None:
        self.is_noticed = False
        """Whether the work has learned that the term drains."""


class BaseTerm:
    """An uninterrupted leadership. Nothing here waits."""

    __slots__ = ("__weakref__", "_drain", "_native")
    _native: _incumbent.Term

    def __init__(self, native: _incumbent.Term) -> None:
        self._native = native
        self._drain = _Drain()

    @classmethod
    def _seen_as(cls: type[T], term: BaseTerm | None) -> T | None:
        """Returns the term for asyncio, or for threads, whichever this class is for."""
        if term is None or isinstance(term, cls):
            return term
        seen = cls(term._native)
        seen._drain = term._drain
        return seen

    @property
    def token(self) -> Token:
        """The fencing token: constant for the term, larger for every later term. Send it with every request."""
        return Token(*self._native.token)

    @property
    def election(self) -> str:
        """The key of the election."""
        return self._native.election

    @property
    def age(self) -> float:
        """The seconds since this candidate learned that it leads; they keep counting when the term is over."""
        return self._native.age

    @property
    def remaining(self) -> float:
        """The seconds for which the lease is proven; renewals extend it. Zero once the term is over."""
        return self._native.remaining

    @property
    def drain_remaining(self) -> float | None:
        """The seconds that a draining leader still has to finish its work; None while it is not draining."""
        left = self._native.drain_remaining
        if left is not None:
            self._drain.is_noticed = True
        return left

    @property
    def is_draining(self) -> bool:
        """Whether the leader is leaving of its own accord, and should accept no new work."""
        return self.drain_remaining is not None and self._native.is_current()

    @property
    def reason(self) -> Reason | None:
        """The reason for which the term ended; None while it lasts."""
        reason = self._native.reason
        return None if reason is None else Reason(reason)

    def is_current(self) -> bool:
        """Whether the term still lasts *now*, by the clock and not by a timer; always false in a forked child."""
        return self._native.is_current()

    def check(self) -> None:
        """Raises :class:`TermEnded`, with the reason, if the term is over."""
        if not self.is_current():
            raise TermEnded(self.reason or Reason.EXPIRED)

    def fail(self) -> None:
        """Ends the term because its work failed, with ``Reason.HANDLER_FAILED``; nothing is drained."""
        self._native.fail()

    def drained(self) -> None:
        """Reports that the work of the term is done, even with other work in progress: a draining term ends now."""
        self._native.drained()

    def _is_failed_by(self, error: Exception) -> bool:
        """Ends the term where its work failed with that error, and returns whether it did. The end of the term is no failure,
        but that of another term is, which the work used."""
        if is_end(error) and not self.is_current():
            return False
        self.fail()
        return True

    def _is_done(self, result: object, *, told: bool) -> bool:
        """Whether the work that has returned ``result`` in this term is done, and not to be called in another one.

        In a term that drains, work that returns nothing may have stopped in the middle because it was ``told``, or has
        noticed, that it drains.
        """
        if not self.is_current():
            return False
        return self._native.drain_remaining is None or result is not None or not (told or self._drain.is_noticed)

    def __eq__(self, other: object) -> bool:
        return self._native == other._native if isinstance(other, BaseTerm) else NotImplemented

    def __hash__(self) -> int:
        return hash(self._native)

    def __repr__(self) -> str:
        state = "current" if self.is_current() else f"over: {self.reason.name if self.reason else ''}"
        return f"<Term of {self.election!r}, token {self.token}, {state}>"


class BaseTerms:
    """The terms of a candidate: the current one is held until the next is requested."""

    __slots__ = ("_candidate", "_is_asked", "_last", "_turn")

    def __init__(self, candidate: _incumbent.Candidate) -> None:
        self._candidate = candidate
        self._last: _incumbent.Term | None = None
        self._turn: _inside.Turn | None = None
        self._is_asked = False

    def _ask(self) -> _incumbent.Operation[_incumbent.Hold | None]:
        """Ends the previous turn and requests the next term. The caller resets ``_is_asked`` afterwards."""
        if self._is_asked:
            # Refused as in a generator, because two concurrent callers would get the same term.
            message = "another call is already waiting for the next term; give each task or thread its own terms()"
            raise RuntimeError(message)
        self._finish()
        self._is_asked = True
        return self._candidate.next_term(self._last)

    def _begin(self, hold: _incumbent.Hold, owner: object, term_of: Callable[[_incumbent.Term], T]) -> T:
        """Begins a turn of the loop, in that task or thread."""
        self._last = hold.term
        term = term_of(hold.term)
        self._turn = _inside.Turn(hold, owner, term)
        return term

    def _finish(self) -> None:
        turn, self._turn = self._turn, None
        if turn is not None:
            turn.finish()

    def __del__(self) -> None:
        self._finish()


class BaseCandidate(Generic[T]):
    """A participant of an election. Nothing here waits."""

    __slots__ = ("__weakref__", "_native")
    _native: _incumbent.Candidate
    # The class of terms, for asyncio or threads.
    _term_type: ClassVar[Any]

    def __init__(self, native: _incumbent.Candidate) -> None:
        self._native = native

    @property
    def is_leader(self) -> bool:
        """Whether this candidate leads *now*.

        It compares the proven deadline with the clock at every call, without a timer: once the lease is no longer
        renewed it turns false by itself, even while the event loop is blocked or the process stopped. It is never true
        in a forked child.
        Time still passes between this answer and the action that depends on it: if that matters, send the term's token
        along.
        """
        return self._native.is_leader

    @property
    def election(self) -> str:
        """The key of the election."""
        return self._native.election

    @property
    def name(self) -> str:
        """The candidate's name, visible to other candidates."""
        return self._native.name

    @property
    def term(self) -> T | None:
        """The current term; None while this candidate does not lead."""
        term = self._native.term
        return None if term is None else self._term_of(term)

    @property
    def state(self) -> State:
        """The state of the campaign."""
        return State(self._native.state)

    @property
    def leader(self) -> Leader | None:
        """The leader of the election, as far as this candidate has seen."""
        return leader_of(self._native.leader)

    def set_healthy(self, is_well: bool) -> None:  # noqa: FBT001, it is a statement
        """Sets whether this candidate is healthy; it is at first.

        An unhealthy candidate does not campaign, and an unhealthy leader drains and leaves.
        """
        self._native.set_healthy(is_well)

    def accept_reset(self) -> None:
        """Accepts that tokens may start again after the store was reset.

        For a candidate that stays out because of a reset (warning ``STORE_RESET``), and only if no resource remembers
        the tokens from before the reset.
        """
        self._native.accept_reset()

    @classmethod
    def _term_of(cls, native: _incumbent.Term) -> T:
        term: T = cls._term_type(native)
        return term

    def _won(self, hold: _incumbent.Hold | None) -> T:
        """Returns the term of a hold, and releases the hold."""
        if hold is None:
            message = "the candidate is closed"
            raise ClosedError(message)
        hold.release()
        return self._term_of(hold.term)

    def _is_inside(self) -> bool:
        """Whether the caller is part of the work of the current term."""
        term = self._native.term
        return term is not None and _inside.is_inside(term)

    def __repr__(self) -> str:
        return f"<Candidate {self.name!r} for {self.election!r}, {self.state.name}>"
