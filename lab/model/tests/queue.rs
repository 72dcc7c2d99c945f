//! The worlds of a place in a queue: no two candidates lead, and each part of the rule is needed for that.

#![allow(clippy::panic, reason = "a test may panic; it says why")]

mod shared;

use std::collections::BTreeSet;

use incumbent_model::{Property, Queue, QueuePart, World, queue_worlds};

fn world(name: &str) -> World<Queue> {
    shared::named(queue_worlds(), name)
}

fn holds(name: &str) {
    shared::holds(&world(name));
}

fn two_lead(world: &World<Queue>) {
    shared::breaks(world, Property::I1);
}

#[test]
fn every_world_has_a_name_of_its_own() {
    let worlds = queue_worlds();
    assert_eq!(worlds.iter().map(|world| world.name()).collect::<BTreeSet<_>>().len(), worlds.len());
    assert!(worlds.iter().all(|world| !world.about().is_empty()));
}

#[test]
fn where_nothing_goes_wrong_one_leads() {
    holds("queue");
}

#[test]
fn an_operators_deletions_make_no_second_leader() {
    holds("queue operator");
}

#[test]
fn lost_requests_and_answers_make_no_second_leader() {
    holds("queue loss");
}

#[test]
fn a_former_leader_of_the_store_makes_no_second_leader() {
    holds("queue stale");
}

#[test]
fn a_stopped_process_makes_no_second_leader() {
    holds("queue stop");
}

#[test]
fn a_resignation_with_a_late_transaction_makes_no_second_leader() {
    holds("queue resign");
}

#[test]
fn a_process_that_ends_makes_no_second_leader() {
    holds("queue crash");
}

#[test]
fn a_store_that_revokes_live_leases_makes_no_second_leader() {
    holds("queue early");
}

#[test]
fn two_elections_of_the_store_make_no_second_leader() {
    holds("queue early twice");
}

#[test]
fn a_deleted_place_and_a_companion_that_is_revoked_early_make_no_second_leader() {
    holds("queue early operator");
}

#[test]
fn a_first_read_a_lease_after_entering_makes_no_second_leader() {
    holds("queue early newcomer");
}

#[test]
fn without_a_watch_no_second_leads_either() {
    holds("queue unwatched");
}

#[test]
fn clocks_that_drift_within_the_margin_make_no_second_leader() {
    holds("queue drift");
}

#[test]
fn early_revocations_under_clocks_that_drift_make_no_second_leader() {
    holds("queue early drift");
}

#[test]
fn a_hand_over_makes_no_second_leader() {
    holds("queue hand over");
}

#[test]
fn a_hand_over_past_a_foreign_candidate_makes_no_second_leader() {
    holds("queue foreign");
}

#[test]
fn companions_that_move_to_another_lease_make_no_second_leader() {
    holds("queue move");
    holds("queue move late");
}

#[test]
fn a_candidate_that_can_read_nothing_gives_way_within_three_leases_and_makes_no_second_leader() {
    holds("queue denied");
    holds("queue denied late");
}

#[test]
fn a_third_candidate_makes_no_second_leader() {
    holds("queue third");
}

#[test]
fn keep_alives_alone_make_two_leaders() {
    two_lead(&world("queue stale").without(QueuePart::Keys));
}

#[test]
fn without_the_comparison_of_raft_terms_two_lead() {
    two_lead(&world("queue stale").without(QueuePart::RaftTerm));
}

#[test]
fn without_companions_two_lead() {
    two_lead(&world("queue operator").without(QueuePart::Companion));
}

#[test]
fn companions_on_the_lease_of_their_places_make_two_leaders() {
    two_lead(&world("queue operator").without(QueuePart::CompanionsLease));
}

#[test]
fn without_a_margin_two_lead_by_clocks_that_drift() {
    two_lead(&world("queue drift").without_a_margin());
}

#[test]
fn early_revocations_make_two_leaders_where_the_stores_elections_are_not_seen() {
    two_lead(&world("queue early").without(QueuePart::Elections));
}

#[test]
fn a_newcomer_that_does_not_see_the_stores_elections_makes_a_second_leader() {
    two_lead(&world("queue early newcomer").without(QueuePart::Elections));
}
