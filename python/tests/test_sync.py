"""The API for threads."""

from __future__ import annotations

import gc
import os
import queue
import signal
import sys
import threading
import time

import pytest
from support import FAST, TIMEOUT, RENEWED, until

import incumbent
from incumbent import Draining, LeaderChanged, Lost, StateChanged, Reason, State, TermEnded, Won, sync


@pytest.fixture
def threads_store():
    with sync.connect("memory:") as store:
        yield store


@pytest.fixture
def candidate(threads_store):
    with threads_store.campaign("jobs", name="a", **FAST) as candidate:
        yield candidate


def on_a_thread(work):
    """Runs work on another thread; returns a queue with its outcome."""
    outcome = queue.Queue()

    def run():
        try:
            outcome.put(work())
        except BaseException as error:
            outcome.put(error)

    threading.Thread(target=run, daemon=True).start()
    return outcome


def test_a_lone_candidate_wins_and_leads_until_it_resigns(candidate):
    term = candidate.next_term(TIMEOUT)
    assert candidate.is_leader and candidate.term == term and term.is_current()
    term.check()
    candidate.resign(TIMEOUT)
    assert term.ended(TIMEOUT) is Reason.RESIGNED
    with pytest.raises(TermEnded):
        term.check()
    with pytest.raises(TermEnded):
        with term:
            pytest.fail("the body runs")


def test_every_term_comes_once_and_the_iteration_ends_with_the_campaign(candidate):
    tokens = []
    for term in candidate.terms():
        with term:
            tokens.append(term.token)
            if len(tokens) == 3:
                candidate.close(TIMEOUT)
            else:
                candidate.resign(TIMEOUT)
            assert term.is_draining
    assert tokens == sorted(set(tokens)) and len(tokens) == 3
    with pytest.raises(incumbent.ClosedError):
        candidate.next_term(TIMEOUT)


def test_lead_calls_the_work_in_every_term_until_the_campaign_is_over(candidate):
    tokens = []

    def work(term):
        tokens.append(term.token)
        if len(tokens) == 3:
            candidate.close(TIMEOUT)
        else:
            candidate.resign(TIMEOUT)

    candidate.lead(work)
    assert tokens == sorted(set(tokens)) and len(tokens) == 3


def test_work_of_lead_that_raises_ends_the_term_and_is_reported(candidate, monkeypatch):
    reported = queue.Queue()
    monkeypatch.setattr(sys, "unraisablehook", lambda unraisable: reported.put(unraisable.exc_value))
    events = candidate.events(TIMEOUT)

    def work(term):
        raise RuntimeError("not today")

    ended = on_a_thread(lambda: candidate.lead(work))
    lost = next(one for one in events if isinstance(one, Lost))
    assert lost.reason is Reason.HANDLER_FAILED
    assert str(reported.get(timeout=TIMEOUT)) == "not today"
    candidate.close(TIMEOUT)
    assert ended.get(timeout=TIMEOUT) is None


def test_an_interrupt_leaves_lead_and_resigns(candidate):
    events = candidate.events(TIMEOUT)

    def work(term):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        candidate.lead(work)
    lost = next(one for one in events if isinstance(one, Lost))
    assert lost.reason is Reason.RESIGNED


def test_a_resignation_waits_for_the_work_of_another_thread(candidate):
    order, inside = [], threading.Event()

    def work():
        with candidate.next_term(TIMEOUT) as term:
            inside.set()
            term.draining(TIMEOUT)
            order.append("worked")

    outcome = on_a_thread(work)
    assert inside.wait(TIMEOUT)
    candidate.resign(TIMEOUT)
    order.append("resigned")
    assert outcome.get(timeout=TIMEOUT) is None
    assert order == ["worked", "resigned"]


def test_events_are_an_iterator(candidate):
    candidate.next_term(TIMEOUT)
    events = candidate.events(timeout=TIMEOUT)
    kinds = [type(next(events))]
    candidate.close(TIMEOUT)
    kinds += [type(event) for event in events]
    assert kinds[0] is Won and kinds[-1] is StateChanged
    assert kinds.index(Draining) < kinds.index(Lost)


