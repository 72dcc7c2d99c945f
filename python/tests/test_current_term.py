"""`current_term`: the term that code deep inside of some work works for."""

from __future__ import annotations

import asyncio
import threading

import pytest
from support import FAST, soon

import incumbent
from incumbent import TermEnded, current_term, sync


async def test_the_body_of_a_term_and_all_that_it_starts_have_it(scripted_election):
    election = scripted_election()
    election.acquire()
    seen = []

    async def deep():
        seen.append(current_term())

    assert current_term() is None
    async with election.candidate.term as term:
        await deep()
        await asyncio.create_task(deep())
        # For threads, of the class that has their methods.
        view = await asyncio.to_thread(sync.current_term)
        assert (type(view), view) == (sync.Term, term) and await asyncio.to_thread(current_term) is term
    assert seen[0] is seen[1] is term
    assert current_term() is None


async def test_the_innermost_work_counts_and_the_one_around_it_after_that(scripted_election):
    outer, inner = scripted_election("a"), scripted_election("b")
    outer.acquire(), inner.acquire()
    async with outer.candidate.term as first:
        async with inner.candidate.term as second:
            assert current_term() is second
        assert current_term() is first
    assert current_term() is None


async def test_a_task_that_outlives_its_work_keeps_the_term_and_a_check_there_fails(scripted_election):
    election = scripted_election()
    election.acquire()
    is_over = asyncio.Event()

    async def outlives():
        await is_over.wait()
        return current_term()

    async with election.candidate.term as term:
        task = asyncio.create_task(outlives())
        await asyncio.sleep(0)
    election.revoke()
    is_over.set()
    assert await soon(task) is term
    with pytest.raises(TermEnded):
        term.check()


async def test_loops_guarded_functions_and_runs_have_it(store, scripted_election):
    election = scripted_election()
    election.acquire()
    async for term in election.candidate.terms():
        assert current_term() is term
        break

    @incumbent.leader_only(election.candidate)
    async def guarded():
        return current_term()

    assert await guarded() == election.candidate.term

    async def work(term):
        return current_term() is term

    assert await soon(incumbent.run(store, "jobs", work, **FAST)) is True


def test_on_threads_the_work_has_it_and_another_thread_has_none(scripted_election_sync):
    election = scripted_election_sync()
    election.acquire()
    seen = []
    assert sync.current_term() is None
    for term in election.candidate.terms():
        assert sync.current_term() is term
        with term:
            assert sync.current_term() is term
            thread = threading.Thread(target=lambda: seen.append(sync.current_term()))
            thread.start()
            thread.join()
        break
    assert sync.leader_only(election.candidate)(sync.current_term)() == election.candidate.term
    assert seen == [None]
    assert sync.run("memory:", "jobs", lambda term: sync.current_term() is term, **FAST) is True


def test_code_that_asks_for_the_drain_by_it_counts_as_the_work_that_notices():
    tokens = []

    def deep():
        # Of the class for asyncio: what does not wait is the same.
        return current_term().is_draining

    well = [True]

    def work(term):
        tokens.append(term.token)
        if len(tokens) == 2:
            return "again"
        well[0] = False
        while not deep():
            pass
        well[0] = True
        return None

    settings = {**FAST, "health": lambda: well[0], "health_interval": 0.05}
    assert sync.run("memory:", "jobs", work, **settings) == "again"
