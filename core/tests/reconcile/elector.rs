//! The promises of elector's reconciliation, and its mistakes.
//!
//! Elector's own tests, and the tests here that assert the same:
//!
//! | elector | here |
//! |---|---|
//! | `TestElectorBeginLeaderHandlerExecution` | [`on_leader_the_begin_handler_runs_and_the_state_is_leader`] |
//! | `TestElectorNotLeaderHandlerExecution` | [`on_notleader_a_leaders_end_handler_runs_and_the_state_is_notleader`] |
//! | `TestElectorErrorHandlerFromNotLeaderExecution` | [`on_error_outside_of_leadership_the_error_handler_runs_and_the_state_is_notleader_after_it`] |
//! | `TestElectorErrorHandlerFromLeaderExecution` | [`on_error_a_leaders_end_and_error_handlers_run_and_the_state_is_notleader_after_them`] |
//! | `TestElectorFailsWithInitializedUpdateChan` | [`a_machine_that_has_ended_cannot_be_started_again`]; in a program a reconciler is a value of its own |
//! | `TestTimeoutHandler` | [`the_candidacy_does_not_resume_before_the_cool_down_is_over`] |

use core::time::Duration;

use incumbent_core::reconcile::{Input, Message, Settings, State};

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
    bench.succeeds(3);
    bench.pass(secs(30));
    assert_eq!(bench.says(Message::Leader), ["run begin 4"]);
}

#[test]
fn a_failing_end_does_not_deadlock() {
    let mut bench = Bench::mending();
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

#[test]
fn a_machine_that_has_ended_cannot_be_started_again() {
    let mut bench = Bench::new();
    assert_eq!(bench.give(Input::Close), ["state CLOSED"]);
    for message in Message::ALL {
        assert_eq!(bench.says(message), NOTHING);
    }
    assert_eq!(bench.reconciler.state(), State::Closed);
}

#[test]
fn the_candidacy_does_not_resume_before_the_cool_down_is_over() {
    let mut bench = Bench::with(Settings { cool_down: secs(2), ..Settings::default() });
    bench.says(Message::Error);
    bench.succeeds(1);
    assert_eq!(bench.pass(secs(2) - Duration::from_nanos(1)), NOTHING);
    assert_eq!(bench.reconciler.state(), State::Error);
    assert_eq!(bench.pass(Duration::from_nanos(1)), ["state NOTLEADER", "resumed, 0 dropped", "stand up"]);
}

#[test]
fn an_error_of_a_leader_has_its_end_run_twelve_times_five_seconds_apart() {
    let mut bench = Bench::leader();
    assert_eq!(bench.says(Message::Error), ["stand down", "state ERROR", "run end 2"]);
    for run in 2..13 {
        assert_eq!(bench.fails(run), ["end failed"]);
        assert_eq!(bench.pass(secs(5) - Duration::from_nanos(1)), NOTHING);
        assert_eq!(bench.pass(Duration::from_nanos(1)), [format!("run end {}", run + 1)]);
    }
    let [failed, gave_up] = &bench.fails(13)[..] else { panic!("two outputs") };
    assert_eq!(failed, "end failed");
    assert!(gave_up.starts_with("give up: the end handler failed 12 times, "), "{gave_up}");
}

#[test]
fn an_end_that_fails_leads_to_an_error_in_which_it_is_run_twelve_times_more() {
    let mut bench = Bench::leader();
    bench.says(Message::NotLeader);
    assert_eq!(bench.fails(2), ["stand down", "state ERROR", "end failed", "run end 3"]);
    for run in 3..14 {
        assert_eq!(bench.fails(run), ["end failed"]);
        assert_eq!(bench.pass(secs(5)), [format!("run end {}", run + 1)]);
    }
    let [failed, gave_up] = &bench.fails(14)[..] else { panic!("two outputs") };
    assert_eq!(failed, "end failed");
    assert!(gave_up.starts_with("give up: the end handler failed 13 times, "), "{gave_up}");
}
