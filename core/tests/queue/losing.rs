//! The ways in which a term ends and a place is lost.

use incumbent_core::queue::{Answer, Change, Failure, Input, LeaseId, Place, Snapshot};
use incumbent_core::{Instant, Revision};

use crate::harness::*;

/// Runs the next round of a leader, with a changed snapshot.
fn round(change: impl FnOnce(Snapshot) -> Snapshot) -> Vec<String> {
    let mut bench = Bench::leader();
    bench.next();
    bench.prove(change)
}

const LOST_DELETED: [&str; 3] = ["lost 10 DELETED", "leave 2 A1@10", "state RELEASING"];
const LOST_USURPED: [&str; 3] = ["lost 10 USURPED", "leave 2 A1@10", "state RELEASING"];

fn without_our_place(mut snapshot: Snapshot) -> Snapshot {
    snapshot.place = None;
    snapshot.places.remove(0);
    snapshot
}

/// Our place, changed.
fn with_place(mut snapshot: Snapshot, change: impl FnOnce(&mut Place)) -> Snapshot {
    let place = snapshot.place.as_mut().expect("a place");
    change(place);
    snapshot.places[0] = place.clone();
    snapshot
}

#[test]
fn a_place_that_is_deleted_ends_the_term_and_the_companion_goes_after_the_loss() {
    assert_eq!(round(without_our_place), LOST_DELETED);
}

#[test]
fn the_watch_of_our_own_place_is_worth_a_read() {
    let mut bench = Bench::leader();
    let change = Change {
        revision: Revision(200),
        removed_places: vec![bench.lease(1).to_string()],
        ..Change::default()
    };
    assert_eq!(bench.give(Input::Watched(change)), ["read A1"]);
    assert!(bench.leads(), "a watch proves nothing");
}

#[test]
fn a_place_whose_lease_is_gone_ends_the_term_as_expired_and_no_read_is_waited_for() {
    let mut bench = Bench::leader();
    bench.next();
    let lost = bench.kept_alive(bench.lease(1), ms(0), TERM);
    assert_eq!(lost, ["lost 10 EXPIRED", "leave 2 A1@10", "state RELEASING"]);
}

#[test]
fn a_lease_that_the_store_does_not_know_ends_the_term_as_one_without_time_to_live() {
    let mut bench = Bench::leader();
    bench.next();
    let result = Err(Failure::LeaseGone);
    let (lease, sent_at) = (bench.lease(1), bench.now);
    let lost = bench.give(Input::Answered(Answer::KeptAlive { lease, sent_at, result }));
    assert_eq!(lost, ["lost 10 EXPIRED", "leave 2 A1@10", "state RELEASING"]);
}

#[test]
fn the_end_of_the_connections_lease_ends_the_term_and_another_is_asked_for() {
    let mut bench = Bench::leader();
    bench.next();
    assert_eq!(bench.kept_as(T, ms(0), TERM), ["lost 10 EXPIRED", "leave 2 A1@10", "state RELEASING"]);
    bench.removed(2);
    bench.revoked(1);
    assert_eq!(bench.granted(2), ["share, not B"]);
}

#[test]
fn a_place_rewritten_without_a_lease_ends_the_term_as_usurped_and_is_deleted() {
    let rewritten = |place: &mut Place| (place.lease, place.modified) = (None, Revision(99));
    assert_eq!(round(|snapshot| with_place(snapshot, rewritten)), LOST_USURPED);
}

#[test]
fn a_place_that_is_another_than_was_created_ends_the_term_as_usurped() {
    let another_value = |place: &mut Place| place.modified = Revision(99);
    assert_eq!(round(|snapshot| with_place(snapshot, another_value)), LOST_USURPED);
    let another_lease = |place: &mut Place| place.lease = Some(LeaseId(9));
    assert_eq!(round(|snapshot| with_place(snapshot, another_lease)), LOST_USURPED);
    let created_again = |place: &mut Place| (place.created, place.modified) = (Revision(99), Revision(99));
    assert_eq!(round(|snapshot| with_place(snapshot, created_again)), LOST_USURPED);
}

