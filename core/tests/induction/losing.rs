//! The end of the ownership: what the group and the client report.

use incumbent_core::campaign::State;
use incumbent_core::induction::{Answer, Failure, Input, Kind, Loss, Timer};
use incumbent_core::store::{Fault, FaultKind};

use crate::harness::*;

#[test]
fn a_lost_group_ends_the_term_at_once_and_without_a_release() {
    let mut bench = Bench::leader();
    assert_eq!(bench.give(Answer::GroupLost(Loss::Rejoins)), ["lost 10 REVOKED", "state WAITING"]);
    assert_eq!(bench.remaining(), None);
}

#[test]
fn a_commit_that_the_coordinator_refuses_to_a_stranger_ends_the_term() {
    let mut bench = Bench::leader();
    bench.until(Timer::Renew);
    bench.appended(3);
    let outputs = bench.not_committed(3, Failure::GroupLost(Loss::Rejoins));
    assert_eq!(outputs, ["lost 10 REVOKED", "state WAITING"]);
}

#[test]
fn the_next_assignment_begins_a_new_term_with_a_larger_token() {
    let mut bench = Bench::leader();
    bench.give(Answer::GroupLost(Loss::Rejoins));
    assert_eq!(bench.assigned(), ["state ACQUIRING", "claim 3"]);
    bench.claimed(3);
    assert_eq!(bench.committed(3), ["won 12", "heartbeat 4", "state LEADING"]);
}

#[test]
fn a_refusal_that_belongs_to_the_ownership_before_ends_nothing() {
    let mut bench = Bench::leader();
    bench.until(Timer::Renew);
    bench.appended(3);
    bench.read_back(3, Kind::Heartbeat);
    bench.give(Answer::GroupLost(Loss::Rejoins));
    bench.give(Answer::Left);
    bench.assigned();
    bench.claimed(4);
    bench.committed(4);
    assert_eq!(bench.not_committed(3, Failure::GroupLost(Loss::Rejoins)), NOTHING);
    assert_eq!(bench.committed(3), NOTHING, "nor does an acknowledgement count");
    assert!(bench.leads());
}

#[test]
fn an_assignment_without_a_loss_before_it_ends_the_term_before() {
    let mut bench = Bench::leader();
    assert_eq!(bench.assigned(), ["lost 10 REVOKED", "state ACQUIRING", "claim 3"]);
}

#[test]
fn a_dead_client_is_replaced_after_a_back_off() {
    let mut bench = Bench::leader();
    let loss = Loss::Dead(fault(FaultKind::Broken));
    let outputs = bench.give(Answer::GroupLost(loss));
    assert_eq!(outputs, ["lost 10 REVOKED", "warning Broken", "leave", "state RELEASING"]);
    assert_eq!(bench.give(Answer::Left), ["state WAITING"]);
    assert_eq!(bench.until(Timer::Join), ["join"]);
}

#[test]
fn a_member_whose_client_dies_joins_with_another_too() {
    let mut bench = Bench::member();
    let loss = Loss::Dead(fault(FaultKind::Denied));
    assert_eq!(bench.give(Answer::GroupLost(loss)), ["warning Denied", "leave", "state RELEASING"]);
    bench.give(Answer::Left);
    assert_eq!(bench.until(Timer::Join), ["join"]);
}

#[test]
fn a_replaced_static_member_loses_at_once_and_stays_out() {
    let mut bench = Bench::leader();
    let loss = Loss::Replaced(fault(FaultKind::Denied));
    let outputs = bench.give(Answer::GroupLost(loss));
    assert_eq!(outputs, ["lost 10 REVOKED", "warning Denied", "leave", "state RELEASING"]);
    assert_eq!(bench.give(Answer::Left), ["state IDLE"]);
    assert_eq!(bench.give(Input::Campaign), ["join", "state WAITING"]);
}

#[test]
fn a_claim_of_a_removed_member_leads_to_no_term() {
    let mut bench = Bench::member();
    bench.assigned();
    bench.give(Answer::GroupLost(Loss::Rejoins));
    // It lands after the successor's.
    bench.next = 14;
    assert_eq!(bench.appended(1), NOTHING);
    assert_eq!(bench.read_back(1, Kind::Claim), NOTHING);
    assert_eq!(bench.committed(1), NOTHING);
    assert_eq!(bench.campaign.state(), State::Waiting);
}

#[test]
fn a_revocation_without_a_term_is_answered_at_once() {
    let mut bench = Bench::member();
    assert_eq!(bench.give(Answer::Revoked), ["yield"], "the partition was never claimed");
    bench.assigned();
    assert_eq!(bench.give(Answer::Revoked), ["yield", "state WAITING"]);
}

#[test]
fn a_group_that_refuses_the_client_is_reported_once() {
    let mut bench = Bench::member();
    let denied = || Answer::Denied(fault(FaultKind::Denied));
    assert_eq!(bench.give(denied()), ["warning Denied"]);
    assert_eq!(bench.give(denied()), NOTHING);
}

#[test]
fn another_refusal_is_reported_as_well_and_an_outage_once_whatever_it_says() {
    let mut bench = Bench::member();
    let fault = |kind, text: &str| Answer::Denied(Fault { kind, detail: text.into() });
    let (denied, unreachable) = (FaultKind::Denied, FaultKind::Unreachable);
    assert_eq!(bench.give(fault(denied, "the topic")), ["warning Denied"]);
    assert_eq!(bench.give(fault(denied, "the group")), ["warning Denied"]);
    assert_eq!(bench.give(fault(denied, "the topic")), NOTHING);
    assert_eq!(bench.give(fault(unreachable, "a:9092")), ["warning Unreachable"]);
    assert_eq!(bench.give(fault(unreachable, "b:9092")), NOTHING);
}
