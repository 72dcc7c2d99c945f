"""A candidate, on a store in this process: terms, events, leaving."""

from __future__ import annotations

import asyncio
import gc
import time

import pytest
from support import FAST, SHORT, event, soon, until

import incumbent
from incumbent import Draining, LeaderChanged, Lost, Reason, State, StateChanged, TermEnded, Warning, Won


async def test_a_lone_candidate_wins_and_leads(candidate):
    assert (candidate.name, candidate.election) == ("a", "jobs")
    term = await soon(candidate.next_term())
    assert candidate.is_leader and term.is_current() and candidate.term == term
    assert candidate.state is State.LEADING
    assert candidate.leader.name == "a"
    assert 0 < term.remaining < FAST["lease"]


async def test_every_term_comes_once_and_the_iteration_ends_with_the_campaign(store):
    tokens = []
    async with store.campaign("jobs", **FAST) as candidate:
        async for term in candidate.terms():
            tokens.append(term.token)
            if len(tokens) == 3:
                await candidate.close()
            else:
                await candidate.resign()
    assert tokens == sorted(set(tokens)) and len(tokens) == 3
    assert candidate.state is State.CLOSED
    with pytest.raises(incumbent.ClosedError):
        await candidate.next_term()


async def test_lead_runs_the_work_in_every_term_until_the_campaign_is_over(candidate):
    tokens = []

    async def work(term):
        tokens.append(term.token)
        if len(tokens) == 3:
            await candidate.close()
        else:
            await candidate.resign()

    await soon(candidate.lead(work))
    assert tokens == sorted(set(tokens)) and len(tokens) == 3
    assert candidate.state is State.CLOSED


async def test_lead_cancels_the_work_when_its_term_ends(scripted_election):
    election = scripted_election()
    begins, ends = asyncio.Queue(), asyncio.Queue()

    async def work(term):
        begins.put_nowait(term.token)
        try:
            await asyncio.sleep(3600)
        finally:
            ends.put_nowait(term.token)

    leading = asyncio.create_task(election.candidate.lead(work))
    first = election.acquire()
    assert await soon(begins.get()) == first
    election.revoke(Reason.USURPED)
    assert await soon(ends.get()) == first
    assert not leading.done()
    await election.candidate.close()
    await soon(leading)


async def test_work_of_lead_that_raises_ends_the_term_and_is_reported(candidate):
    reported = asyncio.Queue()
    asyncio.get_running_loop().set_exception_handler(lambda _, context: reported.put_nowait(context["exception"]))
    events = candidate.events()

    async def work(term):
        raise RuntimeError("not today")

    leading = asyncio.create_task(candidate.lead(work))
    lost = await event(events, Lost)
    assert lost.reason is Reason.HANDLER_FAILED
    assert str(await soon(reported.get())) == "not today"
    await candidate.close()
    await soon(leading)


async def test_a_lead_that_is_cancelled_cancels_the_work_and_resigns(candidate):
    events = candidate.events()
    at_work = asyncio.Event()

    async def work(term):
        at_work.set()
        await asyncio.sleep(3600)

    leading = asyncio.create_task(candidate.lead(work))
    await soon(at_work.wait())
    leading.cancel()
    with pytest.raises(asyncio.CancelledError):
        await leading
    lost = await event(events, Lost)
    assert lost.reason is Reason.RESIGNED


async def test_events_are_reported_in_order(candidate):
    events = candidate.events()
    won = await event(events, Won)
    await candidate.resign()
    seen = []
    while not (seen and isinstance(seen[-1], Lost)):
        seen.append(await soon(events.__anext__()))
    assert [type(one) for one in seen if isinstance(one, (Draining, Lost))] == [Draining, Lost]
    match seen[-1]:
        case Lost(term, reason):
            assert (term, reason) == (won.term, Reason.RESIGNED)
        case _:
            pytest.fail("the pattern does not match")
    await candidate.close()
    rest = [one async for one in events]
    assert rest[-1] == StateChanged(State.CLOSED)
    assert events.missed == 0


async def test_a_reader_that_does_not_keep_up_loses_events_and_knows_how_many(scripted_election):
    election = scripted_election()
    events = election.candidate.events()
    for number in range(1100):
        election.leader(f"n{number}")
    assert isinstance(await event(events, LeaderChanged), LeaderChanged)
    assert events.missed > 0


async def test_a_warning_is_reported(scripted_election):
    election = scripted_election()
    election.warning()
    warning = await event(election.candidate.events(), Warning)
    assert warning.code == "MARKERS_MISLEAD" and "markers" in warning.message


async def test_a_closed_stream_is_over_for_who_waits(candidate):
    events = candidate.events()
    await event(events, Won)

    async def rest():
        return [one async for one in events]

    reading = asyncio.create_task(rest())
    await asyncio.sleep(0)
    await events.aclose()
    await soon(reading)


