"""The asyncio face."""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Generator
from functools import partial
from typing import TYPE_CHECKING, Any, Generic, TypeVar, Union
from weakref import ref

from incumbent import _incumbent, _inside
from incumbent._base import BaseCandidate, BaseTerm
from incumbent._types import (
    Campaigned,
    Draining,
    Leader,
    LeaderChanged,
    Listed,
    Lost,
    Observation,
    Reason,
    Trouble,
    Won,
    event_of,
    leader_of,
    observation_of,
)
from incumbent.errors import ClosedError, TermEnded

if TYPE_CHECKING:
    import asyncio
    from types import TracebackType

    from typing_extensions import Unpack

    from incumbent._settings import CampaignSettings, Length, StoreSettings

T = TypeVar("T")
U = TypeVar("U")


# Importing asyncio costs more than all of this package, and a program without a loop has no use for it.
def _loop() -> asyncio.AbstractEventLoop:
    from asyncio import get_running_loop

    return get_running_loop()


def _settle(future: asyncio.Future[None]) -> None:
    if not future.done():
        future.set_result(None)


def _on_loop(loop: asyncio.AbstractEventLoop, callback: Callable[..., object], *args: object) -> None:
    """Has the loop call back, from another thread; a loop that is closed is left alone."""
    try:
        loop.call_soon_threadsafe(callback, *args)
    except RuntimeError:
        if not loop.is_closed():
            raise


async def answer(operation: _incumbent.Operation[T]) -> T:
    """Waits for an operation; cancelled, it gives up what was asked for."""
    loop = _loop()
    try:
        while (taken := operation.take()) is None:
            future: asyncio.Future[None] = loop.create_future()
            if operation.tell(partial(_on_loop, loop, _settle, future)):
                await future
    except BaseException:
        operation.cancel()
        raise
    return taken[0]


class Stream(Generic[T, U]):
    """What comes again and again, as an asynchronous iterator."""

    __slots__ = ("__weakref__", "_armed", "_convert", "_feed", "_waiting")

    def __init__(self, feed: _incumbent.Feed[T], convert: Callable[[T], U]) -> None:
        self._feed = feed
        self._convert = convert
        self._waiting: set[asyncio.Future[None]] = set()
        # The loop that is told when something comes. Once at a time, however many waits are cancelled.
        self._armed: asyncio.AbstractEventLoop | None = None

    @property
    def missed(self) -> int:
        """How many were left out because nobody read them in time."""
        return self._feed.missed

    def __aiter__(self) -> Stream[T, U]:
        return self

    async def __anext__(self) -> U:
        while (taken := self._feed.take()) is None:
            loop = _loop()
            if self._armed is not loop:
                # Weak: what is told is held by the feed, and the feed by us.
                if not self._feed.tell(partial(_on_loop, loop, _ring, ref(self), loop)):
                    continue
                self._armed = loop
            future: asyncio.Future[None] = loop.create_future()
            self._waiting.add(future)
            try:
                await future
            finally:
                self._waiting.discard(future)
        if not taken:
            raise StopAsyncIteration
        return self._convert(taken[0])

    async def aclose(self) -> None:
        """Nothing more is read; whoever waits is told that it is over."""
        self._feed.close()


def _ring(stream: ref[Stream[T, U]], loop: asyncio.AbstractEventLoop) -> None:
    """There may be something to read."""
    me = stream()
    if me is None:
        return
    if me._armed is loop:
        me._armed = None
    for future in me._waiting:
        if future.get_loop() is loop:
            _settle(future)


class _Scope(_inside.Work):
    """The body of one ``async with term``."""

    __slots__ = ("_cancelling", "_ended", "_loop", "_task", "fired")

    def __init__(self, term: _incumbent.Term, task: asyncio.Task[Any]) -> None:
        _inside.hand_on(term, task)
        super().__init__(term)
        self.fired = False
        self._task = task
        self._loop = _loop()
        self._cancelling: int = task.cancelling() if sys.version_info >= (3, 11) else 0
        self._ended = term.ended()
        if not self._ended.tell(partial(_on_loop, self._loop, self._end)):
            # Not from here: the body has to be running to be cancelled.
            self._loop.call_soon(self._end)

    def _end(self) -> None:
        if self.hold is not None and not self.fired:
            self.fired = True
            self._task.cancel()

    def leave(self, kind: type[BaseException] | None) -> bool:
        """Whether the body was cancelled because the term ended, and for no other reason."""
        self.finish()
        self._ended.cancel()
        if not self.fired:
            return False
        if sys.version_info >= (3, 11) and self._task.uncancel() > self._cancelling:
            return False
        from asyncio import CancelledError

        return kind is not None and issubclass(kind, CancelledError)


