"""`async with term`: its body is cancelled the moment the term ends."""

from __future__ import annotations

import asyncio
import sys

import pytest
from support import soon

from incumbent import Reason, TermEnded
from incumbent.testing import ManualClock


@pytest.fixture
def election(scripted_election):
    return scripted_election("jobs", "a")


async def test_the_body_is_cancelled_the_moment_the_term_ends_and_the_reason_is_raised(election):
    election.acquire()
    term = election.candidate.term
    entered = asyncio.Event()

    async def work():
        async with term:
            entered.set()
            await asyncio.sleep(3600)

    task = asyncio.create_task(work())
    await entered.wait()
    election.revoke(Reason.USURPED)
    with pytest.raises(TermEnded) as raised:
        await soon(task)
    assert raised.value.reason is Reason.USURPED
    assert raised.value.code == "TERM_ENDED"
    assert isinstance(raised.value.__cause__, asyncio.CancelledError)


async def test_a_body_that_ends_by_itself_raises_nothing_and_the_term_continues(election):
    election.acquire()
    term = election.candidate.term
    async with term as entered:
        assert entered is term
    assert term.is_current()


async def test_a_term_that_is_over_cannot_be_entered(election):
    election.acquire()
    term = election.candidate.term
    election.fence()
    with pytest.raises(TermEnded) as raised:
        async with term:
            pytest.fail("the body runs")
    assert raised.value.reason is Reason.EXPIRED


async def test_an_exception_of_the_body_is_not_replaced(election):
    election.acquire()
    with pytest.raises(KeyError):
        async with election.candidate.term:
            raise KeyError


async def test_a_cancellation_from_outside_stays_one_and_the_term_continues(election):
    election.acquire()
    term = election.candidate.term
    entered = asyncio.Event()

    async def work():
        async with term:
            entered.set()
            await asyncio.sleep(3600)

    task = asyncio.create_task(work())
    await entered.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await soon(task)
    assert term.is_current()


@pytest.mark.skipif(sys.version_info < (3, 11), reason="Task.uncancel tells the two apart")
async def test_a_cancellation_from_outside_wins_where_both_come_at_once(election):
    election.acquire()
    entered = asyncio.Event()

    async def work():
        async with election.candidate.term:
            entered.set()
            try:
                await asyncio.sleep(3600)
            except asyncio.CancelledError:
                # Both cancellations are in flight before the body is left.
                task.cancel()
                raise

    task = asyncio.create_task(work())
    await entered.wait()
    election.revoke()
    with pytest.raises(asyncio.CancelledError):
        await soon(task)


@pytest.mark.skipif(sys.version_info < (3, 11), reason="asyncio.timeout is new in 3.11")
@pytest.mark.parametrize("outer_is_term", [True, False])
async def test_it_nests_with_asyncio_timeout(election, outer_is_term):
    election.acquire()
    with pytest.raises(TermEnded if outer_is_term else TimeoutError):
        if outer_is_term:
            async with election.candidate.term:
                async with asyncio.timeout(3600):
                    election.revoke()
                    await asyncio.sleep(3600)
        else:
            async with asyncio.timeout(0.01):
                async with election.candidate.term:
                    await asyncio.sleep(3600)
    if sys.version_info >= (3, 11):
        assert asyncio.current_task().cancelling() == 0


@pytest.mark.skipif(sys.version_info < (3, 11), reason="TaskGroup is new in 3.11")
async def test_a_task_group_in_the_body_is_cancelled_with_it(election):
    election.acquire()
    cancelled = []

    async def child():
        try:
            await asyncio.sleep(3600)
        except asyncio.CancelledError:
            cancelled.append(True)
            raise

    with pytest.raises(TermEnded):
        async with election.candidate.term:
            async with asyncio.TaskGroup() as group:
                group.create_task(child())
                group.create_task(child())
                await asyncio.sleep(0)
                election.revoke()
    assert cancelled == [True, True]


async def test_the_same_term_is_entered_by_several_tasks_and_twice_by_one(election):
    election.acquire()
    term = election.candidate.term

    async def work():
        async with term:
            async with term:
                await asyncio.sleep(3600)

    tasks = [asyncio.create_task(work()) for _ in range(3)]
    await asyncio.sleep(0)
    election.revoke(Reason.DELETED)
    ends = await soon(asyncio.gather(*tasks, return_exceptions=True))
    assert [type(end) for end in ends] == [TermEnded] * 3


async def test_a_body_that_swallows_the_cancellation_leaves_no_trace_of_it(election):
    election.acquire()
    async with election.candidate.term:
        election.revoke()
        with pytest.raises(asyncio.CancelledError):
            await asyncio.sleep(3600)
    # Nothing is left that could cancel the next await.
    await asyncio.sleep(0.01)


async def test_is_current_turns_false_by_the_clock_before_any_event(scripted_election):
    clock = ManualClock()
    election = scripted_election("jobs", clock=clock)
    election.acquire(lease=2)
    term = election.candidate.term
    assert term.is_current() and election.candidate.is_leader
    assert term.remaining == 2.0
    assert term.age == 0.0
    clock.advance(2)
    assert term.age == 2.0
    assert not term.is_current() and not election.candidate.is_leader
    assert term.remaining == 0.0
    assert term.reason is Reason.EXPIRED


async def test_tokens_grow_and_sort_as_text_and_are_constant_in_a_term(election):
    tokens = []
    for _ in range(12):
        tokens.append(election.acquire())
        assert election.candidate.term.token == tokens[-1] == election.candidate.term.token
        election.revoke()
    assert tokens == sorted(tokens) == sorted(set(tokens))
    texts = [str(token) for token in tokens]
    assert texts == sorted(texts)
    assert [type(tokens[0]).parse(text) for text in texts] == tokens


async def test_ended_and_draining_are_told_and_hold_nothing(election):
    election.acquire()
    term = election.candidate.term
    async with term:
        ended, draining = asyncio.create_task(term.ended()), asyncio.create_task(term.draining())
        await asyncio.sleep(0)
        assert not term.is_draining and term.drain_remaining is None
        election.drain(Reason.UNHEALTHY)
        await soon(draining)
        assert term.is_draining and 0 < term.drain_remaining <= 1
        assert not ended.done()
    assert await soon(ended) is Reason.UNHEALTHY
    assert term.reason.may_drain


async def test_terms_are_equal_where_they_are_the_same(election):
    election.acquire()
    one, same = election.candidate.term, election.candidate.term
    assert one == same and hash(one) == hash(same) and one is not same
    election.revoke()
    election.acquire()
    assert election.candidate.term != one
    assert "current" in repr(election.candidate.term) and "USURPED" in repr(one)


async def test_entering_a_term_outside_of_a_task_is_an_error(election):
    election.acquire()
    loop, said = asyncio.get_running_loop(), asyncio.get_running_loop().create_future()

    def outside():
        try:
            election.candidate.term.__aenter__().send(None)
        except RuntimeError as error:
            said.set_result(str(error))

    loop.call_soon(outside)
    assert "inside a task" in await soon(said)
