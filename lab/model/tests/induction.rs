//! The worlds of induction over a consumer group: no two candidates lead, and each part of the rule is needed for that.

#![allow(clippy::panic, reason = "a test may panic; it says why")]

mod shared;

use std::collections::BTreeSet;

use incumbent_model::{Group, InductionPart, Property, World, induction_worlds, late_release};

fn world(name: &str) -> World<Group> {
    shared::named(induction_worlds(), name)
}

fn holds(name: &str) {
    shared::holds(&world(name));
}

fn two_lead(world: &World<Group>) {
    shared::breaks(world, Property::I1);
}

#[test]
fn every_world_has_a_name_of_its_own() {
    let worlds = induction_worlds();
    assert_eq!(worlds.iter().map(World::name).collect::<BTreeSet<_>>().len(), worlds.len());
    assert!(worlds.iter().all(|world| !world.about().is_empty()));
}

#[test]
fn where_nothing_goes_wrong_one_leads() {
    holds("induction");
}

#[test]
fn a_process_that_ends_makes_no_second_leader() {
    holds("induction crash");
}

#[test]
fn a_member_that_is_removed_at_once_makes_no_second_leader() {
    holds("induction removal");
}

#[test]
fn a_static_id_that_another_process_takes_makes_no_second_leader() {
    holds("induction replacement");
}

#[test]
fn a_revocation_makes_no_second_leader() {
    holds("induction revocation");
}

#[test]
fn a_record_or_a_commit_that_arrives_late_makes_no_second_leader() {
    holds("induction late");
}

#[test]
fn a_stopped_process_makes_no_second_leader() {
    holds("induction stop");
}

#[test]
fn a_group_without_members_makes_no_second_leader() {
    holds("induction empty");
}

#[test]
fn lost_requests_and_answers_make_no_second_leader() {
    holds("induction loss");
}

#[test]
fn a_resignation_makes_no_second_leader() {
    holds("induction resign");
}

#[test]
fn a_topic_that_is_made_again_makes_no_second_leader() {
    holds("induction remade");
}

#[test]
fn a_release_that_lands_in_a_later_term_of_its_author_makes_no_second_leader() {
    holds("induction former term");
}

#[test]
fn a_release_names_the_topic_of_its_term_and_none_is_sent_in_another() {
    holds("induction former topic");
}

#[test]
fn without_the_claims_of_a_releases_author_two_lead() {
    two_lead(&world("induction former term").without(InductionPart::Claims));
}

#[test]
fn a_release_that_names_the_topic_of_the_moment_is_noticed() {
    shared::breaks(&world("induction former topic").without(InductionPart::Release), Property::I8);
}

#[test]
fn without_the_question_for_the_topic_after_the_claim_a_win_is_in_another() {
    shared::breaks(&world("induction remade").without(InductionPart::Topic), Property::I12);
}

#[test]
fn heartbeats_alone_make_two_leaders() {
    two_lead(&world("induction removal").without(InductionPart::Commit));
}

#[test]
fn without_the_comparison_of_the_membership_two_lead() {
    two_lead(&world("induction empty").without(InductionPart::Membership));
}

#[test]
fn without_what_others_wrote_a_token_is_not_larger_than_the_one_before() {
    // Only the committed token keeps two candidates from leading. The new owner did not read the claim that this token
    // names, so it waits for a lease.
    shared::breaks(&world("induction removal").without(InductionPart::Log), Property::I4);
}

#[test]
fn a_late_release_over_the_records_of_a_live_leader_is_no_clean_one() {
    assert_eq!(late_release(), Ok(()));
}
