//! What a candidate in a queue waits for while it knows of no leader.

use incumbent_core::campaign::Reason;
use incumbent_core::candidacy::{Obstacle, Waiting};
use incumbent_core::queue::Input;

use crate::harness::*;

#[test]
fn the_first_in_a_store_whose_birth_is_not_a_lease_old_waits_for_the_rest_of_it() {
    let mut bench = Bench::with_info(settings(), |info| incumbent_core::store::StoreInfo {
        asked_at: info.asked_at + secs(50),
        ..info
    });
    bench.give(Input::Campaign);
    bench.granted(1);
    bench.shared(B);
    bench.applied(1, R);
    assert_eq!(bench.prove(|snapshot| snapshot), ["leader me", "state HOLDING"]);
    assert!(!bench.campaign.knows_a_leader());
    assert_eq!(bench.campaign.obstacle(), Obstacle::NewStore { left: secs(20), can_be_stated: true });
}

#[test]
fn another_candidate_in_the_first_place_leads_as_far_as_others_can_know() {
    let bench = Bench::waiting();
    assert!(bench.campaign.knows_a_leader());
    let mut bench = Bench::placed();
    bench.prove(|snapshot| snapshot.foreign(5, "go"));
    assert!(bench.campaign.knows_a_leader());
}

#[test]
fn a_proof_that_is_too_old_shows_no_leader_any_more() {
    let mut bench = Bench::waiting();
    bench.sleep(T - M);
    bench.tick();
    assert!(!bench.campaign.knows_a_leader());
    assert_eq!(bench.campaign.obstacle(), Obstacle::Unanswered);
}

#[test]
fn a_companion_ahead_whose_place_is_gone_is_what_the_first_place_waits_for() {
    let mut bench = Bench::placed();
    bench.prove(|snapshot| snapshot.companion(5));
    assert!(!bench.campaign.knows_a_leader());
    assert_eq!(bench.campaign.obstacle(), Obstacle::Ahead);
}

#[test]
fn where_leases_may_be_older_than_the_raft_term_the_first_waits_for_who_disappeared() {
    let mut bench = Bench::placed_in_a_later_term();
    bench.prove(|snapshot| snapshot.ours(5, "other"));
    bench.vanished(5);
    let snapshot = bench.snapshot();
    bench.read(snapshot);
    assert_eq!(bench.campaign.obstacle(), Obstacle::FormerLeader { left: T });
}

#[test]
fn a_candidate_that_cannot_enter_waits_for_an_answer() {
    let bench = Bench::entering();
    assert!(!bench.campaign.knows_a_leader());
    assert_eq!(bench.campaign.obstacle(), Obstacle::Unanswered);
}

#[test]
fn a_candidate_whose_handler_failed_rests() {
    let mut bench = Bench::leader();
    assert!(bench.campaign.knows_a_leader());
    assert_eq!(bench.give(Input::HandlerFailed)[0], format!("lost 10 {}", Reason::HandlerFailed.code()));
    assert!(!bench.campaign.knows_a_leader());
}

#[test]
fn the_worst_fail_over_is_two_leases_with_what_the_servers_take() {
    assert_eq!(
        Bench::new().campaign.worst_fail_over(incumbent_core::Instant::ZERO),
        T + ms(500) + ms(2_000) + T
    );
}
