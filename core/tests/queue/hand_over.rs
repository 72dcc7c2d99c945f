//! Handing over to a named successor, and stepping behind.

use incumbent_core::Revision;
use incumbent_core::queue::{Change, Failure, Input, Outcome, Snapshot, Timer};

use crate::harness::*;

#[test]
fn a_successor_that_is_next_is_released_to() {
    let mut bench = Bench::leader();
    assert_eq!(bench.give(Input::HandOver("b".into())), ["keep alive A1 B"]);
    assert_eq!(bench.kept(), ["read A1 and all"]);
    let snapshot = bench.snapshot().ours(11, "b");
    assert_eq!(bench.read(snapshot), ["draining HANDED_OVER", "state DRAINING"]);
    assert_eq!(bench.give(Input::Drained), ["lost 10 HANDED_OVER", "leave 2 A1@10", "state RELEASING"]);
}

#[test]
fn a_successor_behind_candidates_of_ours_is_named_and_the_leader_keeps_leading() {
    let mut bench = Bench::leader();
    bench.give(Input::HandOver("c".into()));
    assert_eq!(bench.prove(|snapshot| snapshot.ours(11, "b").ours(12, "c")), ["name 2 A1@10 B c"]);
    bench.wrote(2, Outcome::Applied { revision: Revision(50) });
    assert!(bench.leads());
    // Candidate b steps behind, and the watch shows that its keys were removed.
    assert_eq!(bench.released(11), ["read A1 and all"]);
    let outputs = bench.prove(|snapshot| snapshot.ours(12, "c").ours(51, "b"));
    assert_eq!(outputs, ["draining HANDED_OVER", "state DRAINING"]);
}

#[test]
fn a_foreign_candidate_before_the_successor_refuses_the_hand_over() {
    let mut bench = Bench::leader();
    bench.give(Input::HandOver("c".into()));
    let outputs = bench.prove(|snapshot| snapshot.foreign(11, "go").ours(12, "c"));
    assert_eq!(outputs, ["not next c after go"]);
    assert!(bench.leads());
}

#[test]
fn a_successor_that_is_foreign_or_absent_refuses_the_hand_over() {
    let mut bench = Bench::leader();
    bench.give(Input::HandOver("go".into()));
    assert_eq!(bench.prove(|snapshot| snapshot.foreign(11, "go")), ["not next go"]);
    bench.give(Input::HandOver("c".into()));
    assert_eq!(bench.prove(|snapshot| snapshot), ["not next c"]);
    assert!(bench.leads());
}

#[test]
fn a_hand_over_that_takes_longer_than_a_drain_is_given_up_and_the_term_continues() {
    let mut bench = Bench::leader();
    bench.give(Input::HandOver("c".into()));
    bench.prove(|snapshot| snapshot.ours(11, "b").ours(12, "c"));
    bench.wrote(2, Outcome::Applied { revision: Revision(50) });
    bench.sleep(secs(10));
    let outputs = bench.tick();
    assert_eq!(outputs, ["not next c", "name 3 A1@10 B none", "keep alive A1 B"]);
    assert!(bench.leads());
}

#[test]
fn a_companion_ahead_of_the_successor_whose_place_is_gone_holds_the_hand_over_back() {
    let mut bench = Bench::leader();
    bench.give(Input::HandOver("c".into()));
    let outputs = bench.prove(|snapshot| snapshot.companion(11).ours(12, "c"));
    assert_eq!(outputs, ["name 2 A1@10 B c"]);
}

/// Creates a candidate between the leader and the successor that the leader names. The candidate has asked for the
/// lease of another place.
fn granting() -> Bench {
    step(Bench::placed())
}

fn step(mut bench: Bench) -> Bench {
    bench.prove(|snapshot| snapshot.ours(5, "other"));
    let rewritten =
        Change { revision: Revision(150), rewritten_companions: vec![key(5)], ..Change::default() };
    assert_eq!(bench.give(Input::Watched(rewritten)), ["read A1"]);
    let outputs = bench.prove(|mut snapshot| {
        snapshot.revision = Revision(150);
        snapshot.ours(5, "other").ours(12, "c").naming("c")
    });
    assert_eq!(outputs, ["grant A2"]);
    bench
}

