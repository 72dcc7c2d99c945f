"""For your own tests: an election that follows a script, a store with faults, a clock that stands still.

With pytest there are fixtures of the same names, which need no import: ``scripted_election`` and ``faulty_store`` make
them, for asyncio, and ``scripted_election_sync`` and ``faulty_store_sync`` for threads::

    async def test_the_worker_stops_when_it_loses(scripted_election):
        election = scripted_election("jobs")
        worker = Worker(election.candidate)
        election.acquire()
        assert await worker.is_working()
        election.revoke(Reason.USURPED)
        assert not await worker.is_working()
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Generic, TypeVar

from incumbent import _aio, _incumbent
from incumbent import sync as _sync
from incumbent._aio._loop import answer as _loop_answer
from incumbent._incumbent import ManualClock
from incumbent._types import Reason, Token
from incumbent.sync._wait import answer as _answer

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from incumbent._settings import StoreSettings

__all__ = [
    "Faults",
    "ManualClock",
    "ScriptedElection",
    "faulty_store",
    "faulty_store_sync",
    "scripted_election",
    "scripted_election_sync",
]

C = TypeVar("C")


class ScriptedElection(Generic[C]):
    """An election that does what a test says, at once and without a store.

    The code under test has :attr:`candidate`, the very type that real elections give. What it asks for (a
    resignation, say) is carried out as a real election would, and written down in :attr:`asked`.
    """

    def __init__(self, script: _incumbent.Script, candidate: C) -> None:
        self._script = script
        self.candidate = candidate
        """The only candidate; it does not lead at first."""

    @property
    def asked(self) -> list[tuple[str, str | None]]:
        """What the code under test has asked for, in order: ``("resign", None)``, ``("hand_over", "worker-8")``."""
        return self._script.asked

    def acquire(self, lease: float | None = None) -> Token:
        """The candidate wins, until something happens or for ``lease`` seconds: then the term ends, and is told to have
        ended, with ``Reason.EXPIRED``. Returns the term's token, larger than every one before."""
        return Token(*self._script.acquire(lease))

    def revoke(self, reason: Reason = Reason.USURPED) -> None:
        """The term ends at once, for that reason; nothing is drained."""
        self._script.revoke(reason.value)

    def fence(self) -> None:
        """The lease cannot be proven in time: the term ends at once, with ``Reason.EXPIRED``."""
        self._script.revoke(Reason.EXPIRED.value)

    def drain(self, reason: Reason = Reason.RESIGNED) -> None:
        """The term drains, and ends when nobody works for it any more."""
        self._script.drain(reason.value)

    def leader(self, name: str | None) -> None:
        """The seat is seen to be held by somebody, or by nobody."""
        self._script.leader(name)

    def warning(self) -> None:
        """Something happens that a person should look at."""
        self._script.warning()


def scripted_election(
    election: str = "election", name: str = "candidate", *, clock: ManualClock | None = None
) -> ScriptedElection[_aio.Candidate]:
    """A scripted election whose candidate is one of asyncio's."""
    script = _incumbent.Script(election, name, clock)
    return ScriptedElection(script, _aio.Candidate(script.candidate()))


def scripted_election_sync(
    election: str = "election", name: str = "candidate", *, clock: ManualClock | None = None
) -> ScriptedElection[_sync.Candidate]:
    """A scripted election whose candidate is one for threads."""
    script = _incumbent.Script(election, name, clock)
    return ScriptedElection(script, _sync.Candidate(script.candidate()))


class Faults:
    """Makes faults in a store, on demand."""

    def __init__(self, native: _incumbent.Faults) -> None:
        self._native = native

    def lose_answers(self, count: int = 1) -> None:
        """The next ``count`` writes are done, and nobody hears of it."""
        self._native.writes("lose_answer", count)

    def lose_requests(self, count: int = 1) -> None:
        """The next ``count`` writes never reach the store, and nobody hears of that either."""
        self._native.writes("lose_request", count)

    def busy(self, count: int = 1) -> None:
        """The next ``count`` writes are refused because another one is in flight."""
        self._native.writes("busy", count)

    def delay_answers(self, seconds: float) -> None:
        """From now on every answer comes so much later; zero ends it."""
        self._native.delay_answers(seconds)

    def deny_writes(self, reason: str) -> None:
        """From now on writes are refused for want of a permission, until :meth:`allow_writes`."""
        self._native.deny_writes(reason)

    def allow_writes(self) -> None:
        """Ends :meth:`deny_writes`."""
        self._native.deny_writes(None)

    def partition(self) -> None:
        """Cuts the line: nothing reaches the store and nothing is answered, until :meth:`heal`."""
        self._native.partition(True)

    def heal(self) -> None:
        """Mends the line."""
        self._native.partition(False)

    def kill_watches(self) -> None:
        """Every watch there is tells nothing any more."""
        self._native.kill_watches()


async def faulty_store(
    url: str = "memory:", *, clock: ManualClock | None = None, **settings: Unpack[StoreSettings]
) -> tuple[_aio.Store, Faults]:
    """Opens a store that has faults on demand, for asyncio."""
    given: dict[str, Any] = {**settings}
    store, faults = await _loop_answer(_incumbent.open_faulty(url, given, clock))
    return _aio.Store(store), Faults(faults)


def faulty_store_sync(
    url: str = "memory:", *, clock: ManualClock | None = None, **settings: Unpack[StoreSettings]
) -> tuple[_sync.Store, Faults]:
    """Opens a store that has faults on demand, for threads."""
    given: dict[str, Any] = {**settings}
    store, faults = _answer(_incumbent.open_faulty(url, given, clock))
    return _sync.Store(store), Faults(faults)
