"""A candidate that is dropped while it drains releases its key as soon as its work has stopped."""

from __future__ import annotations

import asyncio
import gc
import threading

import pytest
from support import TIMEOUT, soon

import incumbent
from incumbent import Reason, TermEnded, sync

LONG = {"lease": 60, "splay": 0}
"""Longer than the time limit of a test, for the lease and the drain: only a release lets another candidate lead."""


@pytest.mark.parametrize("with_handler", [False, True])
async def test_a_close_that_is_cancelled_while_it_drains(store, with_handler):
    stopped = []

    async def drain(term, deadline):
        try:
            await asyncio.sleep(3600)
        finally:
            stopped.append("handler")

    async def work(term):
        try:
            async with term:
                await asyncio.sleep(3600)
        except TermEnded:
            stopped.append("work")

    given = {"drain": drain, "drain_time": 3600} if with_handler else {"drain": 3600}
    candidate = await store.campaign("jobs", name="dropped", **given, **LONG)
    term = await soon(candidate.next_term())
    working = asyncio.create_task(work(term))
    await asyncio.sleep(0)
    closing = asyncio.create_task(candidate.close())
    await soon(term.draining())
    assert term.is_current()
    closing.cancel()
    await asyncio.wait([closing])
    async with store.campaign("jobs", name="next", **LONG) as successor:
        del candidate, closing
        gc.collect()
        assert not term.is_current() and await soon(term.ended()) is Reason.CLOSED
        await soon(successor.next_term())
        await soon(working)
    expected = ["handler", "work"] if with_handler else ["work"]
    while len(stopped) < len(expected):
        await asyncio.sleep(0.001)
    assert sorted(stopped) == expected


async def test_no_other_candidate_leads_before_the_work_of_a_dropped_one_has_ended(store):
    """Waits for work that is not cancelled, like the work of another thread."""
    candidate = await store.campaign("jobs", name="dropped", drain=3600, **LONG)
    term = await soon(candidate.next_term())
    hold = term._native.hold()
    closing = asyncio.create_task(candidate.close())
    await soon(term.draining())
    closing.cancel()
    await asyncio.wait([closing])
    async with store.campaign("jobs", name="next", **LONG) as successor:
        del candidate, closing
        gc.collect()
        assert await soon(term.ended()) is Reason.CLOSED
        winning = asyncio.create_task(successor.next_term())
        await asyncio.wait([winning], timeout=0.5)
        assert not winning.done()
        hold.release()
        await soon(winning)


def test_for_threads_a_close_that_is_out_of_time():
    def leads(store, has_begun):
        """Starts a leader whose work lasts as long as its term; its candidate is dropped when this returns."""
        candidate = store.campaign("jobs", name="dropped", drain=3600, **LONG)

        def work():
            with term:
                has_begun.set()
                term.ended(TIMEOUT)

        term = candidate.next_term(TIMEOUT)
        working = threading.Thread(target=work, daemon=True)
        working.start()
        assert has_begun.wait(TIMEOUT)
        try:
            candidate.close(timeout=0.1)
        except incumbent.TimedOutError:
            term.draining(TIMEOUT)
            assert term.is_current() and term.is_draining
            return term, working
        pytest.fail("the drain does not wait for the work")

    with sync.connect("memory:") as store:
        term, working = leads(store, threading.Event())
        gc.collect()
        assert not term.is_current()
        with store.campaign("jobs", name="next", **LONG) as successor:
            successor.next_term(TIMEOUT)
            working.join(TIMEOUT)
            assert not working.is_alive() and term.reason is Reason.CLOSED
