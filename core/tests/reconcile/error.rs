//! *Error*, the cool-down, and messages that arrive during them.

use incumbent_core::reconcile::{Message, Settings, State, Timer};

use crate::harness::*;

/// Creates a reconciler whose *error* is running, as run 1.
fn handling() -> Bench {
    let mut bench = Bench::new();
    assert_eq!(bench.says(Message::Error), ["stand down", "state ERROR", "run error 1"]);
    bench
}

#[test]
fn a_leader_ends_its_work_before_the_error_is_handled() {
    let mut bench = Bench::leader();
    assert_eq!(bench.says(Message::Error), ["stand down", "state ERROR", "run end 2"]);
    assert_eq!(bench.succeeds(2), ["relinquish", "run error 3"]);
}

#[test]
fn in_an_error_a_leaders_end_is_run_once_even_without_retries() {
    let mut bench = Bench::leader_with(Settings { retries: 0, ..Settings::default() });
    assert_eq!(bench.says(Message::Error), ["stand down", "state ERROR", "run end 2"]);
    let reported = bench.fails(2);
    assert_eq!(reported[0], "end failed");
    assert!(reported[1].starts_with("give up: the end handler failed 1 time, "), "{reported:?}");
    assert_eq!((reported.len(), bench.reconciler.state()), (2, State::Closed));
}

#[test]
fn after_the_error_handler_it_cools_down_and_then_the_candidacy_resumes() {
    let mut bench = handling();
    assert_eq!(bench.succeeds(1), NOTHING);
    assert_eq!(bench.wake(), Some((Timer::CoolDown, secs(30))));
    assert_eq!(bench.pass(secs(29)), NOTHING);
    assert_eq!(bench.pass(secs(1)), ["state NOTLEADER", "resumed, 0 dropped", "stand up"]);
    assert_eq!(bench.says(Message::Leader), ["run begin 2"]);
}

#[test]
fn what_comes_during_an_error_is_dropped_and_counted() {
    let mut bench = handling();
    assert_eq!(bench.says(Message::Leader), NOTHING);
    bench.succeeds(1);
    assert_eq!(bench.says(Message::NotLeader), NOTHING);
    assert_eq!(bench.says(Message::Error), NOTHING);
    assert_eq!(bench.pass(secs(30)), ["state NOTLEADER", "resumed, 3 dropped", "stand up"]);
}

#[test]
fn what_waited_for_a_handler_that_failed_is_dropped_and_counted() {
    let mut bench = Bench::leader();
    bench.says(Message::NotLeader);
    bench.says(Message::Leader);
    bench.fails(2);
    bench.succeeds(3);
    bench.succeeds(4);
    assert_eq!(bench.pass(secs(30)), ["state NOTLEADER", "resumed, 1 dropped", "stand up"]);
}

#[test]
fn every_error_counts_again() {
    let mut bench = handling();
    bench.says(Message::Leader);
    bench.succeeds(1);
    assert_eq!(bench.pass(secs(30)), ["state NOTLEADER", "resumed, 1 dropped", "stand up"]);
    bench.says(Message::Error);
    bench.succeeds(2);
    assert_eq!(bench.pass(secs(30)), ["state NOTLEADER", "resumed, 0 dropped", "stand up"]);
}

#[test]
fn an_error_handler_that_fails_is_run_again_after_the_cool_down() {
    let mut bench = handling();
    assert_eq!(bench.fails(1), ["error failed"]);
    assert_eq!(bench.wake(), Some((Timer::Again, secs(30))));
    assert_eq!(bench.pass(secs(30)), ["run error 2"]);
    assert_eq!(bench.succeeds(2), NOTHING);
    assert_eq!(bench.pass(secs(30)), ["state NOTLEADER", "resumed, 0 dropped", "stand up"]);
}

#[test]
fn an_error_handler_that_fails_at_once_is_run_once_a_second_at_most() {
    let mut bench = Bench::with(Settings { cool_down: secs(0), ..Settings::default() });
    bench.says(Message::Error);
    bench.fails(1);
    assert_eq!(bench.wake(), Some((Timer::Again, secs(1))));
}

#[test]
fn a_cool_down_of_zero_is_none() {
    let mut bench = Bench::with(Settings { cool_down: secs(0), ..Settings::default() });
    bench.says(Message::Error);
    assert_eq!(bench.succeeds(1), ["state NOTLEADER", "resumed, 0 dropped", "stand up"]);
}
