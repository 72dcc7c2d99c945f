"""The rules of every scenario can be broken, and the runner then reports it."""

from __future__ import annotations

import time
from typing import Any

import pytest

from conformance import rules
from conformance.actor import Actor, EventLog
from conformance.face import Work
from conformance.failure import Missed
from conformance.rules import Win, disorder
from conformance.scenario import Options, Part
from conformance.leader_check import Asked, LeaderCheck, two_lead
from incumbent import Draining, Lost, Reason, Token, Won, sync
from incumbent.testing import scripted_election_sync


class Terms:
    """The terms of a real candidate, one after another."""

    def __init__(self) -> None:
        self._election = scripted_election_sync("jobs")

    def next(self) -> Any:
        self._election.acquire()
        return self._election.candidate.next_term()

    def end(self) -> None:
        self._election.revoke(Reason.USURPED)


def received(*events: Any) -> EventLog:
    log = EventLog("a", works=False)
    for event in events:
        log.take(event, time.monotonic())
    return log


def test_a_term_that_is_won_drained_and_lost_breaks_no_rule() -> None:
    terms = Terms()
    term = terms.next()
    log = received(Won(term), Draining(term, Reason.RESIGNED))
    terms.end()
    log.take(Lost(term, Reason.RESIGNED), time.monotonic())
    assert log.broken is None
    assert [str(of) for of in log.terms[1:]] == ["Draining for RESIGNED", "Lost for RESIGNED, after a drain"]


def test_a_term_within_a_term_is_seen() -> None:
    terms = Terms()
    first = terms.next()
    terms.end()
    second = terms.next()
    log = received(Won(first), Won(second))
    assert log.broken == f"a received Won with {second.token} during its term {first.token}"


def test_a_loss_of_another_term_is_seen() -> None:
    terms = Terms()
    first = terms.next()
    terms.end()
    log = received(Lost(first, Reason.USURPED))
    assert log.broken == f"a received Lost of {first.token}, not its term"


def test_a_second_drain_is_seen() -> None:
    term = Terms().next()
    log = received(Won(term), Draining(term, Reason.RESIGNED), Draining(term, Reason.RESIGNED))
    assert log.broken == f"a received Draining of {term.token}, not its term"


def test_a_loss_of_a_term_that_is_current_is_seen() -> None:
    terms = Terms()
    term = terms.next()
    log = received(Won(term), Lost(term, Reason.USURPED))
    assert log.broken == f"a received Lost, and its term {term.token} is current"


class Body(Work):
    """The work of a term, which is never finished."""

    async def finish(self) -> None:
        raise AssertionError


@pytest.mark.parametrize(("heard", "as_"), [(None, "nothing"), (Reason.CLOSED, "CLOSED")])
def test_work_that_is_not_told_why_its_term_ended_is_seen(heard: Reason | None, as_: str) -> None:
    log, body = EventLog("a", works=True), Body()
    log.held = body
    log.check_work(body, Reason.EXPIRED, heard)
    assert log.broken == f"a lost its term for EXPIRED, and its work received {as_}"


def test_a_broken_rule_ends_the_scenario() -> None:
    actor = Actor("a", Part("a", "jobs", "a", False, Options({}, None)))
    rules.check([actor], None)
    with pytest.raises(Missed) as both:
        rules.check([actor], "a and b both lead 'jobs'")
    assert (both.value.expected, both.value.seen) == ("at most one leader at any time", "a and b both lead 'jobs'")
    actor.log.take(Lost(Terms().next(), Reason.USURPED), 0.0)
    with pytest.raises(Missed, match="each once a term"):
        rules.check([actor], None)


def test_tokens_grow_within_an_election() -> None:
    def win(at: float, election: str, who: str, sequence: int) -> Win:
        return Win(at, election, who, Token(1, sequence))

    assert disorder([win(1, "jobs", "a", 1), win(3, "mail", "c", 1), win(2, "jobs", "b", 2)]) is None
    seen = disorder([win(2, "jobs", "b", 2), win(1, "jobs", "a", 2)])
    assert seen == f"b won with {Token(1, 2)}, and before that a with {Token(1, 2)}"


def test_two_leaders_of_an_election_are_seen_and_of_two_elections_are_not() -> None:
    def asked(election: str, who: str, leads: bool) -> Asked:
        return Asked(election, who, lambda: leads)

    rivals = [asked("jobs", "a", True), asked("jobs", "b", False), asked("jobs", "c", True)]
    assert two_lead(rivals) == "a and c both lead 'jobs'"
    assert two_lead([asked("jobs", "a", True), asked("mail", "c", True)]) is None


def test_answers_that_lie_too_far_apart_say_nothing() -> None:
    clock = iter([0.0, 1.0, 2.0, 3.0])
    both = [Asked("jobs", "a", lambda: True), Asked("jobs", "b", lambda: True)]
    assert two_lead(both, lambda: next(clock)) is None


def test_the_witness_sees_candidates_that_both_lead() -> None:
    leader_check = LeaderCheck()
    try:
        with sync.connect("memory:") as one, sync.connect("memory:") as other:
            a = one.campaign("jobs", name="a", preset="fast", splay=0)
            b = other.campaign("jobs", name="b", preset="fast", splay=0)
            a.next_term(30), b.next_term(30)
            leader_check.ask("jobs", "a", lambda: a.is_leader)
            leader_check.ask("mail", "b", lambda: b.is_leader)
            assert (leader_check.leaders("jobs"), leader_check.two_leaders) == (["a"], None)
            leader_check.ask("jobs", "b", lambda: b.is_leader)
            until = time.monotonic() + 30
            while leader_check.two_leaders is None and time.monotonic() < until:
                time.sleep(0.001)
            # Either candidate may have been asked first.
            both = {"a and b both lead 'jobs'", "b and a both lead 'jobs'"}
            assert leader_check.two_leaders in both
            leader_check.lead_until("jobs", "b", 0.0)
            assert leader_check.leaders("jobs") == ["a"]
    finally:
        leader_check.stop()


