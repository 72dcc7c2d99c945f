//! Scenarios that fail on purpose: the runner must report the step, the expectation and the observation.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "helpers fail their test")]

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use incumbent_conformance::harness::StoreKind;
use incumbent_conformance::runner::{Failure, Library, Setup, play};
use incumbent_conformance::scenario::Scenario;

/// Four steps, after which `a` leads and has been asked to finish its work, and `b` waits.
const PAIR: &str = r#"
    {"do": "campaign", "candidate": "a"}, {"do": "expect_won", "candidate": "a"},
    {"do": "campaign", "candidate": "b"}, {"do": "expect_seen", "candidate": "b", "leader": "a"}"#;

/// Plays `PAIR` and then `steps`, and returns the failure, which must happen.
fn fails(needs: &str, steps: &str) -> Failure {
    let text = format!(
        r#"{{"$schema": "", "name": "wrong", "purpose": "", "shows": [], "needs": [{needs}], "lease_ms": 5000,
            "candidates": {{"a": {{"works": true, "options": {{"drain_ms": 60000}}}}, "b": {{}}, "c": {{}}}},
            "steps": [{PAIR}, {steps}]}}"#
    );
    let scenario = Scenario::parse(&text).unwrap();
    let harness = Path::new(env!("CARGO_BIN_EXE_incumbent-harness")).to_owned();
    let setup =
        Setup { implementation: Arc::new(Library), harness, broker: None, timeout: Duration::from_secs(4) };
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    runtime.block_on(play(&scenario, StoreKind::Memory, &setup)).expect_err("it did not fail")
}

/// Checks which step fails (the first after `PAIR` is the fifth), what it expected, and what the runner saw instead.
#[track_caller]
fn check(steps: &str, step: usize, expected: &str, seen: &str) {
    let failure = fails("", steps);
    assert_eq!((failure.step, &*failure.expected, &*failure.seen), (Some(step), expected, seen), "{failure}");
}

#[test]
fn a_win_that_does_not_come() {
    check(
        r#"{"do": "expect_won", "candidate": "b"}"#,
        5,
        "b to get Won",
        "b is WAITING, does not lead, after 4s",
    );
}

#[test]
fn a_win_of_none_of_those_named() {
    check(
        r#"{"do": "expect_any_won", "candidates": ["a", "b"], "as": "next"}"#,
        5,
        "a or b to get Won",
        "a is LEADING, leads; b is WAITING, does not lead, after 4s",
    );
}

#[test]
fn something_else_than_a_win() {
    check(
        r#"{"do": "resign", "candidate": "a"}, {"do": "expect_won", "candidate": "a"}"#,
        6,
        "a to get Won",
        "a got Draining for RESIGNED",
    );
}

#[test]
fn a_drain_for_another_reason() {
    check(
        r#"{"do": "close", "candidate": "a"}, {"do": "expect_draining", "candidate": "a", "reason": "RESIGNED"}"#,
        6,
        "a to get Draining for RESIGNED",
        "a got Draining for CLOSED",
    );
}

#[test]
fn a_loss_for_another_reason() {
    check(
        r#"{"do": "fail_work", "candidate": "a"}, {"do": "expect_lost", "candidate": "a", "reason": "RESIGNED"}"#,
        6,
        "a to get Lost for RESIGNED",
        "a got Lost for HANDLER_FAILED, without a drain",
    );
}

#[test]
fn a_loss_without_the_drain_that_should_be_there() {
    check(
        r#"{"do": "fail_work", "candidate": "a"},
           {"do": "expect_lost", "candidate": "a", "reason": "HANDLER_FAILED", "drained": true}"#,
        6,
        "a to get Lost for HANDLER_FAILED, after a drain",
        "a got Lost for HANDLER_FAILED, without a drain",
    );
}

