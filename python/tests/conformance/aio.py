"""The API for asyncio."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterable, Callable, Coroutine

import incumbent
import incumbent.testing
from conformance.actor import EventLog
from conformance.face import Face, Participant, Reader, Store, Work
from conformance.scenario import Options
from incumbent import Leader, Lost, Observer, Reason, TermEnded, Won
from incumbent.testing import Faults


async def _begun(call: Coroutine[None, None, None]) -> asyncio.Future[None]:
    """Returns once the call has been made."""
    task = asyncio.ensure_future(call)
    await asyncio.sleep(0)
    return task


class _Reader(Reader):
    def __init__(self, reading: Coroutine[None, None, None]) -> None:
        self._task = asyncio.ensure_future(reading)

    async def stop(self) -> None:
        self._task.cancel()
        await asyncio.wait([self._task])

    async def ended(self) -> None:
        await self._task


class _Work(Work):
    def __init__(self, term: incumbent.Term) -> None:
        self._entered, self._finished = asyncio.Event(), asyncio.Event()
        self._task = asyncio.ensure_future(self._run(term))

    @classmethod
    async def begin(cls, term: incumbent.Term) -> _Work:
        work = cls(term)
        await work._entered.wait()
        return work

    async def finish(self) -> None:
        self._finished.set()
        await self._task

    async def over(self) -> Reason | None:
        """Waits until the term is over. Returns the reason, if the body got one."""
        return await self._task

    async def _run(self, term: incumbent.Term) -> Reason | None:
        try:
            async with term:
                self._entered.set()
                await self._finished.wait()
        except TermEnded as ended:
            return ended.reason
        finally:
            self._entered.set()
        return None


class _Participant(Participant):
    def __init__(self, candidate: incumbent.Candidate) -> None:
        self.candidate = self._candidate = candidate

    def listen(self, log: EventLog) -> Reader:
        # The reader does not hold the candidate, because a dropped candidate has to be collected.
        return _Reader(_read(self._candidate.events(), log))

    async def begin(self, verb: str, to: str) -> asyncio.Future[None]:
        candidate = self._candidate
        if verb == "hand_over":
            return await _begun(candidate.hand_over(to))
        return await _begun(candidate.resign() if verb == "resign" else candidate.close())


async def _read(events: AsyncIterable[incumbent.Event], log: EventLog) -> None:
    work: _Work | None = None
    try:
        async for event in events:
            at = time.monotonic()
            if isinstance(event, Won) and log.works:
                work = await _Work.begin(event.term)
            log.take(event, at, work)
            if isinstance(event, Lost) and work is not None:
                ended, work = work, None
                log.check_work(ended, event.reason, await ended.over())
    except Exception as error:
        log.breaks(f"reading events raised {error!r}")


class _Store(Store):
    def __init__(self, store: incumbent.Store) -> None:
        self._store = store

    async def campaign(self, election: str, options: Options) -> Participant:
        return _Participant(await self._store.campaign(election, drain=options.drain, **options.settings))

    async def begin_close(self) -> asyncio.Future[None]:
        return await _begun(self._store.close())

    async def leader(self, election: str) -> Leader | None:
        return await self._store.leader(election)

    async def observe(self, election: str, see: Callable[[Leader | None], None]) -> Reader:
        observer = self._store.observe(election)
        see((await observer.__anext__()).leader)
        return _Reader(_watch(observer, see))


async def _watch(observer: Observer, see: Callable[[Leader | None], None]) -> None:
    async for observation in observer:
        see(observation.leader)


class Asyncio(Face):
    name = "asyncio"

    async def open(self, url: str) -> Store:
        return _Store(await incumbent.connect(url))

    async def open_faulty(self, url: str) -> tuple[Store, Faults]:
        store, faults = await incumbent.testing.faulty_store(url)
        return _Store(store), faults