class Term(BaseTerm):
    """One uninterrupted leadership.

    ``async with term:`` is the work of a leader. Its body is cancelled the moment the term ends, as that of
    ``asyncio.timeout`` is at its deadline, and then raises :class:`TermEnded` with the reason. When the leader
    leaves of its own will, the term is drained first: it goes on until every such body is left, or the drain
    time is over.
    """

    __slots__ = ("_scopes",)

    def __init__(self, native: _incumbent.Term) -> None:
        super().__init__(native)
        self._scopes: list[tuple[asyncio.Task[Any], _Scope]] = []

    async def __aenter__(self) -> Term:
        from asyncio import current_task

        task = current_task()
        if task is None:
            message = "`async with term` has to be inside of a task"
            raise RuntimeError(message)
        if not self.is_current():
            raise TermEnded(self.reason or Reason.EXPIRED)
        self._scopes.append((task, _Scope(self._native, task)))
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        from asyncio import current_task

        task = current_task()
        # The innermost of this task's: several tasks may work for a term at once.
        place = max(place for place, (owner, _) in enumerate(self._scopes) if owner is task)
        _, scope = self._scopes.pop(place)
        if scope.leave(kind):
            raise TermEnded(self.reason or Reason.EXPIRED) from error

    async def ended(self) -> Reason:
        """Waits until the term is over, and says why. It does not hold the term."""
        return Reason(await answer(self._native.ended()))

    async def draining(self) -> None:
        """Waits until the leader begins to leave of its own will, or the term is over. It does not hold the term."""
        await answer(self._native.draining())


Event = Union[Won[Term], Draining[Term], Lost[Term], LeaderChanged, Campaigned, Trouble]
"""Something the user of a candidate should know."""

DrainHandler = Callable[[Term, float], Awaitable[object]]
"""``async def drain(term, deadline)``: finishes the work of a term. The deadline is on the clock of the event loop, as
``asyncio.timeout_at`` takes it."""


class Terms:
    """The terms of a candidate, one after another, as an asynchronous iterator; see :meth:`Candidate.terms`."""

    __slots__ = ("_candidate", "_last", "_turn")

    def __init__(self, candidate: _incumbent.Candidate) -> None:
        self._candidate = candidate
        self._last: _incumbent.Term | None = None
        self._turn: _inside.Turn | None = None

    def __aiter__(self) -> Terms:
        return self

    async def __anext__(self) -> Term:
        self._finish()
        hold = await answer(self._candidate.next_term(self._last))
        if hold is None:
            raise StopAsyncIteration
        from asyncio import current_task

        self._last = hold.term
        self._turn = _inside.Turn(hold, current_task())
        return Term(hold.term)

    async def aclose(self) -> None:
        """Ends the iteration."""
        self._finish()

    def _finish(self) -> None:
        turn, self._turn = self._turn, None
        if turn is not None:
            turn.finish()

    def __del__(self) -> None:
        self._finish()


