//! Winning, and *begin*.

use incumbent_core::reconcile::{Message, State};

use crate::harness::*;

#[test]
fn a_win_runs_begin_and_only_its_success_makes_a_leader() {
    let mut bench = Bench::new();
    assert_eq!(bench.says(Message::Leader), ["run begin 1"]);
    assert_eq!(bench.reconciler.state(), State::NotLeader);
    assert_eq!(bench.succeeds(1), ["state LEADER"]);
    assert_eq!(bench.reconciler.state(), State::Leader);
}

#[test]
fn a_candidate_that_leads_already_begins_nothing_again() {
    let mut bench = Bench::leader();
    assert_eq!(bench.says(Message::Leader), NOTHING);
    assert_eq!(bench.reconciler.state(), State::Leader);
}

#[test]
fn a_win_reported_again_while_begin_runs_begins_nothing_again() {
    let mut bench = Bench::new();
    bench.says(Message::Leader);
    assert_eq!(bench.says(Message::Leader), NOTHING);
    assert_eq!(bench.succeeds(1), ["state LEADER"]);
}

#[test]
fn a_begin_that_fails_is_an_error_in_which_what_it_did_is_ended_before_the_election_is_given_up() {
    let mut bench = Bench::new();
    bench.says(Message::Leader);
    assert_eq!(bench.fails(1), ["begin failed", "stand down", "state ERROR", "run end 2"]);
    assert_eq!(bench.reconciler.state(), State::Error);
    assert_eq!(bench.succeeds(2), ["relinquish", "run error 3"]);
}

#[test]
fn an_end_that_fails_after_a_begin_that_failed_is_run_again() {
    let mut bench = Bench::new();
    bench.says(Message::Leader);
    bench.fails(1);
    assert_eq!(bench.fails(2), ["end failed"]);
    assert_eq!(bench.pass(secs(5)), ["run end 3"]);
    assert_eq!(bench.succeeds(3), ["relinquish", "run error 4"]);
}

#[test]
fn a_loss_while_begin_runs_stops_it_and_what_it_did_is_ended_though_it_failed() {
    let mut bench = Bench::new();
    bench.says(Message::Leader);
    assert_eq!(bench.says(Message::NotLeader), ["stop 1"]);
    assert_eq!(bench.fails(1), ["state LEADER", "run end 2"]);
    assert_eq!(bench.succeeds(2), ["relinquish", "state NOTLEADER"]);
}

#[test]
fn a_begin_that_cannot_be_stopped_is_waited_for_and_ended() {
    let mut bench = Bench::new();
    bench.says(Message::Leader);
    assert_eq!(bench.says(Message::NotLeader), ["stop 1"]);
    assert_eq!(bench.pass(secs(3600)), NOTHING);
    assert_eq!(bench.succeeds(1), ["state LEADER", "run end 2"]);
}

#[test]
fn a_begin_is_asked_to_stop_once() {
    let mut bench = Bench::new();
    bench.says(Message::Leader);
    assert_eq!(bench.says(Message::NotLeader), ["stop 1"]);
    assert_eq!(bench.says(Message::NotLeader), NOTHING);
    assert_eq!(bench.says(Message::Error), NOTHING);
}

#[test]
fn lost_and_won_again_while_begin_runs_is_a_stop_that_came_to_nothing() {
    let mut bench = Bench::new();
    bench.says(Message::Leader);
    assert_eq!(bench.says(Message::NotLeader), ["stop 1"]);
    // This is a new term. Its *begin* has not run.
    assert_eq!(bench.says(Message::Leader), NOTHING);
    assert_eq!(bench.fails(1), ["state LEADER", "run end 2"]);
    assert_eq!(bench.succeeds(2), ["relinquish", "state NOTLEADER", "run begin 3"]);
}

#[test]
fn an_error_while_begin_runs_stops_it_and_ends_what_it_did() {
    let mut bench = Bench::new();
    bench.says(Message::Leader);
    assert_eq!(bench.says(Message::Error), ["stop 1"]);
    assert_eq!(bench.succeeds(1), ["state LEADER", "stand down", "state ERROR", "run end 2"]);
    assert_eq!(bench.succeeds(2), ["relinquish", "run error 3"]);
}

#[test]
fn an_error_that_waits_is_not_forgotten_for_what_comes_later() {
    let mut bench = Bench::new();
    bench.says(Message::Leader);
    bench.says(Message::Error);
    bench.says(Message::NotLeader);
    bench.says(Message::Leader);
    assert_eq!(bench.succeeds(1), ["state LEADER", "stand down", "state ERROR", "run end 2"]);
}