/// Creates a candidate between the leader and the successor, with its transaction under way.
fn stepping() -> Bench {
    let mut bench = granting();
    assert_eq!(bench.granted(2), ["enter 2 A2 B for A1@10"]);
    bench
}

#[test]
fn a_candidate_ahead_of_a_named_successor_steps_behind_in_one_transaction() {
    let mut bench = stepping();
    assert_eq!(bench.applied(2, 160), ["keep alive A2 B", "revoke A1"]);
    assert_eq!(bench.revoked(1), NOTHING);
}

/// The snapshot of a proof in which this candidate is first.
fn first(mut snapshot: Snapshot) -> Snapshot {
    snapshot.revision = Revision(170);
    snapshot
}

#[test]
fn a_candidate_that_is_first_while_its_step_is_under_way_does_not_win() {
    let mut bench = stepping();
    bench.released(5);
    // Once the transaction is applied, it replaces the candidate's place, and the next candidate may lead.
    assert_eq!(bench.prove(first), ["leader me", "state HOLDING"]);
    assert_eq!(bench.applied(2, 171), ["keep alive A2 B", "revoke A1", "state WAITING"]);
}

#[test]
fn where_leases_may_be_older_than_the_raft_term_one_that_stepped_behind_owes_a_lease_from_its_first_read_there()
 {
    let mut bench = step(Bench::placed_in_a_later_term());
    bench.granted(2);
    bench.applied(2, 160);
    bench.kept();
    bench.read_failed(Failure::Unknown);
    // No read has shown the queue for longer than a lease.
    bench.sleep(T);
    assert_eq!(bench.tick(), ["keep alive A2 B"]);
    assert_eq!(bench.prove(first), ["leader me", "state HOLDING"]);
    bench.sleep(T);
    bench.tick();
    assert_eq!(bench.prove(first), ["won 160", "state LEADING"]);
}

#[test]
fn a_candidate_that_wins_before_it_can_step_behind_keeps_its_place() {
    let mut bench = granting();
    bench.released(5);
    assert_eq!(bench.prove(first), ["leader me", "won 10", "state LEADING"]);
    assert_eq!(bench.granted(2), ["revoke A2"]);
    assert!(bench.leads());
}

#[test]
fn a_candidate_steps_behind_once() {
    let mut bench = stepping();
    bench.applied(2, 160);
    let outputs = bench.prove(|mut snapshot| {
        snapshot.revision = Revision(170);
        snapshot.ours(5, "other").naming("c")
    });
    assert_eq!(outputs, NOTHING, "the successor is gone");
}

#[test]
fn a_step_of_unknown_outcome_leaves_both_places_for_a_third() {
    let mut bench = stepping();
    assert_eq!(bench.failed(2, Failure::Unknown), ["revoke A2", "state RELEASING"]);
    assert_eq!(bench.revoked(2), ["leave 3 A2"]);
    assert_eq!(bench.removed(3), ["leave 4 A1@10"]);
    assert_eq!(bench.removed(4), ["revoke A1"]);
    assert_eq!(bench.revoked(1), ["grant A3", "state ACQUIRING"]);
}

#[test]
fn a_step_that_was_not_made_leaves_the_place() {
    let mut bench = stepping();
    assert_eq!(bench.failed(2, Failure::Busy), ["revoke A2"]);
    assert_eq!(bench.wake().map(|(timer, _)| timer), Some(Timer::Remove));
}

#[test]
fn the_successor_and_candidates_behind_it_stay() {
    let mut bench = Bench::placed();
    let outputs = bench.prove(|snapshot| snapshot.ours(5, "other").naming("me"));
    assert_eq!(outputs, ["leader other"]);
    let mut bench = Bench::placed();
    let outputs = bench.prove(|snapshot| snapshot.ours(5, "other").ours(6, "c").naming("c"));
    assert_eq!(outputs, ["leader other"]);
}

#[test]
fn a_candidate_that_does_not_lead_hands_nothing_over() {
    let mut bench = Bench::waiting();
    assert_eq!(bench.give(Input::HandOver("b".into())), NOTHING);
}
