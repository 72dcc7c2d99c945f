//! A store that was replaced, or went back.

use incumbent_core::queue::{Failure, Input, LeaseId, Snapshot};
use incumbent_core::{Incarnation, Revision};

use crate::harness::*;

fn born(birth: Option<u64>) -> impl Fn(Snapshot) -> Snapshot {
    move |mut snapshot| {
        snapshot.birth = birth.map(Incarnation);
        snapshot
    }
}

fn at(revision: u64) -> impl Fn(Snapshot) -> Snapshot {
    move |mut snapshot| {
        snapshot.revision = Revision(revision);
        snapshot
    }
}

#[test]
fn a_store_with_another_birth_record_ends_the_term_once_a_second_connection_says_so() {
    let mut bench = Bench::leader();
    bench.next();
    assert_eq!(bench.prove(born(Some(2_000))), ["reconnect"]);
    assert!(bench.leads());
    assert_eq!(bench.give(Input::Reconnected), ["keep alive A1 B"]);
    assert_eq!(
        bench.prove(born(Some(2_000))),
        ["lost 10 STORE_RESET", "leave 2 A1@10", "warning StoreReset", "inspect", "state RELEASING"]
    );
    bench.removed(2);
    bench.revoked(1);
    // The store may hold companions of ended terms again. They are on the lease that was shared before, which is left
    // to run out.
    assert_eq!(bench.granted(2), ["share, not B"]);
    assert_eq!(bench.shared(LeaseId::of_companions(TERM, 0xb2)), ["enter 3 A2 B2"]);
    bench.applied(3, 300);
    let next = |mut snapshot: Snapshot| {
        (snapshot.birth, snapshot.revision) = (Some(Incarnation(2_000)), Revision(301));
        snapshot
    };
    assert_eq!(bench.prove(next), ["leader me", "state HOLDING"], "the win waits for a lease");
    bench.sleep(T);
    bench.tick();
    assert_eq!(bench.prove(next), ["won 300", "state LEADING"]);
}

#[test]
fn a_birth_record_that_is_gone_is_written_by_an_inspection_before_the_candidate_enters() {
    let mut bench = Bench::leader();
    bench.next();
    bench.prove(born(None));
    bench.give(Input::Reconnected);
    assert_eq!(
        bench.prove(born(None)),
        ["lost 10 STORE_RESET", "leave 2 A1@10", "warning StoreReset", "state RELEASING"]
    );
    bench.removed(2);
    assert_eq!(bench.revoked(1), ["inspect", "state WAITING"]);
    let info = incumbent_core::store::StoreInfo {
        asked_at: bench.now,
        incarnation: Incarnation(2_000),
        age: None,
        never_used: true,
        max_age: None,
        newest: None,
    };
    assert_eq!(bench.give(Input::Inspected(Ok(info))), ["grant A2", "state ACQUIRING"]);
}

#[test]
fn a_lower_revision_is_asked_about_over_a_new_connection_and_may_be_an_accident() {
    let mut bench = Bench::leader();
    bench.next();
    assert_eq!(bench.prove(at(50)), ["reconnect"]);
    bench.give(Input::Reconnected);
    assert_eq!(bench.prove(at(200)), NOTHING);
    assert!(bench.leads());
}

#[test]
fn a_revision_that_the_store_has_not_reached_is_no_end_of_a_term() {
    let mut bench = Bench::leader();
    bench.next();
    bench.kept();
    assert_eq!(bench.read_failed(Failure::Behind), ["reconnect"]);
    assert!(bench.leads());
}

/// Creates a leader with token 10 whose store went back to revision 5.
fn back() -> Bench {
    let mut bench = Bench::leader();
    bench.next();
    bench.prove(at(5));
    bench.give(Input::Reconnected);
    assert_eq!(
        bench.prove(at(5)),
        ["lost 10 STORE_RESET", "leave 2 A1@10", "warning StoreReset, barred", "state RELEASING"]
    );
    bench.removed(2);
    assert_eq!(bench.revoked(1), ["read nothing", "state WAITING"]);
    bench
}

fn empty(mut snapshot: Snapshot) -> Snapshot {
    (snapshot.place, snapshot.companion) = (None, None);
    snapshot.places.clear();
    snapshot.companions.clear();
    snapshot
}

#[test]
fn a_store_that_went_back_bars_until_a_larger_token_is_possible() {
    let mut bench = back();
    let snapshot = at(9)(empty(bench.snapshot()));
    assert_eq!(bench.read(snapshot), NOTHING);
    bench.sleep(secs(10));
    assert_eq!(bench.tick(), ["read nothing"]);
    let snapshot = at(10)(empty(bench.snapshot()));
    assert_eq!(bench.read(snapshot), ["grant A2", "state ACQUIRING"]);
}

#[test]
fn an_operator_may_accept_that_tokens_start_again() {
    let mut bench = back();
    let snapshot = at(6)(empty(bench.snapshot()));
    bench.read(snapshot);
    assert_eq!(bench.give(Input::Accept), ["grant A2", "state ACQUIRING"]);
}

#[test]
fn an_older_incarnation_bars_until_an_operator_accepts() {
    let mut bench = Bench::leader();
    bench.next();
    bench.prove(born(Some(7)));
    bench.give(Input::Reconnected);
    assert!(bench.prove(born(Some(7))).contains(&"warning StoreReset, barred".to_string()));
}

#[test]
fn a_companion_of_ours_that_a_backup_brought_back_is_removed() {
    let mut bench = Bench::placed();
    let revived = |snapshot: Snapshot| {
        let mut snapshot = snapshot.companion(5);
        snapshot.companions[0].nonce = Some(ME);
        snapshot
    };
    assert_eq!(
        bench.prove(revived),
        ["leader me", "revoke A2"],
        "the revived companion is named after lease A2"
    );
    assert_eq!(
        bench.revoked(2),
        ["leave 2 A2"],
        "the companion is attached to the connection's lease, so it is deleted"
    );
    assert_eq!(bench.removed(2), NOTHING);
    bench.next();
    assert_eq!(bench.prove(|snapshot| snapshot), ["won 10", "state LEADING"]);
}

#[test]
fn an_inspection_of_another_incarnation_ends_the_term_at_once() {
    let mut bench = Bench::leader();
    let info = incumbent_core::store::StoreInfo {
        asked_at: bench.now,
        incarnation: Incarnation(2_000),
        age: None,
        never_used: true,
        max_age: None,
        newest: None,
    };
    assert_eq!(
        bench.give(Input::Inspected(Ok(info))),
        ["lost 10 STORE_RESET", "leave 2 A1@10", "warning StoreReset", "state RELEASING"]
    );
}
