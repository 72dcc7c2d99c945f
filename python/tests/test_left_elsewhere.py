"""Another task or thread than the one inside can leave a term, and so releases it."""

from __future__ import annotations

import asyncio
import contextlib
import queue
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest
from support import FAST, TIMEOUT, soon

import incumbent
from incumbent import Reason, TermEnded, sync


LEAVING = {**FAST, "drain": 60}
"""A campaign whose drain lasts longer than any step of a test."""


async def in_a_task(work):
    """Runs it in a task of its own, and waits for it."""
    return await soon(asyncio.create_task(work()))


def in_a_thread(work):
    """Runs it in a thread of its own, and waits for it; the thread stays alive, so that its id is not used again."""
    pool = ThreadPoolExecutor(1)
    pool.submit(int).result()
    return pool.submit(work).result(TIMEOUT)


async def resigns_at_once(candidate):
    """Returns whether nothing holds the term: a drain would otherwise last for its 60 s."""
    began = time.monotonic()
    await soon(asyncio.create_task(candidate.resign()))
    return time.monotonic() - began < 30


@pytest.mark.parametrize("error", [None, KeyError("on purpose")])
async def test_a_term_that_another_task_leaves_is_released(candidate, error):
    term = await soon(candidate.next_term())
    await in_a_task(term.__aenter__)
    await in_a_task(lambda: term.__aexit__(type(error) if error else None, error, None))
    assert await resigns_at_once(candidate)


async def test_an_exit_stack_that_another_task_closes_releases_the_term(candidate):
    term = await soon(candidate.next_term())
    stack = contextlib.AsyncExitStack()
    await in_a_task(lambda: stack.enter_async_context(term))
    await in_a_task(stack.aclose)
    assert await resigns_at_once(candidate)


async def test_a_generator_that_another_task_closes_releases_the_term(candidate):
    async def dependency():
        async with await candidate.next_term() as term:
            yield term

    generator = dependency()
    assert (await in_a_task(generator.__anext__)).is_current()
    await in_a_task(generator.aclose)
    assert await resigns_at_once(candidate)


async def test_the_body_whose_task_has_ended_is_left_first(candidate):
    term = await soon(candidate.next_term())

    async def works():
        async with term:
            await asyncio.sleep(3600)

    working = asyncio.create_task(works())
    await asyncio.sleep(0)
    await in_a_task(term.__aenter__)
    again = asyncio.create_task(works())
    await asyncio.sleep(0)
    await in_a_task(lambda: term.__aexit__(None, None, None))
    # The other bodies are still open, and are cancelled the moment the term ends.
    term.fail()
    ends = await soon(asyncio.gather(working, again, return_exceptions=True))
    assert [type(end) for end in ends] == [TermEnded] * 2


async def test_a_term_that_ended_before_another_task_leaves_it_harms_neither(candidate):
    term = await soon(candidate.next_term())
    waits = asyncio.Event()

    async def enters():
        await term.__aenter__()
        waits.set()
        with contextlib.suppress(asyncio.CancelledError):
            # The end of the term cancels this task.
            await asyncio.sleep(3600)
        return "was cancelled"

    entered = asyncio.create_task(enters())
    await soon(waits.wait())
    term.fail()
    assert await soon(term.ended()) is Reason.HANDLER_FAILED
    assert await soon(entered) == "was cancelled"
    await in_a_task(lambda: term.__aexit__(None, None, None))
    if sys.version_info >= (3, 11):
        assert asyncio.current_task().cancelling() == 0


async def test_leaving_a_term_more_often_than_it_was_entered_is_an_error(candidate):
    term = await soon(candidate.next_term())
    async with term:
        pass
    with pytest.raises(RuntimeError, match="left more often than it was entered"):
        await term.__aexit__(None, None, None)
    assert await resigns_at_once(candidate)


async def test_terms_are_asked_for_by_one_task_at_a_time(store):
    async with store.campaign("jobs", name="a", **FAST) as leader:
        await soon(leader.next_term())
        async with store.campaign("jobs", name="b", **LEAVING) as candidate:
            terms = candidate.terms()
            first, second = (asyncio.create_task(terms.__anext__()) for _ in range(2))
            with pytest.raises(RuntimeError, match="already"):
                await soon(second)
            await soon(leader.close())
            assert (await soon(first)).is_current()
            await terms.aclose()
            assert await resigns_at_once(candidate)