async def test_a_drain_waits_for_the_body_and_the_lease_is_held_meanwhile(candidate):
    term = await soon(candidate.next_term())
    async with term:
        resigning = asyncio.create_task(candidate.resign())
        await soon(term.draining())
        # The task was created inside of the body, so it waits for the drain to begin, and not for
        # its end.
        await soon(resigning)
        assert candidate.is_leader and term.is_draining
    assert await soon(term.ended()) is Reason.RESIGNED
    assert not candidate.is_leader


async def test_a_resignation_from_outside_waits_for_the_work(candidate):
    done = asyncio.Event()
    order = []

    async def work(term):
        async with term:
            await term.draining()
            order.append("worked")
        done.set()

    term = await soon(candidate.next_term())
    task = asyncio.create_task(work(term))
    await asyncio.sleep(0)
    await soon(candidate.resign())
    order.append("resigned")
    await soon(task)
    assert order == ["worked", "resigned"]


async def test_a_resignation_in_the_loop_over_terms_does_not_wait_for_itself(candidate):
    began = time.monotonic()
    async for term in candidate.terms():
        await candidate.resign()
        assert term.is_draining
        break
    assert await soon(term.ended()) is Reason.RESIGNED
    assert time.monotonic() - began < 30, "it waited for the drain time"


async def test_after_the_body_the_loop_over_terms_holds_nothing(candidate):
    async for term in candidate.terms():
        async with term:
            pass
        await soon(candidate.resign())
        assert not term.is_current()
        break


async def test_a_drain_handler_finishes_the_work_and_the_body_is_cancelled_then(store):
    steps, entered = [], asyncio.Event()

    async def drain(term, deadline):
        left = deadline - asyncio.get_running_loop().time()
        assert 30 < left <= 60
        steps.append(("draining", candidate.is_leader, term.is_draining))
        await asyncio.sleep(0.01)
        steps.append(("drained", candidate.is_leader, term.is_draining))

    async with store.campaign("jobs", drain=drain, drain_time=60, **FAST) as candidate:

        async def work():
            async with await candidate.next_term():
                steps.append("working")
                entered.set()
                await asyncio.sleep(3600)

        working = asyncio.create_task(work())
        await soon(entered.wait())
        await soon(candidate.resign())
        with pytest.raises(TermEnded) as ended:
            await soon(working)
    assert ended.value.reason is Reason.RESIGNED
    assert steps == ["working", ("draining", True, True), ("drained", True, True)]


async def test_a_drain_handler_that_is_late_is_cancelled_at_its_deadline(store):
    cancelled = asyncio.Event()

    async def drain(term, deadline):
        try:
            await asyncio.sleep(3600)
        except asyncio.CancelledError:
            cancelled.set()
            raise

    async with store.campaign("jobs", drain=drain, drain_time=0.1, **FAST) as candidate:
        with pytest.raises(TermEnded):
            async with await soon(candidate.next_term()):
                await candidate.resign()
                await soon(asyncio.sleep(3600))
        await soon(cancelled.wait())


async def test_a_drain_handler_is_called_in_time_though_the_leader_leaves_before_the_loop_has_read_of_the_win(store):
    drained = []

    async def drain(term, deadline):
        drained.append((candidate.is_leader, term.is_draining))

    async with store.campaign("jobs", drain=drain, **FAST) as candidate:
        # The loop does not run: no event is read yet.
        until(lambda: candidate.is_leader, "it never leads")
        await soon(candidate.resign())
        assert drained == [(True, True)]


async def test_a_drain_handler_that_comes_too_late_is_not_called(store):
    drained = []

    async def drain(term, deadline):
        drained.append(term)

    async with store.campaign("jobs", drain=drain, drain_time=0.05, **FAST) as candidate:
        until(lambda: candidate.is_leader, "it never leads")
        term = candidate.term
        resigning = asyncio.create_task(candidate.resign())
        await asyncio.sleep(0)
        # The loop is blocked during the whole drain.
        until(lambda: not term.is_current(), "it never stops draining")
        await soon(resigning)
    assert drained == []


@pytest.mark.parametrize("ends", [True, False])
async def test_a_drain_handler_that_raises_is_reported_and_ends_the_term_where_asked(store, monkeypatch, ends):
    reported = []
    monkeypatch.setattr("sys.unraisablehook", reported.append)

    async def drain(term, deadline):
        raise KeyError("on purpose")

    async with store.campaign("jobs", drain=drain, error_ends_term=ends, **FAST) as candidate:
        with pytest.raises(TermEnded) as ended:
            async with await soon(candidate.next_term()):
                await candidate.resign()
                await soon(asyncio.sleep(3600))
        assert ended.value.reason is (Reason.HANDLER_FAILED if ends else Reason.RESIGNED)
    assert [type(one.exc_value) for one in reported] == [KeyError]
    assert reported[0].object is drain


