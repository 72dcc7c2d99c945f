"""Scenarios that are wrong on purpose: the runner reports the step, the expectation and the observation."""

from __future__ import annotations

import json
from concurrent.futures import Future
from typing import Any, NamedTuple

import pytest

from conformance.aio import Asyncio
from conformance.failure import Failure, Lacking
from conformance.scenario import Scenario, parse
from conformance.threads import Threads

PAIR: list[dict[str, Any]] = [
    {"do": "campaign", "candidate": "a"},
    {"do": "expect_won", "candidate": "a"},
    {"do": "campaign", "candidate": "b"},
    {"do": "expect_seen", "candidate": "b", "leader": "a"},
]
"""``a`` leads with work that has to be finished, and ``b`` waits: four steps."""


class Wrong(NamedTuple):
    """Steps after the pair's, the number of the wrong one, its expectation, and the beginning of the observation."""

    what: str
    steps: list[dict[str, Any]]
    step: int | None
    expected: str
    seen: str


def do(verb: str, candidate: str = "", **more: object) -> dict[str, object]:
    who = {"candidate": candidate} if candidate else {}
    return {"do": verb, **who, **more}


FAILED = [do("mark", mark="failed"), do("fail_work", "a")]
"""Steps 5 and 6: the term of ``a`` ends for ``HANDLER_FAILED``."""

WRONG = [
    Wrong(
        "a_win_that_does_not_come",
        [do("expect_won", "b")],
        5,
        "b to receive Won",
        "b is WAITING, does not lead, after 4 s",
    ),
    Wrong(
        "a_win_of_none_of_those_named",
        [do("expect_any_won", candidates=["a", "b"], **{"as": "next"})],
        5,
        "a or b to receive Won",
        "a is LEADING, leads; b is WAITING, does not lead, after 4 s",
    ),
    Wrong(
        "something_else_than_a_win",
        [do("resign", "a"), do("expect_won", "a")],
        6,
        "a to receive Won",
        "a received Draining for RESIGNED",
    ),
    Wrong(
        "a_drain_for_another_reason",
        [do("close", "a"), do("expect_draining", "a", reason="RESIGNED")],
        6,
        "a to receive Draining for RESIGNED",
        "a received Draining for CLOSED",
    ),
    Wrong(
        "a_loss_for_another_reason",
        [*FAILED, do("expect_lost", "a", reason="RESIGNED")],
        7,
        "a to receive Lost for RESIGNED",
        "a received Lost for HANDLER_FAILED, without a drain",
    ),
    Wrong(
        "a_loss_without_the_drain_that_should_be_there",
        [*FAILED, do("expect_lost", "a", reason="HANDLER_FAILED", drained=True)],
        7,
        "a to receive Lost for HANDLER_FAILED, after a drain",
        "a received Lost for HANDLER_FAILED, without a drain",
    ),
    Wrong(
        "a_loss_that_does_not_come",
        [do("resign", "a"), do("expect_lost", "a", reason="RESIGNED")],
        6,
        "a to receive Lost for RESIGNED",
        "a is DRAINING, leads, received Draining for RESIGNED, after 4 s",
    ),
    Wrong(
        "an_event_that_comes_too_early",
        [*FAILED, do("expect_lost", "a", reason="HANDLER_FAILED", not_before={"mark": "failed", "leases": 2})],
        7,
        "a to receive Lost for HANDLER_FAILED not before 2 leases (10 s) after 'failed'",
        "it was 0.",
    ),
    Wrong(
        "an_event_that_comes_too_late",
        [*FAILED, do("expect_lost", "a", reason="HANDLER_FAILED", before={"mark": "failed", "leases": 0})],
        7,
        "a to receive Lost for HANDLER_FAILED before 0 leases (0 s) after 'failed'",
        "it was 0.",
    ),
    Wrong(
        "an_event_that_no_step_expects",
        [*FAILED, do("expect_won", "b")],
        None,
        "no event that no step expects",
        "a received Lost for HANDLER_FAILED, without a drain",
    ),
    Wrong(
        "a_campaign_that_should_be_refused",
        [do("campaign", "c", error="INVALID_NAME")],
        5,
        "the error INVALID_NAME",
        "c campaigns",
    ),
    Wrong(
        "a_campaign_that_is_refused",
        [do("campaign", "d")],
        5,
        "d to campaign",
        "the error INVALID_SETTING: ",
    ),
    Wrong(
        "a_refusal_that_names_something_else",
        [do("campaign", "d", error="INVALID_SETTING", names="metadata")],
        5,
        "the error INVALID_SETTING that names 'metadata'",
        "the error INVALID_SETTING: ",
    ),
    Wrong(
        "a_campaign_of_who_campaigns_already",
        [do("campaign", "a")],
        5,
        "a to be closed before it campaigns again",
        "it is not",
    ),
    Wrong(
        "a_call_without_the_error_that_should_be_there",
        [do("resign", "b"), do("expect_returned", "b", error="NOT_LEADER")],
        6,
        "resign of b to return the error NOT_LEADER",
        "it returned without an error",
    ),
    Wrong(
        "a_call_with_an_error",
        [do("hand_over", "b", to="a"), do("expect_returned", "b")],
        6,
        "hand_over of b to return",
        "the error NOT_LEADER: ",
    ),
    Wrong(
        "a_call_that_does_not_return",
        [do("resign", "a"), do("expect_draining", "a", reason="RESIGNED"), do("expect_returned", "a")],
        7,
        "resign of a to return",
        "it has not, after 4 s",
    ),
    Wrong(
        "an_error_that_is_not_expected",
        [do("hand_over", "b", to="a")],
        None,
        "hand_over of b to return",
        "the error NOT_LEADER: ",
    ),
    Wrong(
        "a_wrong_answer_to_is_leader",
        [do("expect_is_leader", "b", leads=True)],
        5,
        "is_leader of b to be true",
        "false",
    ),
    Wrong(
        "a_leader_that_leads_no_more",
        [
            *FAILED,
            do("expect_lost", "a", reason="HANDLER_FAILED"),
            do("expect_won", "b"),
            do("expect_state", "a", state="WAITING"),
            do("expect_still_leads", "a", leases=1),
        ],
        10,
        "a to keep leading in the same term for 1 leases",
        "a is WAITING, does not lead",
    ),
    Wrong(
        "a_leader_where_none_is_expected",
        [do("expect_nobody_leads", leases=1)],
        5,
        "no candidate to lead 'jobs' for 1 leases",
        "a leads",
    ),
    Wrong(
        "another_state",
        [do("expect_state", "b", state="HOLDING")],
        5,
        "b to be HOLDING",
        "it is WAITING, after 4 s",
    ),
    Wrong(
        "another_leader_seen",
        [do("expect_seen", "b", leader=None)],
        5,
        "b to see None lead",
        "it sees 'a' {}, after 4 s",
    ),
    Wrong(
        "another_leader_in_the_store",
        [do("expect_leader", leader="a", metadata={"address": "here"})],
        5,
        "the store to show 'a' as the leader of 'jobs'",
        "'a' {}, after 4 s",
    ),
    Wrong(
        "another_leader_observed",
        [do("observe", observer="o"), do("expect_observed", observer="o", leader="b")],
        6,
        "o to see 'b' lead",
        "'a' {}, after 4 s",
    ),
    Wrong(
        "warning_that_is_not_described",
        [do("expect_warning", "b", warning="SAME_NAME")],
        5,
        "b to receive the warning SAME_NAME",
        "it received [], after 4 s",
    ),
    Wrong(
        "work_that_is_finished_already",
        [do("finish_work", "a"), do("finish_work", "a")],
        6,
        "a to be at work",
        "it is not",
    ),
    Wrong(
        "work_that_fails_after_its_term",
        [*FAILED, do("expect_lost", "a", reason="HANDLER_FAILED"), do("fail_work", "a")],
        8,
        "a to lead",
        "it does not",
    ),
    Wrong(
        "a_verb_that_does_not_exist",
        [do("persuade", "a")],
        5,
        "a step that this runner knows",
        '{"do":"persuade","candidate":"a"}',
    ),
    Wrong(
        "a_field_that_does_not_exist",
        [do("fail_work", "a", loudly=True)],
        5,
        "the step to be carried out",
        "ValueError: step 5 has loudly, which this runner does not know",
    ),
]