async def test_a_cancelled_wait_for_a_term_leaves_the_next_one_to_who_asks_again(store):
    async with store.campaign("jobs", name="a", **FAST) as leader:
        await soon(leader.next_term())
        async with store.campaign("jobs", name="b", **LEAVING) as candidate:
            terms = candidate.terms()
            for _ in range(3):
                with pytest.raises(asyncio.TimeoutError):
                    await asyncio.wait_for(terms.__anext__(), 0.02)
            await soon(leader.close())
            assert (await soon(terms.__anext__())).is_current()
            await terms.aclose()
            assert await resigns_at_once(candidate)


@pytest.fixture
def leading():
    with sync.connect("memory:") as store, store.campaign("jobs", name="a", **LEAVING) as candidate:
        yield candidate


@pytest.mark.parametrize("error", [None, KeyError("on purpose")])
def test_a_term_that_another_thread_leaves_is_released(leading, error):
    term = leading.next_term(TIMEOUT)
    in_a_thread(term.__enter__)
    in_a_thread(lambda: term.__exit__(type(error) if error else None, error, None))
    leading.resign(30)


def test_a_generator_that_another_thread_closes_releases_the_term(leading):
    @contextlib.contextmanager
    def dependency():
        with leading.next_term(TIMEOUT) as term:
            yield term

    manager = dependency()
    assert in_a_thread(manager.__enter__).is_current()
    in_a_thread(lambda: manager.__exit__(None, None, None))
    leading.resign(30)


def test_for_threads_leaving_a_term_more_often_than_it_was_entered_is_an_error(leading):
    term = leading.next_term(TIMEOUT)
    with term:
        pass
    with pytest.raises(RuntimeError, match="left more often than it was entered"):
        term.__exit__(None, None, None)
    leading.resign(30)


def test_terms_are_asked_for_by_one_thread_at_a_time():
    with sync.connect("memory:") as store, store.campaign("jobs", name="a", **FAST) as first:
        first.next_term(TIMEOUT)
        with store.campaign("jobs", name="b", **LEAVING) as candidate:
            terms, outcomes = candidate.terms(), queue.Queue()

            def asks():
                try:
                    outcomes.put(next(terms))
                except RuntimeError as error:
                    outcomes.put(error)

            for _ in range(2):
                threading.Thread(target=asks, daemon=True).start()
            # The second of the two.
            assert "already" in str(outcomes.get(timeout=TIMEOUT))
            first.close(TIMEOUT)
            assert outcomes.get(timeout=TIMEOUT).is_current()
            terms.close()
            candidate.resign(30)


@pytest.mark.parametrize("face", ["asyncio", "threads"])
async def test_what_a_web_framework_does_to_dependencies_leaves_no_hold(face):
    import fastapi
    import httpx

    with sync.connect("memory:") as threads, threads.campaign("jobs", name="a", **LEAVING) as candidate:
        candidate.next_term(TIMEOUT)

        def in_threads():
            # The generator begins and ends in threads of a pool, seldom in the same thread.
            with candidate.term as term:
                yield term

        async with await incumbent.connect("memory:") as store:
            async with store.campaign("jobs", name="b", **LEAVING) as other:
                await soon(other.next_term())
                # FastAPI keeps the function for good, and its references.
                held = [other]

                async def in_a_loop():
                    async with held[0].term as term:
                        yield term

                app = fastapi.FastAPI()
                leading = fastapi.Depends(in_threads if face == "threads" else in_a_loop)

                @app.get("/")
                def answer(term=leading) -> dict[str, bool]:
                    return {"leads": term.is_current()}

                transport = httpx.ASGITransport(app=app)
                async with httpx.AsyncClient(transport=transport, base_url="http://here") as client:
                    answers = await asyncio.gather(*(client.get("/") for _ in range(200)))
                assert [one.status_code for one in answers] == [200] * 200
                held.clear()
                assert await resigns_at_once(other)
        candidate.resign(30)
