//! An operator who writes to the key without regard to the leader.

use std::time::Duration;

use incumbent::store::StoreAdmin;
use incumbent::store::nats::InitOptions;
use incumbent::{Reason, State};

use crate::actor::next_leader;
use crate::bench::*;
use crate::probe::{Probe, never_two};

/// An operator overwrites the key. The term ends with `Lost(Usurped)`, and there is no leader until the operator's
/// record expires.
#[tokio::test(flavor = "multi_thread")]
async fn after_an_overwriting_the_election_is_vacant_until_that_record_expires() {
    let bench = Bench::start(SHORT).await;
    let a = bench.join("a").await;
    let first = a.won(1).await;
    let b = bench.join("b").await;
    b.observes("a").await;
    let probe = Probe::of(&[&a, &b]);

    let before = now();
    bench.operator.put(KEY, b"an operator").await.unwrap();
    let lost = a.lost(1).await;
    assert_eq!(lost.reason, Reason::Usurped);
    assert!(lost.at < before + BUSY, "{:?}", lost.at.since(before));
    a.observes("an operator").await;
    b.observes("an operator").await;
    let (_, next) = next_leader(&[&a, &b], first.token).await;
    assert!(next.started >= before + SHORT, "reported after {:?}", next.started.since(before));
    assert!(
        next.started < before + SHORT + REMOVAL + BUSY,
        "reported after {:?}",
        next.started.since(before)
    );
    probe.verdict();
}

/// The stream is purged with a filter, without a tombstone, while the leader is cut off. A candidate that finds the key
/// vacant still waits for the lease of the last record that it observed.
#[tokio::test(flavor = "multi_thread")]
async fn after_a_purge_without_a_trace_candidates_that_watched_wait_for_a_lease() {
    let bench = Bench::with(purgeable(STEADY), STEADY).await;
    let proxy = bench.proxy();
    let a = bench.join_through(&proxy, "a").await;
    let first = a.won(1).await;
    let b = bench.join_looking("b").await;
    b.observes("a").await;
    let probe = Probe::of(&[&a, &b]);

    proxy.cut();
    let proven = a.candidate.term().expect("it leads").deadline();
    purge(&bench).await;
    b.is(State::Holding).await;
    assert!(now() < proven, "the leader's lease was over already");
    let next = b.won(1).await;
    assert!(next.token > first.token);
    assert!(next.started >= proven, "reported {:?} before the leader's deadline", proven.since(next.started));
    assert_eq!(a.lost(1).await.reason, Reason::Expired);
    probe.verdict();
}

/// The stream is purged with a filter, without a tombstone. The leader learns of it at its next contact with the store,
/// and a candidate leads again.
#[tokio::test(flavor = "multi_thread")]
async fn a_leader_learns_of_a_purge_at_its_next_contact() {
    let bench = Bench::with(purgeable(SHORT), SHORT).await;
    let a = bench.join("a").await;
    let first = a.won(1).await;
    let b = bench.join("b").await;
    b.observes("a").await;
    let probe = Probe::of(&[&a, &b]);

    let purged = now();
    purge(&bench).await;
    let lost = a.lost(1).await;
    assert_eq!(lost.reason, Reason::Deleted);
    assert!(lost.at < purged + SHORT / 3 + BUSY, "{:?}", lost.at.since(purged));
    let (_, next) = next_leader(&[&a, &b], first.token).await;
    assert!(next.started < purged + SHORT + REMOVAL + BUSY, "{:?}", next.started.since(purged));
    probe.verdict();
}

/// Options for a bucket with markers, because a bucket of `init` without markers denies purges.
fn purgeable(lease: Duration) -> InitOptions {
    InitOptions::new().lease(lease).never_used(true).markers(true)
}

async fn purge(bench: &Bench) {
    let stream = bench.jetstream().await.get_stream(STREAM).await.unwrap();
    stream.purge().filter(format!("$KV.{BUCKET}.{KEY}")).await.unwrap();
}

/// A holder leaves during the win delay after a deletion: its successor inherits the rest of the wait.
#[tokio::test(flavor = "multi_thread")]
async fn a_release_while_the_win_delay_runs_passes_the_wait_on() {
    let bench = Bench::start(STEADY).await;
    let a = bench.join("a").await;
    let first = a.won(1).await;
    let probe = Probe::of(&[&a]);

    let before = now();
    bench.operator.delete(KEY).await.unwrap();
    a.is(State::Holding).await;
    // The candidate `late` has observed neither the deletion nor the previous leader.
    let late = bench.join("late").await;
    late.observes("a").await;
    let of_late = Probe::of(&[&late]);
    a.candidate.close().await.unwrap();
    late.is(State::Holding).await;
    let next = late.won(1).await;
    assert!(next.token > first.token);
    assert!(next.started >= before + STEADY, "reported after {:?}", next.started.since(before));
    assert!(next.started < before + STEADY + BUSY, "reported after {:?}", next.started.since(before));
    never_two([probe.verdict(), of_late.verdict()].concat().concat());
}