class Candidate(BaseCandidate):
    """One participant of an election, made by :meth:`Store.campaign`.

    It campaigns until it is closed, over and over: a candidate that lost a term is in the race for the next. As an
    asynchronous context manager it closes itself at the end. One that is dropped without being closed ends its
    term at once, and gives the seat back in the background.
    """

    __slots__ = ("_drains",)

    def __init__(self, native: _incumbent.Candidate) -> None:
        super().__init__(native)
        self._drains: asyncio.Task[None] | None = None

    @property
    def term(self) -> Term | None:
        """The present term; None while this candidate does not lead."""
        term = self._native.term
        return None if term is None else Term(term)

    async def won(self) -> Term:
        """Waits for the present or the next term. The term is not held: ``async with term`` does that.

        Raises :class:`ClosedError` when the campaign is over.
        """
        hold = await answer(self._native.next_term(None))
        if hold is None:
            message = "the candidate is closed"
            raise ClosedError(message)
        hold.release()
        return Term(hold.term)

    def terms(self) -> Terms:
        """Every term of this candidate, each once, until the campaign is over::

            async for term in candidate.terms():
                async with term:
                    await work(term.token)

        The body of the loop is work of the term: a drain waits for it. When it ends before the term does, the term
        goes on, and the next turn begins with the next term.
        """
        return Terms(self._native)

    def events(self) -> Stream[_incumbent.EventTuple, Event]:
        """What happens from now on, beginning with what holds now, as an asynchronous iterator of its own for every
        caller.

        Nothing waits for a reader: one that falls 1024 events behind loses the oldest that are neither ``Won`` nor
        ``Lost``, and ``missed`` counts them. Reading an event does not hold its term.
        """
        return Stream(self._native.events(), _event)

    async def resign(self) -> None:
        """Leaves the seat, if this candidate holds it, and stays in the race behind the others.

        Returns once the work has drained and the seat is given back. Inside of that work, an ``async with term``
        say, it returns as soon as the term is draining, since it cannot end before that very code does.
        """
        await answer(self._native.resign(self._is_inside()))

    async def hand_over(self, to: str) -> None:
        """Leaves the seat to the candidate named ``to``; otherwise as :meth:`resign`.

        The others hold back for a moment; if the successor does not take the seat, one of them does. Raises
        :class:`NotLeaderError` where this candidate does not lead.
        """
        await answer(self._native.hand_over(to, self._is_inside()))

    async def close(self) -> None:
        """Leaves the seat and the race for good; otherwise as :meth:`resign`. Closing twice is no error."""
        await answer(self._native.close(self._is_inside()))

    async def __aenter__(self) -> Candidate:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    def _is_inside(self) -> bool:
        term = self._native.term
        return term is not None and _inside.is_inside(term)

    def _start_draining(self, handler: DrainHandler, *, ends_term: bool) -> None:
        from asyncio import create_task

        events: Stream[_incumbent.EventTuple, Event] = self.events()
        drains = _drains(events, handler, ends_term=ends_term)
        # It does not keep the candidate, whose end it outlives by a moment.
        self._drains = create_task(drains, name=f"incumbent-drain-{self.name}")


def _event(plain: _incumbent.EventTuple) -> Event:
    event: Event = event_of(plain, Term)
    return event


async def _drains(
    events: AsyncIterator[Event], handler: DrainHandler, *, ends_term: bool
) -> None:
    """Calls a drain handler whenever a term drains; the term is held until it has returned."""
    held: _incumbent.Hold | None = None
    try:
        async for event in events:
            if isinstance(event, Won):
                _release(held)
                held = event.term._native.hold()
            elif isinstance(event, Draining):
                term: Term = event.term
                try:
                    async with term:
                        await handler(term, _loop().time() + (term.drain_remaining or 0.0))
                except TermEnded:
                    pass
                except Exception as error:
                    _incumbent.report(error, handler)
                    if ends_term:
                        term.fail()
                term.drained()
                _release(held)
            elif isinstance(event, Lost):
                _release(held)
    finally:
        _release(held)


def _release(hold: _incumbent.Hold | None) -> None:
    if hold is not None:
        hold.release()


class Opening(Generic[T]):
    """Something that opens: to be awaited, or entered with ``async with``, which closes it at the end."""

    __slots__ = ("_open", "_opened")

    def __init__(self, opens: Callable[[], Awaitable[T]]) -> None:
        self._open = opens
        self._opened: Any = None

    def __await__(self) -> Generator[Any, Any, T]:
        return self._open().__await__()

    async def __aenter__(self) -> T:
        opened: T = await self._open()
        self._opened = opened
        return opened

    async def __aexit__(self, *_: object) -> None:
        await self._opened.close()