def test_nothing_within_the_time_given_is_an_error_and_the_iterator_continues(candidate):
    candidate.next_term(TIMEOUT)
    events = candidate.events(timeout=0.05)
    with pytest.raises(incumbent.TimedOutError) as timed_out:
        for _ in events:
            pass
    assert isinstance(timed_out.value, TimeoutError) and timed_out.value.is_temporary
    candidate.resign(TIMEOUT)
    # The store's watch may show the new leader late.
    following = next(one for one in events if not isinstance(one, LeaderChanged))
    assert isinstance(following, Draining | StateChanged)


def test_callbacks_run_in_order_on_a_thread_of_their_own(candidate):
    calls = queue.Queue()
    here = threading.get_ident()

    def note(what):
        return lambda *arguments: calls.put((what, threading.get_ident() != here, *arguments))

    candidate.attach(
        on_won=note("won"), on_draining=note("draining"), on_lost=note("lost"), on_state_changed=note("state")
    )
    candidate.next_term(TIMEOUT)
    candidate.close(TIMEOUT)
    seen = []
    while not (seen and seen[-1][0] == "state" and seen[-1][2] is State.CLOSED):
        seen.append(calls.get(timeout=TIMEOUT))
    assert all(other for _, other, *_ in seen)
    assert [what for what, *_ in seen if what != "state"] == ["won", "draining", "lost"]


def test_a_drain_waits_for_its_callback_which_has_the_time_that_is_left(threads_store):
    drained, may_return = queue.Queue(), threading.Event()

    def drain(term, seconds):
        drained.put((seconds, candidate.is_leader))
        may_return.wait(TIMEOUT)

    with threads_store.campaign("jobs", drain=60, **FAST) as candidate:
        won = threading.Event()
        candidate.attach(on_won=lambda term: won.set(), on_draining=drain)
        assert won.wait(TIMEOUT)
        resigned = on_a_thread(candidate.resign)
        seconds, was_leader = drained.get(timeout=TIMEOUT)
        assert 30 < seconds <= 60 and was_leader
        assert candidate.is_leader and resigned.empty()
        may_return.set()
        assert resigned.get(timeout=TIMEOUT) is None


def test_a_drain_waits_for_its_callback_though_the_leader_leaves_before_any_callback_heard_of_the_win(
    scripted_election_sync,
):
    election = scripted_election_sync()
    heard, resume, drained = threading.Event(), threading.Event(), queue.Queue()

    def block(state):
        heard.set()
        resume.wait(TIMEOUT)

    election.candidate.attach(on_state_changed=block, on_draining=lambda term, left: drained.put(term.is_current()))
    assert heard.wait(TIMEOUT)
    election.acquire()
    election.drain()
    assert election.candidate.is_leader
    resume.set()
    assert drained.get(timeout=TIMEOUT) is True
    until(lambda: not election.candidate.is_leader, "it never stops draining")


@pytest.mark.parametrize("ends", [True, False])
def test_a_callback_that_raises_is_reported_and_ends_the_term_where_asked(
    scripted_election_sync, monkeypatch, ends
):
    reported, lost = queue.Queue(), queue.Queue()
    monkeypatch.setattr("sys.unraisablehook", reported.put)
    election = scripted_election_sync()

    failures = iter([KeyError("on purpose")])

    def fail(term):
        # Once: a second failure would race with the next step of the script.
        for failure in failures:
            raise failure

    election.candidate.attach(
        on_won=fail, on_lost=lambda term, reason: lost.put(reason), error_ends_term=ends
    )
    election.acquire()
    assert type(reported.get(timeout=TIMEOUT).exc_value) is KeyError
    if ends:
        assert lost.get(timeout=TIMEOUT) is Reason.HANDLER_FAILED
        assert election.asked == [("fail", None)]
    else:
        assert election.candidate.is_leader
    # Callbacks after a failed one are still called.
    election.acquire()
    election.revoke(Reason.DELETED)
    assert lost.get(timeout=TIMEOUT) is Reason.DELETED


