//! Leaving, and what is removed.

use incumbent_core::campaign::{Backoff, Settings, State};
use incumbent_core::queue::{Answer, Failure, Input, Outcome, Timer};
use incumbent_core::store::FaultKind;

use incumbent_core::Revision;
use incumbent_core::record::Attempt;

use crate::harness::*;

#[test]
fn a_release_lets_the_successor_read_before_the_lease_is_revoked() {
    let mut bench = Bench::leader();
    bench.give(Input::Resign);
    assert_eq!(bench.give(Input::Drained), ["lost 10 RESIGNED", "leave 2 A1@10", "state RELEASING"]);
    let outcome = Outcome::Applied { revision: Revision(99) };
    let deleted = Input::Answered(Answer::Wrote { attempt: Attempt(2), outcome });
    assert_eq!(bench.give(deleted), NOTHING);
    assert_eq!(bench.wake(), Some((Timer::Remove, PAUSE)));
    assert_eq!(bench.next(), ["revoke A1"]);
}

#[test]
fn a_leader_that_resigns_drains_releases_and_enters_at_the_end() {
    let mut bench = Bench::leader();
    assert_eq!(bench.give(Input::Resign), ["draining RESIGNED", "state DRAINING"]);
    assert!(bench.leads());
    assert_eq!(bench.give(Input::Drained), ["lost 10 RESIGNED", "leave 2 A1@10", "state RELEASING"]);
    assert_eq!(bench.removed(2), ["revoke A1"]);
    assert_eq!(bench.revoked(1), ["grant A2", "state ACQUIRING"]);
    assert_eq!(bench.granted(2), ["enter 3 A2 B"]);
}

#[test]
fn a_leader_that_drains_keeps_its_lease() {
    let mut bench = Bench::leader_with(Settings { drain: secs(60), ..settings() });
    bench.give(Input::Resign);
    assert_eq!(bench.next(), ["keep alive A1 B"]);
    bench.prove(|snapshot| snapshot);
    assert_eq!(bench.remaining(), Some(T - M));
}

#[test]
fn a_drain_that_takes_too_long_ends_the_term_and_its_keys_wait_for_the_work() {
    let mut bench = Bench::leader();
    bench.give(Input::Resign);
    bench.sleep(secs(10));
    assert_eq!(bench.tick(), ["lost 10 RESIGNED", "state RELEASING"]);
    assert_eq!(bench.give(Input::Drained), ["leave 2 A1@10"]);
}

#[test]
fn work_that_never_ends_is_waited_for_a_lease() {
    let mut bench = Bench::leader();
    bench.give(Input::HandlerFailed);
    assert_eq!(bench.wake(), Some((Timer::Release, T)));
    assert_eq!(bench.next(), ["leave 2 A1@10"]);
}

#[test]
fn a_handler_that_failed_ends_the_term_at_once_and_its_candidate_rests() {
    let backoff = Backoff::Fixed(secs(5));
    let mut bench = Bench::leader_with(Settings { backoff, ..settings() });
    assert_eq!(bench.give(Input::HandlerFailed), ["lost 10 HANDLER_FAILED", "state RELEASING"]);
    bench.give(Input::Drained);
    bench.removed(2);
    assert_eq!(bench.revoked(1), ["state WAITING"]);
    assert_eq!(bench.wake(), Some((Timer::Retry, secs(5) - PAUSE)));
    assert_eq!(bench.next(), ["grant A2", "state ACQUIRING"]);
}

#[test]
fn an_unhealthy_leader_drains_and_stays_out_until_it_is_well() {
    let mut bench = Bench::leader();
    bench.give(Input::Health(false));
    bench.give(Input::Drained);
    bench.removed(2);
    assert_eq!(bench.revoked(1), ["state IDLE"]);
    assert_eq!(bench.give(Input::Health(true)), ["grant A2", "state ACQUIRING"]);
}

#[test]
fn a_waiting_candidate_that_is_closed_removes_its_keys() {
    let mut bench = Bench::waiting();
    assert_eq!(bench.give(Input::Close), ["leave 2 A1@10", "state RELEASING"]);
    bench.removed(2);
    assert_eq!(bench.revoked(1), ["state CLOSED"]);
    assert!(bench.campaign.is_settled());
}

