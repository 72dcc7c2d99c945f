"""A candidate of a scenario, and its log of events."""

from __future__ import annotations

import asyncio
import threading
from collections import deque
from dataclasses import dataclass
from typing import Union

from conformance.face import Candidate, Event, Participant, Reader, Term, Work
from conformance.scenario import Part
from incumbent import StateChanged, Draining, LeaderChanged, Lost, Reason, Token, Warning, Won


@dataclass(frozen=True)
class WasWon:
    token: Token
    at: float

    def __str__(self) -> str:
        return f"Won with token {self.token}"


@dataclass(frozen=True)
class WasDraining:
    reason: str

    def __str__(self) -> str:
        return f"Draining for {self.reason}"


@dataclass(frozen=True)
class WasLost:
    reason: str
    drained: bool
    at: float

    def __str__(self) -> str:
        return f"Lost for {self.reason}, {'after' if self.drained else 'without'} a drain"


OfTerm = Union[WasWon, WasDraining, WasLost]
"""An event of a candidate about a term."""


class EventLog:
    """The log of a candidate's events, from one campaign to the next. Any thread may write it."""

    def __init__(self, who: str, works: bool) -> None:
        self._who = who
        self.works = works
        """True if each of its terms has work, until that is finished."""
        self.terms: list[OfTerm] = []
        """The events about its terms."""
        self.read = 0
        """The number of those that steps have read."""
        self.warnings: list[str] = []
        self.history: list[tuple[float, str]] = []
        """The times and events, for a report."""
        self.broken: str | None = None
        """The first rule that was broken."""
        self.held: Work | None = None
        """The work of its term."""
        self._current: Token | None = None
        self._drained = False
        self._lock = threading.Lock()

    def unread(self) -> list[OfTerm]:
        """The events about its terms that no step has read."""
        return self.terms[self.read :]

    @property
    def present(self) -> tuple[Token, bool] | None:
        """The term that it is in by its events, and whether that drains."""
        return None if self._current is None else (self._current, self._drained)

    def begin(self) -> None:
        """Begins another campaign."""
        self._current = None

    def forget(self) -> None:
        """Drops the unread events of a candidate that was killed."""
        self.held = None
        self.read = len(self.terms)

    def breaks(self, rule: str) -> None:
        """Records a broken rule."""
        if self.broken is None:
            self.broken = rule

    def take(self, event: Event, at: float, work: Work | None = None) -> None:
        """Records an event of that instant, and the work that has begun with it."""
        with self._lock:
            self.history.append((at, f"{self._who} {self._described(event, at, work)}"))

    def check_work(self, work: Work, reason: Reason, received: Reason | None) -> None:
        """Checks that the work of a lost term ended for this reason, unless it was finished before."""
        with self._lock:
            if self.held is work:
                self.held = None
                if received is not reason:
                    received_as = "nothing" if received is None else received.value
                    self.breaks(f"{self._who} lost its term for {reason.value}, and its work received {received_as}")

    def _described(self, event: Event, at: float, work: Work | None) -> str:
        if isinstance(event, Won):
            return self._won(event.term, at, work)
        if isinstance(event, Draining):
            return self._draining(event.term, event.reason.value)
        if isinstance(event, Lost):
            return self._lost(event.term, event.reason.value, at)
        if isinstance(event, LeaderChanged):
            return "sees no leader" if event.leader is None else f"sees {event.leader.name!r} lead"
        if isinstance(event, StateChanged):
            return f"is {event.state.value}"
        assert isinstance(event, Warning)
        self.warnings.append(event.code)
        return f"warning {event.code}: {event.message}"

    def _won(self, term: Term, at: float, work: Work | None) -> str:
        if self._current is not None:
            self.breaks(f"{self._who} received Won with {term.token} during its term {self._current}")
        self.held = work
        # The term is appended last, so that readers on other threads see everything that belongs to
        # it.
        self.terms.append(WasWon(term.token, at))
        self._current, self._drained = term.token, False
        return f"Won with token {term.token}"

    def _draining(self, term: Term, reason: str) -> str:
        if self._current != term.token or self._drained:
            self.breaks(f"{self._who} received Draining of {term.token}, not its term")
        self.terms.append(WasDraining(reason))
        self._drained = True
        return f"Draining for {reason}, {term.drain_remaining or 0.0:.3f} s"

    def _lost(self, term: Term, reason: str, at: float) -> str:
        if term.is_current():
            self.breaks(f"{self._who} received Lost, and its term {term.token} is current")
        if self._current != term.token:
            self.breaks(f"{self._who} received Lost of {term.token}, not its term")
        self.terms.append(WasLost(reason, self._drained, at))
        self._current = None
        return f"Lost for {reason}, token {term.token}"


class Actor:
    """A candidate of a scenario. Its log covers all its campaigns."""

    def __init__(self, who: str, part: Part) -> None:
        self.who = who
        self.part = part
        self.log = EventLog(who, part.works)
        self.participant: Participant | None = None
        self.calls: deque[tuple[str, asyncio.Future[None]]] = deque()
        """Calls that have not been seen to return, oldest first, each with its name."""
        self._readers: list[Reader] = []

    @property
    def candidate(self) -> Candidate | None:
        """The candidate, once it campaigns."""
        return None if self.participant is None else self.participant.candidate

    def begin(self, participant: Participant) -> None:
        """Begins a campaign, and reads its events."""
        self.log.begin()
        self.participant = participant
        self._readers.append(participant.listen(self.log))

    async def kill(self) -> None:
        """Drops the candidate; nothing reads its events any more."""
        self.participant = None
        for reader in self._readers:
            await reader.stop()
        self._readers.clear()
        for _, call in self.calls:
            call.cancel()
        self.calls.clear()
        self.log.forget()

    async def ended(self) -> None:
        """Waits until its readers are done, after its stores are closed."""
        for reader in self._readers:
            await reader.ended()
