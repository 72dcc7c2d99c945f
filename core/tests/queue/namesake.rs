//! Another candidate of the same name.

use incumbent_core::queue::{Input, Snapshot};

use crate::harness::*;

/// How long after its end an expired lease is noticed.
const EXPIRED: std::time::Duration = ms(500);

/// Creates a candidate that observed another candidate of ours with its name, created at revision 5.
fn observed() -> Bench {
    let mut bench = Bench::placed();
    assert_eq!(
        bench.prove(|snapshot| snapshot.ours(5, "me")),
        ["leader me"],
        "a single place may be left over"
    );
    bench
}

/// Runs rounds that each show `change`, up to the last one before the other candidate's lease expires.
fn rounds_of_a_lease(bench: &mut Bench, change: impl Fn(Snapshot) -> Snapshot) {
    let until = bench.now + T + EXPIRED;
    while bench.wake().is_some_and(|(_, wait)| bench.now + wait < until) {
        assert_eq!(bench.next(), ["keep alive A1 B"]);
        assert_eq!(bench.kept(), ["read A1"]);
        let snapshot = change(bench.snapshot());
        assert_eq!(bench.read(snapshot), NOTHING);
    }
}

#[test]
fn another_candidate_of_our_name_is_reported_once_it_outlives_its_lease() {
    let mut bench = observed();
    rounds_of_a_lease(&mut bench, |snapshot| snapshot.ours(5, "me"));
    bench.next();
    assert_eq!(bench.kept(), ["read A1 and all"]);
    let snapshot = bench.snapshot().ours(5, "me");
    assert_eq!(bench.read(snapshot), ["warning SAME_NAME"]);
    bench.next();
    assert_eq!(bench.kept(), ["read A1"]);
    let snapshot = bench.snapshot().ours(5, "me");
    assert_eq!(bench.read(snapshot), NOTHING, "once");
}

#[test]
fn the_place_of_a_process_that_ended_is_no_candidate() {
    let mut bench = observed();
    rounds_of_a_lease(&mut bench, |snapshot| snapshot.ours(5, "me").ours(6, "other"));
    bench.next();
    assert_eq!(bench.kept(), ["read A1 and all"]);
    let snapshot = bench.snapshot().ours(6, "other");
    assert_eq!(bench.read(snapshot), ["leader other"]);
    bench.next();
    assert_eq!(bench.kept(), ["read A1"]);
}

#[test]
fn a_place_that_is_created_again_is_of_a_candidate_that_is_alive() {
    let mut bench = observed();
    bench.next();
    let again = |mut snapshot: Snapshot| {
        snapshot = snapshot.ours(11, "me");
        let companion = snapshot.companions.iter_mut().find(|companion| companion.created.0 == 11);
        companion.expect("the companion").nonce = Some(incumbent_core::record::Nonce(5));
        snapshot
    };
    assert_eq!(bench.prove(again), ["warning SAME_NAME", "leader me", "won 10", "state LEADING"]);
}

#[test]
fn a_foreign_candidate_of_our_name_is_not_reported() {
    let mut bench = Bench::placed();
    bench.prove(|snapshot| snapshot.foreign(5, "me"));
    rounds_of_a_lease(&mut bench, |snapshot| snapshot.foreign(5, "me"));
    bench.next();
    assert_eq!(bench.prove(|snapshot| snapshot.foreign(5, "me")), NOTHING);
}

#[test]
fn our_own_candidacy_before_is_not_reported() {
    let mut bench = Bench::placed();
    bench.prove(|snapshot| snapshot.ours(5, "other"));
    bench.give(Input::Watching { since: bench.now });
    let outputs = bench.prove(|mut snapshot| {
        snapshot = snapshot.ours(5, "other").ours(6, "me");
        let companion = snapshot.companions.iter_mut().find(|companion| companion.created.0 == 6);
        companion.expect("the companion").nonce = Some(ME);
        snapshot
    });
    assert!(!outputs.iter().any(|output| output.contains("SAME_NAME")), "{outputs:?}");
}
