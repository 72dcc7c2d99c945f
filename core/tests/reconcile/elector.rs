//! What elector promised of its reconciliation, and what it got wrong.

use incumbent_core::reconcile::{Message, State};

use crate::harness::*;

#[test]
fn on_leader_the_begin_handler_runs_and_the_state_is_leader() {
    let mut bench = Bench::new();
    assert_eq!(bench.says(Message::Leader), ["run begin 1"]);
    bench.succeeds(1);
    assert_eq!(bench.reconciler.state(), State::Leader);
}

#[test]
fn on_notleader_a_leaders_end_handler_runs_and_the_state_is_notleader() {
    let mut bench = Bench::leader();
    assert_eq!(bench.says(Message::NotLeader), ["run end 2"]);
    bench.succeeds(2);
    assert_eq!(bench.reconciler.state(), State::NotLeader);
}

#[test]
fn on_error_outside_of_leadership_the_error_handler_runs_and_the_state_is_notleader_after_it() {
    let mut bench = Bench::new();
    assert_eq!(bench.says(Message::Error), ["stand down", "state ERROR", "run error 1"]);
    bench.succeeds(1);
    bench.pass(secs(30));
    assert_eq!(bench.reconciler.state(), State::NotLeader);
}

#[test]
fn on_error_a_leaders_end_and_error_handlers_run_and_the_state_is_notleader_after_them() {
    let mut bench = Bench::leader();
    assert_eq!(bench.says(Message::Error), ["stand down", "state ERROR", "run end 2"]);
    assert_eq!(bench.succeeds(2), ["relinquish", "run error 3"]);
    bench.succeeds(3);
    bench.pass(secs(30));
    assert_eq!(bench.reconciler.state(), State::NotLeader);
}

#[test]
fn a_failing_begin_does_not_deadlock() {
    let mut bench = Bench::new();
    bench.says(Message::Leader);
    bench.fails(1);
    bench.succeeds(2);
    bench.pass(secs(30));
    assert_eq!(bench.says(Message::Leader), ["run begin 3"]);
}

#[test]
fn a_failing_end_does_not_deadlock() {
    let mut bench = Bench::mending();
    bench.pass(secs(5));
    bench.succeeds(3);
    bench.succeeds(4);
    bench.pass(secs(30));
    assert_eq!(bench.says(Message::Leader), ["run begin 5"]);
}

#[test]
fn a_failing_error_handler_is_run_again_and_the_candidacy_resumes_once_it_succeeds() {
    let mut bench = Bench::new();
    bench.says(Message::Error);
    bench.fails(1);
    bench.pass(secs(30));
    bench.succeeds(2);
    bench.pass(secs(30));
    assert_eq!(bench.says(Message::Leader), ["run begin 3"]);
}

#[test]
fn an_error_before_anything_else_was_said_is_handled_too() {
    let mut bench = Bench::new();
    assert_eq!(bench.says(Message::Error).last().map(String::as_str), Some("run error 1"));
}
