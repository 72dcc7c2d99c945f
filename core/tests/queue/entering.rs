//! Entering the queue.

use incumbent_core::campaign::State;
use incumbent_core::queue::{Failure, Input, Outcome, Timer};
use incumbent_core::store::FaultKind;
use incumbent_core::{Revision, campaign::Settings};

use crate::harness::*;

#[test]
fn a_lease_of_its_own_and_the_connections_lead_to_one_transaction() {
    let mut bench = Bench::new();
    assert_eq!(bench.give(Input::Campaign), ["grant A1", "state ACQUIRING"]);
    assert_eq!(bench.granted(1), ["share"]);
    assert_eq!(bench.shared(B), ["enter 1 A1 B"]);
    assert_eq!(bench.applied(1, R), ["keep alive A1 B", "state WAITING"]);
}

#[test]
fn a_splay_comes_first() {
    let mut bench = Bench::with(Settings { splay: Some(secs(1)), ..settings() });
    assert_eq!(bench.give(Input::Campaign), ["state SPLAYING"]);
    assert_eq!(bench.next(), ["grant A1", "state ACQUIRING"]);
}

#[test]
fn a_grant_of_unknown_outcome_is_dropped_and_another_number_drawn() {
    let mut bench = Bench::new();
    bench.give(Input::Campaign);
    assert_eq!(bench.not_granted(1, Failure::Unknown), ["reconnect", "state WAITING"]);
    assert_eq!(bench.next(), ["grant A2", "state ACQUIRING"]);
    assert_eq!(bench.granted(1), NOTHING, "the first, late");
    assert_eq!(bench.granted(2), ["share"]);
}

#[test]
fn a_grant_without_an_answer_is_dropped_at_its_limit() {
    let mut bench = Bench::new();
    bench.give(Input::Campaign);
    assert_eq!(bench.wake(), Some((Timer::Write, secs(2))));
    assert_eq!(bench.next(), ["reconnect", "state WAITING"]);
}

#[test]
fn a_number_that_is_taken_is_drawn_again_at_once() {
    let mut bench = Bench::new();
    bench.give(Input::Campaign);
    assert_eq!(bench.not_granted(1, Failure::LeaseExists), ["grant A2"]);
}

#[test]
fn a_transaction_of_unknown_outcome_is_repeated_under_the_same_lease() {
    let mut bench = Bench::entering();
    assert_eq!(bench.failed(1, Failure::Unknown), ["reconnect", "state WAITING"]);
    assert_eq!(bench.next(), ["enter 2 A1 B", "state ACQUIRING"]);
    // The first attempt was applied, and its place shows the revision.
    let found = Outcome::Refused { created: Some(Revision(R)) };
    assert_eq!(bench.wrote(2, found), ["keep alive A1 B", "state WAITING"]);
    assert_eq!(bench.prove(|snapshot| snapshot), ["leader me", "won 10", "state LEADING"]);
}

#[test]
fn a_late_answer_to_an_attempt_that_was_given_up_changes_nothing() {
    let mut bench = Bench::entering();
    bench.failed(1, Failure::Unknown);
    bench.next();
    assert_eq!(bench.wrote(1, Outcome::Applied { revision: Revision(R) }), NOTHING);
    assert_eq!(bench.campaign.state(), State::Acquiring);
}

#[test]
fn a_transaction_that_names_a_dead_lease_is_sent_once_more_with_another_companion_and_then_all_is_new() {
    let mut bench = Bench::entering();
    // It is the companion's lease that is gone: the place's lease cannot have run out yet.
    assert_eq!(bench.failed(1, Failure::LeaseGone), ["share, not B"]);
    assert_eq!(bench.shared(C), ["enter 2 A1 C"]);
    assert_eq!(bench.failed(2, Failure::LeaseGone), ["revoke A1", "state RELEASING"]);
    assert_eq!(bench.revoked(1), ["grant A2", "state ACQUIRING"]);
    assert_eq!(bench.granted(2), ["enter 3 A2 C"]);
}

#[test]
fn a_lease_that_may_have_run_out_before_its_transaction_was_sent_says_nothing_of_that_of_the_companion() {
    let mut bench = Bench::entering();
    bench.sleep(T);
    assert_eq!(bench.failed(1, Failure::LeaseGone), ["revoke A1", "state RELEASING"]);
    assert_eq!(bench.revoked(1), ["grant A2", "state ACQUIRING"]);
    assert_eq!(bench.granted(2), ["enter 2 A2 B"]);
}

#[test]
fn half_of_an_earlier_attempt_is_no_place() {
    let mut bench = Bench::entering();
    bench.failed(1, Failure::Unknown);
    bench.next();
    // An operator deleted the place meanwhile, but the companion still exists.
    assert_eq!(bench.wrote(2, Outcome::Refused { created: None }), ["revoke A1", "state RELEASING"]);
    assert_eq!(bench.revoked(1), ["leave 3 A1"]);
    assert_eq!(bench.removed(3), ["grant A2", "state ACQUIRING"]);
}

#[test]
fn a_full_store_is_reported_and_the_candidate_waits() {
    let mut bench = Bench::entering();
    assert_eq!(bench.failed(1, fault(FaultKind::Broken)), ["warning Broken", "state WAITING"]);
    assert_eq!(bench.next(), ["enter 2 A1 B", "state ACQUIRING"]);
    assert_eq!(bench.failed(2, fault(FaultKind::Broken)), ["state WAITING"], "once");
}

#[test]
fn a_store_that_was_not_asked_or_is_busy_is_asked_again() {
    for failure in [Failure::NotSent, Failure::Busy, Failure::TooLarge] {
        let mut bench = Bench::entering();
        assert_eq!(bench.failed(1, failure), ["state WAITING"]);
        assert_eq!(bench.next(), ["enter 2 A1 B", "state ACQUIRING"]);
    }
}