#[test]
fn a_close_waits_two_seconds_and_the_removal_continues_after_it() {
    let mut bench = Bench::waiting();
    bench.give(Input::Close);
    bench.failed(2, Failure::Unknown);
    while bench.campaign.state() != State::Closed {
        let outputs = bench.next();
        for output in outputs {
            if let Some(attempt) = output.strip_prefix("leave ").and_then(|text| text.split(' ').next()) {
                bench.failed(attempt.parse().expect("a number"), Failure::NotSent);
            }
        }
    }
    assert!(!bench.campaign.is_settled());
    let outputs = bench.next();
    assert_eq!(outputs.len(), 1, "{outputs:?}");
    let attempt = outputs[0].split(' ').nth(1).and_then(|text| text.parse().ok()).expect("a leave");
    assert_eq!(bench.removed(attempt), ["revoke A1"]);
    bench.revoked(1);
    assert!(bench.campaign.is_settled());
}

#[test]
fn a_closed_campaign_that_still_has_something_to_remove_reports_nothing() {
    let mut bench = Bench::waiting();
    bench.give(Input::Close);
    bench.failed(2, Failure::Unknown);
    bench.sleep(secs(2));
    assert_eq!(bench.tick(), ["leave 3 A1@10", "state CLOSED"]);
    assert_eq!(bench.failed(3, fault(FaultKind::Denied)), ["revoke A1"]);
    assert_eq!(bench.revoked(1), ["leave 4 A1"]);
    assert_eq!(bench.failed(4, fault(FaultKind::Denied)), ["leave 5 A1 companion"]);
    assert_eq!(bench.failed(5, fault(FaultKind::Denied)), ["stranded on B"]);
}

#[test]
fn a_candidacy_whose_transaction_has_no_answer_leaves_nothing_behind() {
    let mut bench = Bench::entering();
    bench.failed(1, Failure::Unknown);
    // The lease is revoked first, so that a late transaction is refused as a whole from then on. Keys that it created
    // before that are deleted.
    assert_eq!(bench.give(Input::Close), ["revoke A1", "state RELEASING"]);
    assert_eq!(bench.revoked(1), ["leave 2 A1"]);
    assert_eq!(bench.removed(2), ["state CLOSED"]);
}

#[test]
fn a_candidacy_that_is_given_up_while_its_transaction_is_under_way_leaves_nothing_behind() {
    let mut bench = Bench::entering();
    assert_eq!(bench.give(Input::Health(false)), ["revoke A1", "state RELEASING"]);
    assert_eq!(bench.applied(1, R), NOTHING, "late, and not counted");
    assert_eq!(bench.revoked(1), ["leave 2 A1"]);
    assert_eq!(bench.removed(2), ["state IDLE"]);
}

#[test]
fn a_late_transaction_that_created_the_companion_again_is_deleted_once_more() {
    let mut bench = Bench::entering();
    bench.failed(1, Failure::Unknown);
    bench.next();
    bench.applied(2, R);
    bench.prove(|snapshot| snapshot);
    bench.give(Input::Resign);
    assert_eq!(bench.give(Input::Drained), ["lost 10 RESIGNED", "leave 3 A1@10", "state RELEASING"]);
    // The first transaction would be applied now, and would create the companion under the connection's lease.
    assert_eq!(bench.removed(3), ["revoke A1"]);
    assert_eq!(bench.revoked(1), ["leave 4 A1"]);
    assert_eq!(bench.removed(4), ["grant A2", "state ACQUIRING"]);
}

#[test]
fn a_lease_is_revoked_until_it_is_gone() {
    let mut bench = Bench::waiting();
    bench.give(Input::Close);
    bench.removed(2);
    let lease = bench.lease(1);
    bench.give(Input::Answered(Answer::Revoked { lease, result: Err(Failure::Unknown) }));
    assert_eq!(bench.next(), ["revoke A1"]);
    let gone = bench.give(Input::Answered(Answer::Revoked { lease, result: Err(Failure::LeaseGone) }));
    assert_eq!(gone, ["state CLOSED"]);
}

#[test]
fn keys_that_are_no_longer_those_created_are_not_deleted_again() {
    let mut bench = Bench::waiting();
    bench.give(Input::Close);
    assert_eq!(bench.wrote(2, Outcome::Refused { created: None }), ["revoke A1"]);
}

#[test]
fn a_leader_of_a_full_store_can_release() {
    let mut bench = Bench::leader();
    bench.give(Input::Resign);
    bench.give(Input::Drained);
    // A release contains no put or grant, which a full store refuses. Entering again contains them.
    bench.removed(2);
    bench.revoked(1);
    assert_eq!(bench.not_granted(2, fault(FaultKind::Broken)), ["warning Broken", "state WAITING"]);
}

#[test]
fn the_loss_is_reported_before_anything_is_deleted() {
    let mut bench = Bench::leader();
    bench.give(Input::Resign);
    let outputs = bench.give(Input::Drained);
    let place = |text: &str| outputs.iter().position(|output| output.starts_with(text));
    assert!(place("lost") < place("leave"));
    assert_eq!(bench.remaining(), None);
}
