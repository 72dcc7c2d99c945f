"""The interface between the runner and an API of the package. Each API has its own file; the runner uses only this."""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Protocol, Union

from incumbent import StateChanged, Draining, Leader, LeaderChanged, Lost, State, Token, Warning, Won
from incumbent.testing import Faults

if TYPE_CHECKING:
    from conformance.actor import EventLog
    from conformance.scenario import Options


class Term(Protocol):
    """The methods of a term that do not wait, in every API."""

    @property
    def token(self) -> Token: ...
    @property
    def remaining(self) -> float: ...
    @property
    def drain_remaining(self) -> float | None: ...
    def is_current(self) -> bool: ...
    def fail(self) -> None: ...


class Candidate(Protocol):
    """The methods of a candidate that do not wait, in every API."""

    @property
    def is_leader(self) -> bool: ...
    @property
    def state(self) -> State: ...
    @property
    def leader(self) -> Leader | None: ...
    @property
    def term(self) -> Term | None: ...
    def set_healthy(self, is_well: bool) -> None: ...


Event = Union[Won[Any], Draining[Any], Lost[Any], LeaderChanged, StateChanged, Warning]


class Reader(ABC):
    """Reads a stream until it is stopped or ends."""

    @abstractmethod
    async def stop(self) -> None:
        """Stops reading."""

    @abstractmethod
    async def ended(self) -> None:
        """Waits for the end of the stream. Raises the error of the reading."""


class Work(ABC):
    """The body of a ``with term``, which a drain waits for."""

    @abstractmethod
    async def finish(self) -> None:
        """Finishes the work; returns when the body is left."""


class Participant(ABC):
    """A candidate that campaigns."""

    candidate: Candidate

    @abstractmethod
    def listen(self, log: EventLog) -> Reader:
        """Writes all events into a log, and works in its terms if the log asks for that."""

    @abstractmethod
    async def begin(self, verb: str, to: str) -> asyncio.Future[None]:
        """Begins a call (``resign``, ``hand_over`` to a candidate, or ``close``); the caller awaits its outcome."""


class Store(ABC):
    """A store that is open."""

    @abstractmethod
    async def campaign(self, election: str, options: Options) -> Participant: ...

    @abstractmethod
    async def begin_close(self) -> asyncio.Future[None]: ...

    @abstractmethod
    async def leader(self, election: str) -> Leader | None: ...

    @abstractmethod
    async def observe(self, election: str, see: Callable[[Leader | None], None]) -> Reader:
        """Observes an election: returns once it has seen the leader."""


class Face(ABC):
    """An API of the package: for asyncio or for threads."""

    name: str

    @abstractmethod
    async def open(self, url: str) -> Store: ...

    @abstractmethod
    async def open_faulty(self, url: str) -> tuple[Store, Faults]:
        """Opens a store whose faults the runner makes because the harness cannot."""
