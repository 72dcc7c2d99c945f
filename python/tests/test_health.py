"""Health checks: an unhealthy leader leaves, an unhealthy candidate does not campaign."""

from __future__ import annotations

import asyncio
import queue
import threading

import pytest
from support import FAST, TIMEOUT, soon, until

import incumbent
from incumbent import Reason, State, sync

OFTEN = {"health_interval": 0.05, **FAST}


@pytest.mark.parametrize("is_async", [True, False])
async def test_a_leader_that_is_not_well_leaves_and_leads_again_when_it_is(store, is_async):
    well = [True]

    async def later():
        await asyncio.sleep(0)
        return well[0]

    async with store.campaign("jobs", health=later if is_async else lambda: well[0], **OFTEN) as candidate:
        term = await soon(candidate.next_term())
        well[0] = False
        assert await soon(term.ended()) is Reason.UNHEALTHY
        events = candidate.events()
        while await soon(events.__anext__()) != incumbent.StateChanged(State.IDLE):
            pass
        well[0] = True
        await soon(candidate.next_term())


async def until_true(values):
    while not values:
        await asyncio.sleep(0.01)


async def test_a_check_that_raises_is_reported_and_counts_as_a_no(store, monkeypatch):
    reported = []
    monkeypatch.setattr("sys.unraisablehook", reported.append)
    fails = []

    async def check():
        if fails:
            raise KeyError("on purpose")
        return True

    async with store.campaign("jobs", health=check, **OFTEN) as candidate:
        term = await soon(candidate.next_term())
        fails.append(True)
        assert await soon(term.ended()) is Reason.UNHEALTHY
        # On a busy machine an earlier check may have come too late.
        await soon(until_true(reported))
    assert type(reported[0].exc_value) is KeyError and reported[0].object is check


async def test_a_loop_that_is_blocked_for_longer_than_the_interval_is_not_well(store):
    async with store.campaign("jobs", health=lambda: True, **OFTEN) as candidate:
        term = await soon(candidate.next_term())
        # From here on the loop does not run; the lease is renewed meanwhile.
        until(lambda: not term.is_current(), "a check without an answer counts as a failure")
        assert term.reason is Reason.UNHEALTHY


async def test_a_check_ends_with_its_campaign(store):
    asked = []
    async with store.campaign("jobs", health=lambda: asked.append(True) or True, **OFTEN) as candidate:
        await soon(candidate.next_term())
        while not asked:
            await asyncio.sleep(0.01)


    async def ends():
        while any(task.get_name().startswith("incumbent-health") for task in asyncio.all_tasks()):
            await asyncio.sleep(0.01)

    await soon(ends())


def test_for_threads_it_is_asked_on_a_thread_of_its_own():
    asked, well = queue.Queue(), [True]

    def check():
        asked.put(threading.get_ident())
        return well[0]

    with sync.connect("memory:") as store, store.campaign("jobs", health=check, **OFTEN) as candidate:
        term = candidate.next_term(TIMEOUT)
        assert asked.get(timeout=TIMEOUT) != threading.get_ident()
        well[0] = False
        assert term.ended(TIMEOUT) is Reason.UNHEALTHY


def test_a_check_that_takes_longer_than_the_interval_counts_as_a_no():
    release = threading.Event()
    with sync.connect("memory:") as store:
        with store.campaign("jobs", health=lambda: release.wait(TIMEOUT), **OFTEN) as candidate:
            events = candidate.events(timeout=TIMEOUT)
            assert any(event == incumbent.StateChanged(State.IDLE) for event in events)
            release.set()
            candidate.next_term(TIMEOUT)


@pytest.mark.parametrize(
    ("settings", "kind", "says"),
    [
        ({"health": 1}, TypeError, "must be a function"),
        ({"health_interval": 1}, TypeError, "give one as health"),
        ({"health": bool, "health_interval": 0}, incumbent.InvalidSettingError, "longer than zero"),
        ({"health": bool, "health_interval": "often"}, incumbent.InvalidSettingError, "health_interval is"),
    ],
)
async def test_an_impossible_health_check_is_refused_at_the_call(store, settings, kind, says):
    with pytest.raises(kind, match=says):
        store.campaign("jobs", **settings)
    with sync.connect("memory:") as threads, pytest.raises(kind, match=says):
        threads.campaign("jobs", **settings)
