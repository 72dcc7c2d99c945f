"""Every await can be cancelled, and a campaign closed in every state."""

from __future__ import annotations

import asyncio

import pytest
from support import FAST, RENEWED, soon

import incumbent
from incumbent import State

AWAITS = {
    "connect": lambda store, candidate, term: incumbent.connect("memory:"),
    "campaign": lambda store, candidate, term: store.campaign("jobs", name="b", **FAST),
    "next_term": lambda store, candidate, term: candidate.next_term(),
    "terms": lambda store, candidate, term: candidate.terms().__anext__(),
    "events": lambda store, candidate, term: drained(candidate.events()),
    "resign": lambda store, candidate, term: candidate.resign(),
    "hand_over": lambda store, candidate, term: candidate.hand_over("absent"),
    "close": lambda store, candidate, term: candidate.close(),
    "leader": lambda store, candidate, term: store.leader("jobs"),
    "candidates": lambda store, candidate, term: store.candidates("jobs"),
    "list": lambda store, candidate, term: store.list(),
    "observe": lambda store, candidate, term: drained(store.observe("jobs")),
    "ended": lambda store, candidate, term: term.ended(),
    "draining": lambda store, candidate, term: term.draining(),
    "store_close": lambda store, candidate, term: store.close(),
}


async def drained(iterator):
    async for _ in iterator:
        pass


async def run(begin):
    return await begin()


@pytest.mark.parametrize("turns", [0, 1, 2])
@pytest.mark.parametrize("name", AWAITS)
async def test_cancelling_leaves_everything_in_order(name, turns):
    store = await incumbent.connect("memory:")
    candidate = await store.campaign("jobs", name="a", drain=0.2, **FAST)
    term = await soon(candidate.next_term())
    task = asyncio.create_task(run(lambda: AWAITS[name](store, candidate, term)))
    for _ in range(turns):
        await asyncio.sleep(0)
    task.cancel()
    outcome = (await soon(asyncio.gather(task, return_exceptions=True)))[0]
    assert outcome is None or not isinstance(outcome, Exception), outcome
    if isinstance(outcome, (incumbent.Candidate, incumbent.Store)):
        # The result arrived before the cancellation, so the test has it and closes it.
        await soon(outcome.close())
    # After any such request, the store works, or is closed as requested, and the key can be acquired again.
    if name == "store_close":
        await soon(store.close())
        return
    async with store.campaign("jobs", name="c", **FAST) as successor:
        await soon(candidate.close())
        await soon(successor.next_term())
    await soon(store.close())


async def reach(candidate, state):
    async for event in candidate.events():
        if event == incumbent.StateChanged(state):
            return
        if (event, state) == (incumbent.StateChanged(State.LEADING), State.ACQUIRING):
            # The candidate has already left the awaited state. After it resigns, it reaches that
            # state again.
            await candidate.resign()


async def splaying(store, faults):
    return await store.campaign("jobs", **{**FAST, "splay": 60})


async def waiting(store, faults):
    leader = await store.campaign("jobs", name="leader", **FAST)
    await soon(leader.next_term())
    candidate = await store.campaign("jobs", **FAST)
    candidate_and_leader.append(leader)
    return candidate


async def acquiring(store, faults):
    faults.delay_answers(0.3)
    return await store.campaign("jobs", **FAST)


async def leading(store, faults):
    candidate = await store.campaign("jobs", **FAST)
    await soon(candidate.next_term())
    return candidate


async def draining(store, faults):
    candidate = await leading(store, faults)
    term = candidate.term
    candidate_and_leader.append(term._native.hold())
    asyncio.get_running_loop().call_later(0.05, candidate_and_leader.clear)
    candidate_and_leader.append(asyncio.create_task(candidate.resign()))
    return candidate


async def idle(store, faults):
    candidate = await store.campaign("jobs", **FAST)
    candidate.set_healthy(False)
    return candidate


async def cut_off(store, faults):
    faults.partition()
    return await leading_or_not(store, faults)


async def leading_or_not(store, faults):
    faults.heal()
    # The former candidate cannot release the key, so its successor waits for the end of the lease.
    candidate = await store.campaign("jobs", **RENEWED)
    await soon(candidate.next_term())
    faults.partition()
    return candidate


candidate_and_leader: list[object] = []


@pytest.mark.parametrize(
    ("begin", "state"),
    [
        (idle, State.IDLE),
        (splaying, State.SPLAYING),
        (waiting, State.WAITING),
        (acquiring, State.ACQUIRING),
        (leading, State.LEADING),
        (draining, State.DRAINING),
        (cut_off, State.LEADING),
    ],
)
async def test_a_campaign_is_closed_in_every_state(faulty_store, begin, state):
    store, faults = await faulty_store()
    candidate = await begin(store, faults)
    await soon(reach(candidate, state))
    await soon(candidate.close())
    assert candidate.state is State.CLOSED and not candidate.is_leader
    faults.heal()
    faults.delay_answers(0)
    for kept in candidate_and_leader:
        if isinstance(kept, incumbent.Candidate):
            await soon(kept.close())
    candidate_and_leader.clear()
    await soon(candidate.close())
    async with store.campaign("jobs", name="next", **FAST) as successor:
        await soon(successor.next_term())
    await soon(store.close())
