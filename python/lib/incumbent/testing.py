"""For your own tests: a scripted election, a store with faults, and a manual clock.

The fixtures for pytest have the same names and need no import: ``scripted_election`` and ``faulty_store`` for asyncio,
``scripted_election_sync`` and ``faulty_store_sync`` for threads::

    async def test_the_worker_stops_when_it_loses(scripted_election):
        election = scripted_election("jobs")
        worker = Worker(election.candidate)
        election.acquire()
        assert await worker.is_working()
        election.revoke(Reason.USURPED)
        assert not await worker.is_working()
"""

from __future__ import annotations

from typing import Any, Generic, TypeVar

from incumbent import _aio, _incumbent
from incumbent import sync as _sync
from incumbent._aio._loop import answer as _loop_answer
from incumbent._incumbent import ManualClock
from incumbent._open import OpenStore
from incumbent._settings import StoreSettings
from incumbent._types import Reason, Token
from incumbent._typing import Unpack
from incumbent.sync._wait import answer as _answer

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
    """A scripted election: it follows the test, at once and without a store.

    The code under test gets :attr:`candidate`, of the same type as in a real election. Like a real one, the election
    carries out the requests of that code, such as a resignation, and records them in :attr:`asked`.
    """

    def __init__(self, script: _incumbent.Script, candidate: C) -> None:
        self._script = script
        self.candidate = candidate
        """The only candidate; it does not lead at first."""

    @property
    def asked(self) -> list[tuple[str, str | None]]:
        """The requests of the code under test, in order: ``("resign", None)``, ``("hand_over", "worker-8")``."""
        return self._script.asked

    def acquire(self, lease: float | None = None) -> Token:
        """Lets the candidate win, with a lease of ``lease`` seconds or without one. When the lease expires the term
        ends, and ``Lost`` is emitted with ``Reason.EXPIRED``. Returns the term's token, larger than all earlier
        ones."""
        return Token(*self._script.acquire(lease))

    def revoke(self, reason: Reason = Reason.USURPED) -> None:
        """Ends the term at once, for that reason, without a drain."""
        self._script.revoke(reason.value)

    def fence(self) -> None:
        """Ends the term at once with ``Reason.EXPIRED``: the lease could not be proven in time."""
        self._script.revoke(Reason.EXPIRED.value)

    def drain(self, reason: Reason = Reason.RESIGNED) -> None:
        """Lets the term drain, and end when no work holds it any longer."""
        self._script.drain(reason.value)

    def leader(self, name: str | None) -> None:
        """Shows another candidate as the leader, or no leader."""
        self._script.leader(name)

    def warning(self) -> None:
        """Emits a warning."""
        self._script.warning()


def scripted_election(
    election: str = "election", name: str = "candidate", *, clock: ManualClock | None = None
) -> ScriptedElection[_aio.Candidate]:
    """Creates a scripted election with a candidate for asyncio."""
    script = _incumbent.Script(election, name, clock)
    return ScriptedElection(script, _aio.Candidate(script.candidate()))


def scripted_election_sync(
    election: str = "election", name: str = "candidate", *, clock: ManualClock | None = None
) -> ScriptedElection[_sync.Candidate]:
    """Creates a scripted election with a candidate for threads."""
    script = _incumbent.Script(election, name, clock)
    return ScriptedElection(script, _sync.Candidate(script.candidate()))


class Faults:
    """Injects faults into a store, on demand."""

    def __init__(self, native: _incumbent.Faults) -> None:
        self._native = native

    def lose_answers(self, count: int = 1) -> None:
        """Loses the answers of the next ``count`` writes, which are applied."""
        self._native.writes("lose_answer", count)

    def lose_requests(self, count: int = 1) -> None:
        """Loses the next ``count`` writes before they reach the store; they get no answer."""
        self._native.writes("lose_request", count)

    def busy(self, count: int = 1) -> None:
        """Refuses the next ``count`` writes because another write is in flight."""
        self._native.writes("busy", count)

    def delay_answers(self, seconds: float) -> None:
        """Delays every answer by ``seconds`` from now on; zero ends the delay."""
        self._native.delay_answers(seconds)

    def deny_writes(self, reason: str) -> None:
        """Refuses writes from now on for lack of a permission, until :meth:`allow_writes`."""
        self._native.deny_writes(reason)

    def allow_writes(self) -> None:
        """Ends :meth:`deny_writes`."""
        self._native.deny_writes(None)

    def partition(self) -> None:
        """Cuts the connection: nothing reaches the store, and no answer arrives, until :meth:`heal`."""
        self._native.partition(True)

    def heal(self) -> None:
        """Restores the connection."""
        self._native.partition(False)

    def kill_watches(self) -> None:
        """Silences every current watch."""
        self._native.kill_watches()


async def faulty_store(
    url: str = "memory:", *, clock: ManualClock | None = None, **settings: Unpack[StoreSettings]
) -> tuple[_aio.Store, Faults]:
    """Opens a store with fault injection, for asyncio."""
    given: dict[str, Any] = {**settings}
    store, faults = await _loop_answer(_incumbent.open_faulty(url, given, clock))
    return _aio.Store(OpenStore(store)), Faults(faults)


def faulty_store_sync(
    url: str = "memory:", *, clock: ManualClock | None = None, **settings: Unpack[StoreSettings]
) -> tuple[_sync.Store, Faults]:
    """Opens a store with fault injection, for threads."""
    given: dict[str, Any] = {**settings}
    store, faults = _answer(_incumbent.open_faulty(url, given, clock))
    return _sync.Store(OpenStore(store)), Faults(faults)