#[test]
fn a_loss_that_does_not_come() {
    check(
        r#"{"do": "resign", "candidate": "a"}, {"do": "expect_lost", "candidate": "a", "reason": "RESIGNED"}"#,
        6,
        "a to get Lost for RESIGNED",
        "a is DRAINING, leads, got Draining for RESIGNED, after 4s",
    );
}

#[test]
fn an_event_that_comes_too_early() {
    let failure = fails(
        "",
        r#"{"do": "mark", "mark": "failed"}, {"do": "fail_work", "candidate": "a"},
           {"do": "expect_lost", "candidate": "a", "reason": "HANDLER_FAILED",
            "not_before": {"mark": "failed", "leases": 2}}"#,
    );
    assert_eq!(failure.step, Some(7), "{failure}");
    assert_eq!(
        failure.expected,
        r#"a to get Lost for HANDLER_FAILED not before 2 leases (10s) after "failed""#
    );
    assert!(failure.seen.starts_with("it was ") && failure.seen.ends_with(r#" after "failed""#), "{failure}");
}

#[test]
fn an_event_that_comes_too_late() {
    let failure = fails(
        "",
        r#"{"do": "mark", "mark": "failed"}, {"do": "fail_work", "candidate": "a"},
           {"do": "expect_lost", "candidate": "a", "reason": "HANDLER_FAILED",
            "before": {"mark": "failed", "leases": 0}}"#,
    );
    assert_eq!(failure.step, Some(7), "{failure}");
    assert_eq!(failure.expected, r#"a to get Lost for HANDLER_FAILED before 0 leases (0ns) after "failed""#);
}

#[test]
fn an_event_that_no_step_expects() {
    let failure =
        fails("", r#"{"do": "fail_work", "candidate": "a"}, {"do": "expect_won", "candidate": "b"}"#);
    assert_eq!((failure.step, &*failure.verb), (None, "after the last step"), "{failure}");
    assert_eq!(failure.expected, "no event that no step expects");
    assert_eq!(failure.seen, "a got Lost for HANDLER_FAILED, without a drain");
}

#[test]
fn a_campaign_that_should_be_refused() {
    check(
        r#"{"do": "campaign", "candidate": "c", "error": "INVALID_NAME"}"#,
        5,
        "the error INVALID_NAME",
        "c campaigns",
    );
}

#[test]
fn a_campaign_of_who_campaigns_already() {
    check(
        r#"{"do": "campaign", "candidate": "a"}"#,
        5,
        "a to be closed before it campaigns again",
        "it is not",
    );
}

#[test]
fn a_call_without_the_error_that_should_be_there() {
    check(
        r#"{"do": "resign", "candidate": "b"},
           {"do": "expect_returned", "candidate": "b", "error": "NOT_LEADER"}"#,
        6,
        "resign of b to return the error NOT_LEADER",
        "it returned without an error",
    );
}

#[test]
fn a_call_with_an_error() {
    let failure = fails(
        "",
        r#"{"do": "hand_over", "candidate": "b", "to": "a"}, {"do": "expect_returned", "candidate": "b"}"#,
    );
    assert_eq!((failure.step, &*failure.expected), (Some(6), "hand_over of b to return"), "{failure}");
    assert!(failure.seen.starts_with("the error NOT_LEADER: "), "{failure}");
}

#[test]
fn a_call_that_does_not_return() {
    check(
        r#"{"do": "resign", "candidate": "a"}, {"do": "expect_draining", "candidate": "a", "reason": "RESIGNED"},
           {"do": "expect_returned", "candidate": "a"}"#,
        7,
        "resign of a to return",
        "it has not, after 4s",
    );
}

#[test]
fn an_error_that_was_not_expected() {
    let failure = fails("", r#"{"do": "hand_over", "candidate": "b", "to": "a"}"#);
    assert_eq!((failure.step, &*failure.expected), (None, "hand_over of b to return"), "{failure}");
}

#[test]
fn a_wrong_answer_to_is_leader() {
    check(
        r#"{"do": "expect_is_leader", "candidate": "b", "leads": true}"#,
        5,
        "is_leader of b to be true",
        "false",
    );
}

#[test]
fn a_leader_that_does_not_keep_leading() {
    check(
        r#"{"do": "fail_work", "candidate": "a"},
           {"do": "expect_lost", "candidate": "a", "reason": "HANDLER_FAILED"}, {"do": "expect_won", "candidate": "b"},
           {"do": "expect_state", "candidate": "a", "state": "WAITING"},
           {"do": "expect_still_leads", "candidate": "a", "leases": 1}"#,
        9,
        "a to keep leading in the same term for 1 leases",
        "a is WAITING, does not lead",
    );
}

#[test]
fn a_leader_that_should_not_lead() {
    check(
        r#"{"do": "expect_nobody_leads", "leases": 1}"#,
        5,
        r#"no candidate to lead "jobs" for 1 leases"#,
        "a leads",
    );
}

#[test]
fn another_state() {
    check(
        r#"{"do": "expect_state", "candidate": "b", "state": "HOLDING"}"#,
        5,
        "b to be HOLDING",
        "it is WAITING, after 4s",
    );
}

#[test]
fn another_leader_seen() {
    check(
        r#"{"do": "expect_seen", "candidate": "b", "leader": null}"#,
        5,
        r#"b to see "no candidate" as the leader"#,
        r#"it sees "a" [], after 4s"#,
    );
}

#[test]
fn another_leader_in_the_store() {
    check(
        r#"{"do": "expect_leader", "leader": "a", "metadata": {"address": "here"}}"#,
        5,
        r#"the store to show "a" as the leader of "jobs""#,
        r#""a" [], after 4s"#,
    );
}

#[test]
fn another_leader_observed() {
    check(
        r#"{"do": "observe", "observer": "o"}, {"do": "expect_observed", "observer": "o", "leader": "b"}"#,
        6,
        r#"o to see "b" as the leader"#,
        r#""a" [], after 4s"#,
    );
}

#[test]
fn a_warning_that_is_not_reported() {
    check(
        r#"{"do": "expect_warning", "candidate": "b", "warning": "SAME_NAME"}"#,
        5,
        "b to get the warning SAME_NAME",
        "it got [], after 4s",
    );
}

#[test]
fn work_that_is_finished_already() {
    check(
        r#"{"do": "finish_work", "candidate": "a"}, {"do": "finish_work", "candidate": "a"}"#,
        6,
        "a to be at work",
        "it is not",
    );
}

#[test]
fn work_that_fails_after_its_term() {
    check(
        r#"{"do": "fail_work", "candidate": "a"},
           {"do": "expect_lost", "candidate": "a", "reason": "HANDLER_FAILED"}, {"do": "fail_work", "candidate": "a"}"#,
        7,
        "a to lead",
        "it does not",
    );
}

#[test]
fn a_scenario_that_the_store_cannot_show() {
    let failure = fails(r#""server""#, r#"{"do": "stop_server"}"#);
    assert_eq!((failure.step, &*failure.verb), (None, "before the first step"));
    assert_eq!(failure.seen, "the scenario needs server, which memory lacks");
}

#[test]
fn a_failure_reads_like_a_report() {
    let failure = fails("", r#"{"do": "expect_is_leader", "candidate": "b", "leads": true}"#).to_string();
    let mut lines = failure.lines();
    let head =
        r#"wrong on memory failed at step 5 of 5: {"do":"expect_is_leader","candidate":"b","leads":true}"#;
    assert_eq!(lines.next(), Some(head));
    assert_eq!(lines.next(), Some("  expected: is_leader of b to be true"));
    assert_eq!(lines.next(), Some("  seen:     false"));
    assert_eq!(lines.next(), Some("  history:"));
    assert!(lines.any(|line| line.ends_with("ms  a is LEADING")), "{failure}");
}
