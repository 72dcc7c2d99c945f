"""The API for threads: calls that wait run on threads of their own."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable, Iterable
from typing import TypeVar

import incumbent.testing
from conformance.actor import EventLog
from conformance.face import Face, Participant, Reader, Store, Work
from conformance.scenario import Options
from incumbent import Leader, Lost, Reason, TermEnded, Won, sync
from incumbent.testing import Faults

T = TypeVar("T")
LOOK = 0.002


def on_thread(call: Callable[[], T]) -> asyncio.Future[T]:
    """Returns the future of a call on a thread of its own."""
    loop = asyncio.get_running_loop()
    future: asyncio.Future[T] = loop.create_future()

    def settle(setter: Callable[..., None], value: object) -> None:
        if not future.done():
            setter(value)

    def run() -> None:
        outcome: tuple[Callable[..., None], object]
        try:
            outcome = (future.set_result, call())
        except BaseException as error:
            outcome = (future.set_exception, error)
        # A closed loop has nothing to wait for.
        if not loop.is_closed():
            loop.call_soon_threadsafe(settle, *outcome)

    threading.Thread(target=run, daemon=True).start()
    return future


class _Reader(Reader):
    def __init__(self, close: Callable[[], None], reading: Callable[[], None]) -> None:
        self._close = close
        self._over = on_thread(reading)

    async def stop(self) -> None:
        self._close()
        await self._over

    async def ended(self) -> None:
        await self._over


class _Work(Work):
    def __init__(self, term: sync.Term) -> None:
        self._entered, self._finished = threading.Event(), threading.Event()
        self._term = term
        self._reason: Reason | None = None
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()
        self._entered.wait()

    async def finish(self) -> None:
        self._finished.set()
        await on_thread(self._thread.join)

    def over(self) -> Reason | None:
        """Waits until the term is over. Returns the reason, if the body got one."""
        self._thread.join()
        return self._reason

    def _run(self) -> None:
        try:
            with self._term as term:
                self._entered.set()
                while not self._finished.wait(LOOK):
                    term.check()
        except TermEnded as ended:
            self._reason = ended.reason
        finally:
            self._entered.set()


class _Participant(Participant):
    def __init__(self, candidate: sync.Candidate) -> None:
        self.candidate = self._candidate = candidate

    def listen(self, log: EventLog) -> Reader:
        events = self._candidate.events()
        return _Reader(events.close, lambda: _read(events, log))

    async def begin(self, verb: str, to: str) -> asyncio.Future[None]:
        candidate = self._candidate
        if verb == "hand_over":
            return on_thread(lambda: candidate.hand_over(to))
        return on_thread(candidate.resign if verb == "resign" else candidate.close)


def _read(events: Iterable[sync.Event], log: EventLog) -> None:
    work: _Work | None = None
    try:
        for event in events:
            at = time.monotonic()
            if isinstance(event, Won) and log.works:
                work = _Work(event.term)
            log.take(event, at, work)
            if isinstance(event, Lost) and work is not None:
                ended, work = work, None
                log.check_work(ended, event.reason, ended.over())
    except Exception as error:
        log.breaks(f"reading events raised {error!r}")


class _Store(Store):
    def __init__(self, store: sync.Store) -> None:
        self._store = store

    async def campaign(self, election: str, options: Options) -> Participant:
        store, drain, settings = self._store, options.drain, options.settings
        return _Participant(await on_thread(lambda: store.campaign(election, drain=drain, **settings)))

    async def begin_close(self) -> asyncio.Future[None]:
        return on_thread(self._store.close)

    async def leader(self, election: str) -> Leader | None:
        return await on_thread(lambda: self._store.leader(election))

    async def observe(self, election: str, see: Callable[[Leader | None], None]) -> Reader:
        stream = await on_thread(lambda: self._store.observe(election))
        see((await on_thread(lambda: next(stream))).leader)

        def watch() -> None:
            for observation in stream:
                see(observation.leader)

        return _Reader(stream.close, watch)


class Threads(Face):
    name = "threads"

    async def open(self, url: str) -> Store:
        return _Store(await on_thread(lambda: sync.connect(url)))

    async def open_faulty(self, url: str) -> tuple[Store, Faults]:
        store, faults = await on_thread(lambda: incumbent.testing.faulty_store_sync(url))
        return _Store(store), faults
