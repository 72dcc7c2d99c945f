"""The testing tools of the package, for programs that use it."""

from __future__ import annotations

import time

import pytest
from support import TIMEOUT, RENEWED, SHORT, soon, until

from incumbent import LeaderChanged, Reason
from incumbent.testing import ManualClock


def test_a_scripted_election_follows_its_script_and_records_requests(scripted_election_sync):
    election = scripted_election_sync("jobs", "worker-7")
    candidate = election.candidate
    assert (candidate.election, candidate.name, candidate.is_leader) == ("jobs", "worker-7", False)
    token = election.acquire()
    assert candidate.is_leader and candidate.term.token == token
    candidate.resign(TIMEOUT)
    assert not candidate.is_leader
    assert election.acquire() > token
    candidate.hand_over("worker-8", TIMEOUT)
    candidate.set_healthy(False)
    candidate.accept_reset()
    candidate.close(TIMEOUT)
    assert election.asked == [
        ("resign", None),
        ("hand_over", "worker-8"),
        ("set_healthy", "false"),
        ("accept_reset", None),
        ("close", None),
    ]


async def test_it_shows_leaders_and_drains(scripted_election):
    election = scripted_election()
    events = election.candidate.events()
    election.leader("another")
    while not isinstance(event := await soon(events.__anext__()), LeaderChanged):
        pass
    assert event.leader.name == "another" == election.candidate.leader.name
    election.acquire()
    term = election.candidate.term
    async with term:
        election.drain(Reason.REVOKED)
        assert term.is_draining
    assert await soon(term.ended()) is Reason.REVOKED


def test_a_lease_runs_out_on_a_clock_that_is_moved(scripted_election_sync):
    clock = ManualClock()
    election = scripted_election_sync(clock=clock)
    election.acquire(lease=5)
    clock.advance(4.9)
    assert election.candidate.is_leader
    clock.advance(0.1)
    assert not election.candidate.is_leader


@pytest.mark.parametrize("fault", ["lose_answers", "lose_requests", "busy"])
def test_a_leader_survives_the_faults_of_a_write(faulty_store_sync, fault):
    store, faults = faulty_store_sync()
    with store, store.campaign("jobs", **RENEWED) as candidate:
        term = candidate.next_term(TIMEOUT)
        getattr(faults, fault)(1)
        # Later than a renewal after the fault.
        before = time.monotonic() + term.remaining
        until(lambda: time.monotonic() + term.remaining > before + 0.05, "nothing is renewed")
        assert term.is_current()


def test_a_leader_that_is_cut_off_loses_its_term_and_one_that_is_not_told_does_not_wait(faulty_store_sync):
    store, faults = faulty_store_sync()
    with store, store.campaign("jobs", **SHORT) as candidate:
        term = candidate.next_term(TIMEOUT)
        faults.kill_watches()
        faults.partition()
        assert term.ended(TIMEOUT) is Reason.EXPIRED
        faults.heal()
        assert candidate.next_term(TIMEOUT).token > term.token


def test_a_reason_that_does_not_exist_is_refused():
    from incumbent import _incumbent

    script = _incumbent.Script("a", "b", None)
    with pytest.raises(ValueError, match="is not a reason"):
        script.revoke("BORED")