class Store:
    """A store that is open for elections, made by :func:`incumbent.connect`.

    One connection, one watch and one thread, however many elections run on it. As an asynchronous context manager
    it closes itself at the end.
    """

    __slots__ = ("__weakref__", "_native")

    def __init__(self, native: _incumbent.Store) -> None:
        self._native = native

    def campaign(
        self,
        election: str,
        *,
        drain: Length | DrainHandler | None = None,
        drain_time: Length | None = None,
        error_ends_term: bool = False,
        **settings: Unpack[CampaignSettings],
    ) -> Opening[Candidate]:
        """Campaigns in the election of that key: ``async with store.campaign(…) as candidate``, or ``await`` it.

        ``drain`` is how long a leader that leaves of its own will may take to finish its work, 10 s by default; or
        an async function that finishes it, ``drain(term, deadline)``, for which ``drain_time`` is the limit. When it
        returns the term ends; when the deadline passes it is cancelled. One that raises is reported by
        ``sys.unraisablehook``, and with ``error_ends_term`` the reason is ``HANDLER_FAILED``.

        The settings, all of them optional:

        - ``name``: the candidate's name, which others see; host and process by default
        - ``lease``: how long nobody else leads after a leader crashed; the store's by default
        - ``preset``: ``"standard"``, ``"fast"`` (leases of 1 s and more) or ``"go_compatible"``
        - ``metadata``: a dict of texts that the leader publishes about itself
        - ``splay``: the longest wait before the first campaign
        - ``win_delay``: ``"automatic"``, ``"cautious"``, or at least so long
        - ``skew``, ``drift_ppm``, ``slack``: how far clocks are trusted
        - ``interval``, ``backoff``: how often a candidate looks though nothing is told, how long it waits after a
          failure (one length, or one for each failure in a row)

        A length of time is a number of seconds, a timedelta, or a text such as ``"10s"``. Where the store does not
        answer yet, the candidate is there all the same, and campaigns as soon as it does.

        Raises :class:`InvalidSettingError` or :class:`InvalidNameError`; when entered also :class:`DeniedError`,
        :class:`BrokenError`, :class:`ClosedError`, :class:`ForkedError`, and with ``fail_fast``
        :class:`UnreachableError`.
        """
        handler, length = drain_of(drain, drain_time)
        given: dict[str, object] = {**settings, "drain": length}
        # What can be refused at once is refused here, where it was written.
        _incumbent.check_campaign(given)

        async def campaign() -> Candidate:
            from incumbent import _log

            _log.refresh()
            candidate = Candidate(await answer(self._native.campaign(election, given)))
            if handler is not None:
                candidate._start_draining(handler, ends_term=error_ends_term)
            return candidate

        return Opening(campaign)

    def observe(self, election: str) -> Observer:
        """Watches the election of that key without taking part: an asynchronous iterator of
        :class:`Observation`, beginning with who holds the seat now. It ends when the store is closed."""
        return Observer(self._native, election)

    async def leader(self, election: str) -> Leader | None:
        """Who holds the seat of that election now, read from whoever leads the store."""
        return leader_of(await answer(self._native.leader(election)))

    async def list(self) -> list[Listed]:
        """All elections of the store, by key."""
        listed = await answer(self._native.list())
        return [Listed(election, leader_of(leader)) for election, leader in listed]

    async def close(self) -> None:
        """Closes every candidate in good order, and then the store. Closing twice is no error."""
        await answer(self._native.close(_inside.is_inside(None)))

    async def __aenter__(self) -> Store:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()


class Observer:
    """The changes of an election's seat, as an asynchronous iterator; see :meth:`Store.observe`."""

    __slots__ = ("_election", "_store", "_stream")

    def __init__(self, store: _incumbent.Store, election: str) -> None:
        self._store = store
        self._election = election
        self._stream: Stream[_incumbent.ObservedTuple, Observation] | None = None

    def __aiter__(self) -> Observer:
        return self

    async def __anext__(self) -> Observation:
        if self._stream is None:
            feed = await answer(self._store.observe(self._election))
            self._stream = Stream(feed, observation_of)
        return await self._stream.__anext__()

    async def aclose(self) -> None:
        """Nothing more is read; whoever waits is told that it is over."""
        if self._stream is not None:
            await self._stream.aclose()


def drain_of(drain: Any, drain_time: Any) -> tuple[Any, Any]:
    """The handler and the limit of a drain."""
    if callable(drain):
        return drain, drain_time
    if drain is not None and drain_time is not None:
        message = "drain and drain_time both give a length of time; give one of them"
        raise TypeError(message)
    return None, drain_time if drain is None else drain


def connect(url: str, **settings: Unpack[StoreSettings]) -> Opening[Store]:
    """Opens the store that ``url`` names: ``async with await incumbent.connect(url) as store``.

    - ``nats://host:4222/BUCKET``: a NATS JetStream key-value bucket; also ``tls://``, ``ws://``, several hosts
    - ``sqlite:elections.db``: a file, for the processes of one machine
    - ``memory:`` and ``memory:NAME``: for one process, and for tests

    What a URL can say as a parameter can be said as a setting instead: ``creds="app.creds"``, ``context="prod"``,
    ``connect_timeout=5``. With ``fail_fast=True`` a store that does not answer is an error instead of being waited
    for.

    Raises :class:`InvalidUrlError`, :class:`InvalidSettingError`; when awaited also
    :class:`CredentialsError`, :class:`NotFoundError`, :class:`UnsafeStoreError`, :class:`UnsupportedError`,
    :class:`DeniedError`, :class:`BrokenError`, :class:`UnreachableError`.
    """
    given: dict[str, object] = {**settings}
    _incumbent.check_opening(url, given)

    async def opened() -> Store:
        # Here, because importing logging costs more than all of this package.
        from incumbent import _log

        _log.start()
        return Store(await answer(_incumbent.open_store(url, given)))

    return Opening(opened)