async def test_leadership_is_handed_to_the_named_candidate(store):
    async with store.campaign("jobs", name="a", **FAST) as first:
        await soon(first.next_term())
        async with store.campaign("jobs", name="b", **FAST) as second:
            async with store.campaign("jobs", name="c", **FAST) as third:
                await soon(until_waiting(second, third))
                term = first.term
                await soon(first.hand_over(to="c"))
                assert await soon(term.ended()) is Reason.HANDED_OVER
                await soon(third.next_term())
                with pytest.raises(incumbent.NotLeaderError):
                    await second.hand_over("a")


async def until_waiting(*candidates):
    for candidate in candidates:
        async for one in candidate.events():
            if one == LeaderChanged(candidate.leader) and candidate.leader is not None:
                break


async def test_an_unhealthy_leader_leaves(candidate):
    term = await soon(candidate.next_term())
    candidate.set_healthy(False)
    assert await soon(term.ended()) is Reason.UNHEALTHY
    candidate.set_healthy(True)
    await soon(candidate.next_term())


async def test_failed_work_ends_the_term_at_once(candidate):
    term = await soon(candidate.next_term())
    with pytest.raises(TermEnded) as ended:
        async with term:
            term.fail()
            await asyncio.sleep(3600)
    assert ended.value.reason is Reason.HANDLER_FAILED


async def test_a_dropped_candidate_releases_its_lease(store):
    first = await store.campaign("jobs", name="a", **FAST)
    term = await soon(first.next_term())
    with pytest.warns(ResourceWarning, match="unclosed candidate 'a' for 'jobs'"):
        del first
        gc.collect()
    assert not term.is_current() and term.reason is Reason.CLOSED
    async with store.campaign("jobs", name="b", **FAST) as second:
        await soon(second.next_term())


async def test_who_leads_can_be_asked_listed_and_observed(store, candidate):
    seen = store.observe("jobs").__aiter__()
    await soon(candidate.next_term())
    while (one := await soon(seen.__anext__())).leader is None:
        assert one.election == "jobs"
    assert one.leader.name == "a" and one.age >= 0
    leader = await store.leader("jobs")
    assert leader == one.leader and leader.nonce
    assert [(listed.election, listed.leader.name) for listed in await store.list()] == [("jobs", "a")]
    assert await store.leader("others") is None


async def test_the_candidates_of_an_election_are_listed_the_longest_standing_first(store, candidate):
    await soon(candidate.next_term())
    async with store.campaign("jobs", name="b", **FAST):
        first, second = await store.candidates("jobs")
    assert (first.election, first.name, second.name) == ("jobs", "a", "b")
    assert first.standing_for >= second.standing_for >= 0
    assert first.nonce == candidate.leader.nonce != second.nonce
    assert not await store.candidates("others")


async def test_the_leaders_metadata_is_seen(store):
    metadata = {"address": "10.0.0.7:8080"}
    async with store.campaign("jobs", metadata=metadata, **FAST) as candidate:
        await soon(candidate.next_term())
        assert (await store.leader("jobs")).metadata == metadata


async def test_without_being_closed_a_store_is_closed_by_its_context(sqlite):
    async with incumbent.connect(sqlite) as store:
        candidate = await store.campaign("jobs", **FAST)
        await soon(candidate.next_term())
    assert not candidate.is_leader and candidate.state is State.CLOSED
    with pytest.raises(incumbent.ClosedError):
        await store.leader("jobs")
    await store.close()


async def test_the_event_loop_blocked_beyond_the_lease_knows_at_the_next_line(scripted_election):
    election = scripted_election()
    election.acquire(lease=3)
    term = election.candidate.term
    assert election.candidate.is_leader
    until(lambda: not election.candidate.is_leader, "it never stops leading")
    assert not term.is_current() and term.reason is Reason.EXPIRED


async def test_a_store_that_is_cut_off_ends_the_term_while_the_loop_is_blocked(faulty_store):
    store, faults = await faulty_store()
    candidate = await store.campaign("jobs", **SHORT)
    term = await soon(candidate.next_term())
    faults.partition()
    # From here on the loop does not run.
    time.sleep(0.9)
    assert not candidate.is_leader and not term.is_current()
    with pytest.raises(TermEnded):
        async with term:
            pytest.fail("the body runs")
    faults.heal()
    await soon(store.close())


async def test_an_opening_that_is_not_awaited_is_a_warning_as_for_a_coroutine(store):
    with pytest.warns(RuntimeWarning, match=r"Store\.campaign was never awaited"):
        store.campaign("jobs")
    with pytest.warns(RuntimeWarning, match="connect was never awaited"):
        incumbent.connect("memory:")
