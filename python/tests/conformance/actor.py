"""A candidate of a scenario, and all it was told."""

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
"""Something a candidate was told about a term."""


class Book:
    """All a candidate was told, from one campaign to the next. It may be written on any thread."""

    def __init__(self, who: str, works: bool) -> None:
        self._who = who
        self.works = works
        """Whether there is work in each of its terms, until it is finished."""
        self.terms: list[OfTerm] = []
        """What happened to its terms."""
        self.read = 0
        """How many of those a step has asked for."""
        self.warnings: list[str] = []
        self.history: list[tuple[float, str]] = []
        """For a report: when, and what."""
        self.broken: str | None = None
        """The first rule that was broken."""
        self.held: Work | None = None
        """The work of its term."""
        self._current: Token | None = None
        self._drained = False
        self._lock = threading.Lock()

    def unread(self) -> list[OfTerm]:
        """What of its terms no step has asked for."""
        return self.terms[self.read :]

    @property
    def present(self) -> tuple[Token, bool] | None:
        """The term that it was told it is in, and whether that was told to drain."""
        return None if self._current is None else (self._current, self._drained)

    def begin(self) -> None:
        """Another campaign begins."""
        self._current = None

    def forget(self) -> None:
        """What it was told on its deathbed nobody heard."""
        self.held = None
        self.read = len(self.terms)

    def breaks(self, rule: str) -> None:
        """A rule is broken."""
        if self.broken is None:
            self.broken = rule

    def take(self, event: Event, at: float, work: Work | None = None) -> None:
        """It was told something at that instant, and has begun this work since."""
        with self._lock:
            self.history.append((at, f"{self._who} {self._told(event, at, work)}"))

    def check_work(self, work: Work, reason: Reason, told: Reason | None) -> None:
        """The work of a term that was lost was told to end for this reason, unless it was finished before."""
        with self._lock:
            if self.held is work:
                self.held = None
                if told is not reason:
                    told_as = "nothing" if told is None else told.value
                    self.breaks(f"{self._who} lost its term for {reason.value}, and its work was told {told_as}")

    def _told(self, event: Event, at: float, work: Work | None) -> str:
        if isinstance(event, Won):
            return self._won(event.term, at, work)
        if isinstance(event, Draining):
            return self._draining(event.term, event.reason.value)
        if isinstance(event, Lost):
            return self._lost(event.term, event.reason.value, at)
        if isinstance(event, LeaderChanged):
            return "sees the seat vacant" if event.leader is None else f"sees {event.leader.name!r} in the seat"
        if isinstance(event, StateChanged):
            return f"is {event.state.value}"
        assert isinstance(event, Warning)
        self.warnings.append(event.code)
        return f"warning {event.code}: {event.message}"

    def _won(self, term: Term, at: float, work: Work | None) -> str:
        if self._current is not None:
            self.breaks(f"{self._who} was told Won with {term.token} during its term {self._current}")
        self.held = work
        # Last: who looks on another thread sees all that belongs to it.
        self.terms.append(WasWon(term.token, at))
        self._current, self._drained = term.token, False
        return f"Won with token {term.token}"

    def _draining(self, term: Term, reason: str) -> str:
        if self._current != term.token or self._drained:
            self.breaks(f"{self._who} was told Draining of {term.token}, not its term")
        self.terms.append(WasDraining(reason))
        self._drained = True
        return f"Draining for {reason}, {term.drain_remaining or 0.0:.3f} s"

    def _lost(self, term: Term, reason: str, at: float) -> str:
        if term.is_current():
            self.breaks(f"{self._who} was told Lost, and its term {term.token} is current")
        if self._current != term.token:
            self.breaks(f"{self._who} was told Lost of {term.token}, not its term")
        self.terms.append(WasLost(reason, self._drained, at))
        self._current = None
        return f"Lost for {reason}, token {term.token}"


class Actor:
    """A candidate of a scenario. Its log goes on from one campaign to the next."""

    def __init__(self, who: str, part: Part) -> None:
        self.who = who
        self.part = part
        self.book = Book(who, part.works)
        self.participant: Participant | None = None
        self.calls: deque[tuple[str, asyncio.Future[None]]] = deque()
        """Calls that have not been seen to return, oldest first, each with what it was."""
        self._readers: list[Reader] = []

    @property
    def candidate(self) -> Candidate | None:
        """The candidate, once it campaigns."""
        return None if self.participant is None else self.participant.candidate

    def begin(self, participant: Participant) -> None:
        """Takes up a campaign, and reads what it is told."""
        self.book.begin()
        self.participant = participant
        self._readers.append(participant.listen(self.book))

    async def die(self) -> None:
        """Lets the candidate go; nobody listens to it any more."""
        self.participant = None
        for reader in self._readers:
            await reader.stop()
        self._readers.clear()
        for _, call in self.calls:
            call.cancel()
        self.calls.clear()
        self.book.forget()

    async def ended(self) -> None:
        """Its stores are closed: there is nothing more to read."""
        for reader in self._readers:
            await reader.ended()