def scenario(steps: list[dict[str, Any]], needs: list[str]) -> Scenario:
    parts = {"a": {"works": True, "options": {"drain_ms": 60000}}, "b": {}, "c": {}, "d": {"options": {"skew_ms": 6000}}}
    text = {"$schema": "", "name": "wrong", "purpose": "", "shows": [], "needs": needs, "lease_ms": 5000}
    return parse(json.dumps({**text, "candidates": parts, "steps": [*PAIR, *steps]}))


PLAYS = [
    pytest.param((scenario(wrong.steps, []), "memory", face, 4.0), wrong, id=f"{wrong.what}-{face.name}")
    for face in (Asyncio(), Threads())
    for wrong in WRONG
]


@pytest.mark.parametrize(("arguments", "wrong"), PLAYS)
def test_wrong(arguments: object, wrong: Wrong, performance: Future[None]) -> None:
    with pytest.raises(Failure) as caught:
        performance.result()
    failure = caught.value
    assert (failure.step, failure.expected) == (wrong.step, wrong.expected), failure
    assert failure.seen.startswith(wrong.seen), failure
    if wrong.seen[-1] not in " .":
        assert failure.seen == wrong.seen, failure


SERVER = (scenario([do("stop_server")], ["server"]), "memory", Asyncio(), 4.0)
REPORT = (scenario([do("expect_is_leader", "b", leads=True)], []), "memory", Asyncio(), 4.0)


@pytest.mark.parametrize("arguments", [SERVER], ids=["server"])
def test_a_scenario_that_the_store_cannot_show_says_what_is_lacking(
    arguments: object, performance: Future[None]
) -> None:
    with pytest.raises(Lacking, match=r"^needs server, which memory lacks$"):
        performance.result()


@pytest.mark.parametrize("arguments", [REPORT], ids=["report"])
def test_a_failure_reads_like_a_report(arguments: object, performance: Future[None]) -> None:
    with pytest.raises(Failure) as caught:
        performance.result()
    lines = str(caught.value).splitlines()
    step = '{"do":"expect_is_leader","candidate":"b","leads":true}'
    assert lines[:4] == [
        f"wrong on memory, by asyncio, failed at step 5: {step}",
        "  expected: is_leader of b to be true",
        "  seen:     false",
        "  history:",
    ]
    assert any(line.endswith("ms  a is LEADING") for line in lines[4:])


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        ('{"$schema": "", "purpose": "", "shows": []}', "the scenario has no 'lease_ms'"),
        ("[]", "the scenario is not an object"),
    ],
)
def test_a_file_that_is_no_scenario_is_refused(text: str, wrong: str) -> None:
    with pytest.raises(ValueError, match=wrong):
        parse(text)


def test_a_setting_that_this_runner_does_not_know_is_refused() -> None:
    text = {"$schema": "", "name": "x", "purpose": "", "shows": [], "lease_ms": 1000, "steps": []}
    with pytest.raises(ValueError, match="'options' of 'a' of 'candidates' of the scenario has mood, which this"):
        parse(json.dumps({**text, "candidates": {"a": {"options": {"mood": "good"}}}}))