def test_a_slow_callback_delays_no_renewal(threads_store):
    with threads_store.campaign("jobs", **RENEWED) as candidate:
        blocked, is_blocked = threading.Event(), threading.Event()

        def block(term):
            is_blocked.set()
            blocked.wait(TIMEOUT)

        candidate.attach(on_won=block)
        term = candidate.next_term(TIMEOUT)
        assert is_blocked.wait(TIMEOUT)
        for _ in range(2):
            proven = time.monotonic() + term.remaining
            until(lambda: time.monotonic() + term.remaining > proven + 0.05, "nothing is renewed")
        assert term.is_current()
        blocked.set()


def test_only_the_leader_runs_a_guarded_function(scripted_election_sync):
    election = scripted_election_sync()
    held = []

    @sync.leader_only(election.candidate)
    def double(number: int) -> int:
        """Doubles."""
        election.drain()
        held.append(election.candidate.is_leader)
        return 2 * number

    skipped = sync.leader_only(lambda: election.candidate, otherwise="skip")(lambda: "ran")
    assert double.__doc__ == "Doubles."
    with pytest.raises(incumbent.NotLeaderError, match="only the leader may call this"):
        double(4)
    assert skipped() is None
    election.acquire()
    assert skipped() == "ran"
    assert double(4) == 8
    # The drain waited for the function, and for nothing else.
    assert held == [True] and not election.candidate.is_leader
    with pytest.raises(ValueError, match="otherwise"):
        sync.leader_only(election.candidate, otherwise="maybe")


@pytest.mark.parametrize("wait", ["next_term", "events", "ended", "observe"])
def test_ctrl_c_works_in_every_wait(threads_store, wait):
    with threads_store.campaign("jobs", **FAST) as leader:
        term = leader.next_term(TIMEOUT)
        follower = threads_store.campaign("jobs", name="b", **FAST)
        waits = {
            "next_term": follower.next_term,
            "events": lambda: [None for _ in follower.events()],
            "ended": term.ended,
            "observe": lambda: [None for _ in threads_store.observe("jobs")],
        }
        # The test runner may have been started with Ctrl-C ignored.
        signal.signal(signal.SIGINT, signal.default_int_handler)
        timer = threading.Timer(0.2, os.kill, [os.getpid(), signal.SIGINT])
        with pytest.raises(KeyboardInterrupt):
            # Inside, because on a busy machine the signal may come before the wait.
            timer.start()
            waits[wait]()
        timer.join()
        follower.close(TIMEOUT)


def test_the_interpreters_lock_is_released_while_a_thread_waits(candidate):
    candidate.next_term(TIMEOUT)
    with sync.connect("memory:") as other, other.campaign("jobs", **FAST) as leader:
        leader.next_term(TIMEOUT)
        with other.campaign("jobs", name="b", **FAST) as follower:
            waiting = on_a_thread(follower.next_term)
            # This thread still runs, so the thread that waits has released the interpreter's lock.
            assert candidate.is_leader
            follower.close(TIMEOUT)
            assert isinstance(waiting.get(timeout=TIMEOUT), incumbent.ClosedError)


def test_a_dropped_candidate_releases_its_lease(threads_store):
    first = threads_store.campaign("jobs", name="a", **FAST)
    first.next_term(TIMEOUT)
    with pytest.warns(ResourceWarning, match="unclosed candidate 'a' for 'jobs'"):
        del first
        gc.collect()
    with threads_store.campaign("jobs", name="b", **FAST) as second:
        second.next_term(TIMEOUT)


def test_who_leads_can_be_asked_listed_and_observed(threads_store, candidate):
    candidate.next_term(TIMEOUT)
    assert threads_store.leader("jobs").name == "a"
    assert [one.election for one in threads_store.list()] == ["jobs"]
    assert [one.name for one in threads_store.candidates("jobs")] == ["a"]
    for one in threads_store.observe("jobs", timeout=TIMEOUT):
        if one.leader is not None:
            assert one.leader.name == "a"
            break