#[test]
fn a_companion_that_is_gone_or_another_ends_the_term() {
    let gone = |mut snapshot: Snapshot| {
        snapshot.companion = None;
        snapshot
    };
    assert_eq!(round(gone), LOST_DELETED);
    let another_lease = |mut snapshot: Snapshot| {
        snapshot.companion.as_mut().expect("a companion").lease = Some(LeaseId(9));
        snapshot
    };
    assert_eq!(round(another_lease), LOST_USURPED);
    let another_nonce = |mut snapshot: Snapshot| {
        snapshot.companion.as_mut().expect("a companion").nonce = None;
        snapshot
    };
    assert_eq!(round(another_nonce), LOST_USURPED);
}

#[test]
fn a_key_ahead_of_a_leader_ends_the_term() {
    assert_eq!(round(|snapshot| snapshot.companion(5)), LOST_USURPED);
}

#[test]
fn without_a_proof_the_term_ends_at_the_deadline() {
    let mut bench = Bench::leader();
    bench.sleep(T - M - ms(1));
    bench.tick();
    assert!(bench.leads());
    bench.sleep(ms(1));
    assert!(!bench.leads(), "no call is needed for that");
    assert_eq!(bench.tick(), ["lost 10 EXPIRED", "leave 2 A1@10", "state RELEASING"]);
}

#[test]
fn a_proof_that_comes_after_the_deadline_does_not_save_the_term() {
    let mut bench = Bench::leader();
    bench.next();
    bench.kept();
    bench.sleep(T - M);
    let snapshot = bench.snapshot();
    assert_eq!(bench.read(snapshot)[0], "lost 10 EXPIRED");
}

#[test]
fn a_clock_that_goes_back_changes_nothing() {
    let mut bench = Bench::leader();
    let deadline = bench.campaign.lease().expect("a lease").deadline;
    bench.campaign.handle(Instant::ZERO, Input::Tick).expect("no misuse");
    assert_eq!(bench.campaign.lease().expect("a lease").deadline, deadline);
}

#[test]
fn a_place_that_vanished_while_waiting_is_no_win_but_a_new_candidacy() {
    let mut bench = Bench::waiting();
    bench.next();
    let outputs = bench.prove(|snapshot| {
        let mut snapshot = without_our_place(snapshot);
        snapshot.companion = None;
        snapshot.companions.clear();
        snapshot
    });
    assert_eq!(outputs, ["leave 2 A1@10", "state RELEASING"]);
    assert_eq!(bench.removed(2), ["revoke A1"]);
    assert_eq!(bench.revoked(1), ["grant A2", "state ACQUIRING"]);
}

#[test]
fn a_place_whose_lease_is_gone_while_waiting_is_left_for_a_new_candidacy() {
    let mut bench = Bench::waiting();
    bench.next();
    assert_eq!(bench.kept_alive(bench.lease(1), ms(0), TERM), ["leave 2 A1@10", "state RELEASING"]);
    assert_eq!(bench.removed(2), ["revoke A1"]);
    assert_eq!(bench.revoked(1), ["grant A2", "state ACQUIRING"]);
}

#[test]
fn a_place_without_a_lease_is_reported_once() {
    let mut bench = Bench::placed();
    let immortal = |snapshot: Snapshot| {
        let mut snapshot = snapshot.foreign(5, "go");
        snapshot.places[0].lease = None;
        snapshot
    };
    assert_eq!(bench.prove(immortal), ["warning Broken", "leader go"]);
    bench.next();
    assert_eq!(bench.prove(immortal), NOTHING);
}

#[test]
fn the_place_of_an_election_whose_name_begins_with_ours_is_reported() {
    let mut bench = Bench::placed();
    let nested = |snapshot: Snapshot| {
        let mut snapshot = snapshot.foreign(5, "go");
        snapshot.places[0].key = "a/f005".into();
        snapshot
    };
    assert_eq!(bench.prove(nested), ["warning Broken", "leader go"]);
}

#[test]
fn keys_of_another_prefix_ahead_are_reported_in_the_stores_words_and_are_no_leader() {
    let mut bench = Bench::placed();
    let inside = |mut snapshot: Snapshot| {
        snapshot = snapshot.foreign(3, "1795652934469937563");
        snapshot.places[0].key = ".incumbent".into();
        snapshot.places[0].lease = None;
        snapshot.overlap = Some("the two prefixes, and the remedy".into());
        snapshot
    };
    assert_eq!(bench.prove(inside), ["warning Broken"]);
    assert_eq!(bench.texts, ["the two prefixes, and the remedy"]);
    bench.next();
    assert_eq!(bench.prove(inside), NOTHING, "once");
}
