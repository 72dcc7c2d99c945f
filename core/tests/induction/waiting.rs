//! What a member of a group waits for while it knows of no leader.

use incumbent_core::candidacy::{Obstacle, Waiting};
use incumbent_core::induction::{Answer, Group, Kind, Protocol, Shown};

use crate::harness::*;

#[test]
fn a_member_without_the_partition_waits_for_the_group_unless_a_leader_writes() {
    let mut bench = Bench::member();
    assert!(!bench.campaign.knows_a_leader());
    assert_eq!(bench.campaign.obstacle(), Obstacle::Unassigned);
    bench.give(Shown::Record(record(10, 0, Kind::Heartbeat)));
    assert!(bench.campaign.knows_a_leader());
    bench.sleep(T);
    bench.tick();
    assert!(!bench.campaign.knows_a_leader(), "the leader's last heartbeat is a lease old");
}

#[test]
fn an_owner_whose_claim_does_not_come_back_waits_for_its_reader() {
    let mut bench = Bench::member();
    bench.assigned();
    assert_eq!(bench.campaign.obstacle(), Obstacle::Unproven, "not appended");
    bench.appended(1);
    bench.committed(1);
    assert_eq!(bench.campaign.obstacle(), Obstacle::Unread);
}

#[test]
fn an_owner_whose_commits_are_not_acknowledged_could_not_prove_it() {
    let mut bench = Bench::member();
    bench.assigned();
    bench.claimed(1);
    assert!(!bench.campaign.knows_a_leader());
    assert_eq!(bench.campaign.obstacle(), Obstacle::Unproven);
}

#[test]
fn an_owner_over_a_heartbeat_waits_for_its_author_and_over_nothing_for_records_that_were_not_read() {
    let mut bench = Bench::member();
    bench.other(1, Kind::Heartbeat);
    bench.assigned();
    bench.claimed(1);
    bench.committed(1);
    assert_eq!(bench.campaign.obstacle(), Obstacle::FormerLeader { left: T });

    let mut bench = Bench::without_an_id();
    bench.topic = Some(TOPIC);
    bench.give(incumbent_core::induction::Input::Campaign);
    bench.inspected();
    bench.assigned();
    bench.claimed(1);
    bench.committed(1);
    assert_eq!(bench.campaign.obstacle(), Obstacle::NewStore { left: T, can_be_stated: false });
}

#[test]
fn a_member_whose_client_died_rests() {
    let mut bench = Bench::member();
    let dead = incumbent_core::induction::Loss::Dead(fault(incumbent_core::store::FaultKind::Broken));
    bench.give(Answer::GroupLost(dead));
    bench.give(Answer::Left);
    assert!(matches!(bench.campaign.obstacle(), Obstacle::Resting { .. }), "{:?}", bench.campaign.obstacle());
}

#[test]
fn the_worst_fail_over_counts_the_session_and_two_leases() {
    let worst =
        |group| Bench::with(settings(), group).campaign.worst_fail_over(incumbent_core::Instant::ZERO);
    let attempt = Bench::new().campaign.attempt_limit();
    assert_eq!(worst(Group::default()), 3 * T + 2 * T + attempt);
    assert_eq!(worst(Group { protocol: Protocol::Consumer, ..Group::default() }), secs(45) + 2 * T + attempt);
}
