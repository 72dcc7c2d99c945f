//! Closing.

use incumbent_core::reconcile::{Input, Message, State};

use crate::harness::*;

#[test]
fn a_candidate_that_does_not_lead_closes_at_once() {
    let mut bench = Bench::new();
    assert_eq!(bench.give(Input::Close), ["state CLOSED"]);
    assert_eq!(bench.says(Message::Leader), NOTHING);
    assert_eq!(bench.give(Input::Close), NOTHING);
}

#[test]
fn a_leader_ends_its_work_first() {
    let mut bench = Bench::leader();
    assert_eq!(bench.give(Input::Close), ["run end 2"]);
    assert_eq!(bench.succeeds(2), ["relinquish", "state NOTLEADER", "state CLOSED"]);
}

#[test]
fn a_begin_that_runs_is_stopped_and_ended() {
    let mut bench = Bench::new();
    bench.says(Message::Leader);
    assert_eq!(bench.give(Input::Close), ["stop 1"]);
    assert_eq!(bench.fails(1), ["state LEADER", "run end 2"]);
    assert_eq!(bench.succeeds(2), ["relinquish", "state NOTLEADER", "state CLOSED"]);
}

#[test]
fn a_machine_that_closes_does_not_begin_again() {
    let mut bench = Bench::leader();
    bench.says(Message::NotLeader);
    bench.says(Message::Leader);
    assert_eq!(bench.give(Input::Close), NOTHING);
    assert_eq!(bench.says(Message::Leader), NOTHING);
    assert_eq!(bench.succeeds(2), ["relinquish", "state NOTLEADER", "state CLOSED"]);
}

#[test]
fn a_repeated_message_while_the_last_end_runs_does_not_keep_it_open() {
    for message in Message::ALL {
        let mut bench = Bench::leader();
        bench.give(Input::Close);
        assert_eq!(bench.says(message), NOTHING);
        bench.succeeds(2);
        assert_eq!(bench.reconciler.state(), State::Closed, "{message}");
    }
}

#[test]
fn an_end_that_fails_is_run_again_before_it_closes() {
    let mut bench = Bench::leader();
    bench.give(Input::Close);
    assert_eq!(bench.fails(2), ["stand down", "state ERROR", "end failed", "run end 3"]);
    assert_eq!(bench.succeeds(3), ["relinquish", "state CLOSED"]);
}

#[test]
fn an_end_that_waits_to_be_run_again_is_still_run() {
    let mut bench = Bench::retrying();
    assert_eq!(bench.give(Input::Close), NOTHING);
    assert_eq!(bench.pass(secs(5)), ["run end 4"]);
    assert_eq!(bench.succeeds(4), ["relinquish", "state CLOSED"]);
}

#[test]
fn an_error_handler_that_runs_is_waited_for_and_nothing_cools_down() {
    for succeeded in [true, false] {
        let mut bench = Bench::new();
        bench.says(Message::Error);
        assert_eq!(bench.give(Input::Close), NOTHING);
        let reported = if succeeded { bench.succeeds(1) } else { bench.fails(1) };
        assert_eq!(reported.last().map(String::as_str), Some("state CLOSED"));
    }
}

#[test]
fn a_cool_down_is_cut_short() {
    let mut bench = Bench::new();
    bench.says(Message::Error);
    bench.succeeds(1);
    assert_eq!(bench.give(Input::Close), ["state CLOSED"]);
    assert_eq!(bench.reconciler.state(), State::Closed);
    assert_eq!(bench.wake(), None);
}

#[test]
fn an_error_handler_that_failed_is_not_run_again() {
    let mut bench = Bench::new();
    bench.says(Message::Error);
    bench.fails(1);
    assert_eq!(bench.give(Input::Close), ["state CLOSED"]);
}
