//! Work and the lease.

use incumbent_core::reconcile::{Input, Message, Timer};

use crate::harness::*;

/// Creates a leader whose lease lasts ten more seconds.
fn leased() -> Bench {
    let mut bench = Bench::leader();
    bench.lease(secs(10));
    bench
}

#[test]
fn an_end_that_returns_while_the_lease_is_held_is_in_time() {
    let mut bench = leased();
    bench.says(Message::NotLeader);
    assert_eq!(bench.pass(secs(9)), NOTHING);
    assert_eq!(bench.succeeds(2), ["relinquish", "state NOTLEADER"]);
    assert_eq!(bench.pass(secs(3600)), NOTHING);
}

#[test]
fn an_end_that_outlasts_the_lease_is_reported_while_it_runs_and_once() {
    let mut bench = leased();
    bench.says(Message::NotLeader);
    assert_eq!(bench.wake(), Some((Timer::Lease, secs(10))));
    assert_eq!(bench.pass(secs(10)), ["overdue since 3610s"]);
    assert_eq!(bench.pass(secs(10)), NOTHING);
    assert_eq!(bench.succeeds(2), ["late by 10s", "relinquish", "state NOTLEADER"]);
}

#[test]
fn renewals_while_end_runs_keep_it_in_time() {
    let mut bench = leased();
    bench.says(Message::NotLeader);
    for _ in 0..10 {
        assert_eq!(bench.pass(secs(9)), NOTHING);
        assert_eq!(bench.lease(secs(10)), NOTHING);
    }
    assert_eq!(bench.succeeds(2), ["relinquish", "state NOTLEADER"]);
}

#[test]
fn the_clock_ends_the_work_of_a_leader_whose_loss_was_not_reported() {
    let mut bench = leased();
    assert_eq!(bench.wake(), Some((Timer::Lease, secs(10))));
    assert_eq!(bench.pass(secs(11)), ["run end 2", "overdue since 3610s"]);
    assert_eq!(bench.says(Message::NotLeader), NOTHING);
    assert_eq!(bench.succeeds(2), ["late by 1s", "relinquish", "state NOTLEADER"]);
}

#[test]
fn a_begin_is_stopped_when_the_lease_is_over() {
    let mut bench = Bench::new();
    bench.lease(secs(10));
    bench.says(Message::Leader);
    assert_eq!(bench.pass(secs(10)), ["stop 1", "overdue since 3610s"]);
    assert_eq!(bench.fails(1), ["state LEADER", "run end 2"]);
}

#[test]
fn a_key_that_was_acquired_leaves_no_time() {
    let mut bench = leased();
    assert_eq!(bench.give(Input::Lease { until: bench.now }), ["run end 2", "overdue since 3600s"]);
}

#[test]
fn an_end_that_keeps_failing_is_overdue_between_its_runs_too() {
    let mut bench = leased();
    bench.says(Message::NotLeader);
    bench.pass(secs(8));
    bench.fails(2);
    bench.fails(3);
    assert_eq!(bench.wake(), Some((Timer::Lease, secs(2))));
    assert_eq!(bench.pass(secs(2)), ["overdue since 3610s"]);
    assert_eq!(bench.wake(), Some((Timer::Retry, secs(3))));
    assert_eq!(bench.pass(secs(3)), ["run end 4"]);
    assert_eq!(bench.succeeds(4), ["late by 3s", "relinquish", "run error 5"]);
}

#[test]
fn giving_up_states_for_how_long_there_was_work_without_a_lease() {
    let mut bench = leased();
    bench.says(Message::NotLeader);
    bench.fails(2);
    for run in 3..14 {
        bench.fails(run);
        bench.pass(secs(5));
    }
    let reported = bench.fails(14);
    let state = "by now for 45s without a lease: another candidate may lead at the same time";
    assert!(reported.last().is_some_and(|gave_up| gave_up.contains(state)), "{reported:?}");
}

#[test]
fn the_next_term_is_judged_by_its_own_lease() {
    let mut bench = leased();
    bench.says(Message::NotLeader);
    bench.pass(secs(12));
    bench.lease(secs(10));
    bench.says(Message::Leader);
    assert_eq!(bench.succeeds(2), ["late by 2s", "relinquish", "state NOTLEADER", "run begin 3"]);
    bench.succeeds(3);
    assert_eq!(bench.wake(), Some((Timer::Lease, secs(10))));
}

#[test]
fn without_a_lease_nothing_is_ever_overdue() {
    let mut bench = Bench::leader();
    bench.says(Message::NotLeader);
    assert_eq!(bench.wake(), None);
    assert_eq!(bench.pass(secs(1_000_000)), NOTHING);
}

#[test]
fn a_candidate_without_work_is_never_overdue() {
    let mut bench = Bench::new();
    bench.lease(secs(10));
    assert_eq!(bench.wake(), None);
    assert_eq!(bench.pass(secs(11)), NOTHING);
}
