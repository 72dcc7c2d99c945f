"""What a runner asks of a face of the package. Each face has its own file; the rest of the runner knows only this."""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Protocol, Union

from incumbent import StateChanged, Draining, Leader, LeaderChanged, Lost, State, Token, Warning, Won
from incumbent.testing import Faults

if TYPE_CHECKING:
    from conformance.actor import Book
    from conformance.scenario import Options


class Term(Protocol):
    """What the terms of all faces say at once."""

    @property
    def token(self) -> Token: ...
    @property
    def remaining(self) -> float: ...
    @property
    def drain_remaining(self) -> float | None: ...
    def is_current(self) -> bool: ...
    def fail(self) -> None: ...


class Candidate(Protocol):
    """What the candidates of all faces say at once."""

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
    """Reads what comes, until it is stopped or there is nothing more."""

    @abstractmethod
    async def stop(self) -> None:
        """Nothing more is read."""

    @abstractmethod
    async def ended(self) -> None:
        """There was nothing more to read. Raises what reading raised."""


class Work(ABC):
    """The body of a ``with term``, which a drain waits for."""

    @abstractmethod
    async def finish(self) -> None:
        """The work is done; returns when the body is left."""


class Participant(ABC):
    """A candidate that campaigns."""

    candidate: Candidate

    @abstractmethod
    def listen(self, book: Book) -> Reader:
        """Has all that happens written into a book, and works where the book says so."""

    @abstractmethod
    async def begin(self, verb: str, to: str) -> asyncio.Future[None]:
        """Begins a call (``resign``, ``hand_over`` to somebody, or ``close``); what it comes to is to be awaited."""


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
        """Observes an election: it has seen who leads when this returns."""


class Face(ABC):
    """A face of the package."""

    name: str

    @abstractmethod
    async def open(self, url: str) -> Store: ...

    @abstractmethod
    async def open_faulty(self, url: str) -> tuple[Store, Faults]:
        """A store with faults that the runner makes, where the stage has no hand."""
