//! Faults of the only server: compaction, a full store, a replaced store.

use std::time::Duration;

use incumbent::{Reason, Warning};
use incumbent_testkit::etcd::Options;

use crate::actor::next_leader;
use crate::bench::*;
use crate::probe::Probe;

/// The history is compacted while candidates wait: the watch continues, and the next candidate leads at once after a
/// release.
#[tokio::test(flavor = "multi_thread")]
async fn a_compaction_while_candidates_wait_delays_no_election() {
    let bench = Bench::start(LONG).await;
    let a = bench.join("a").await;
    a.won(1).await;
    let b = bench.join("b").await;
    bench.await_queue(&["a", "b"]);
    let probe = Probe::of(&[&a, &b]);

    write_and_compact(&bench);
    a.candidate.close().await.unwrap();
    let lost = a.lost(1).await;
    let won = b.won(1).await;
    assert!(won.started.since(lost.at) < BUSY, "vacant for {:?}", won.started.since(lost.at));
    probe.verdict();
}

/// The history that a waiting candidate missed during a cut is compacted. The candidate reads again, and leads if the
/// leader has released meanwhile.
#[tokio::test(flavor = "multi_thread")]
async fn a_release_in_a_gap_that_was_compacted_is_found_by_reading() {
    let bench = Bench::start(LONG).await;
    let proxy = bench.proxy();
    let a = bench.join("a").await;
    let first = a.won(1).await;
    let b = bench.join_through(&proxy, "b").await;
    bench.await_queue(&["a", "b"]);
    let probe = Probe::of(&[&a, &b]);

    proxy.cut();
    a.candidate.close().await.unwrap();
    write_and_compact(&bench);
    proxy.close_all();
    proxy.heal();
    let healed = now();
    let won = b.won(1).await;
    assert!(won.token > first.token);
    assert!(won.started < healed + LONG, "after {:?}", won.started.since(healed));
    probe.verdict();
}

/// Makes some history, and compacts it.
fn write_and_compact(bench: &Bench) {
    for number in 0..10 {
        bench.server.ctl(&["put", "elsewhere", &number.to_string()]);
    }
    bench.server.ctl(&["compact", &bench.server.revision().to_string()]);
}

/// The store is full (NOSPACE alarm): the leader keeps leading and can release, and the next in the queue leads. New
/// candidates are warned, and enter when there is space again.
#[tokio::test(flavor = "multi_thread")]
async fn in_a_full_store_leaders_go_on_and_release_and_new_candidates_wait() {
    let options = Options::new().arguments(["--quota-backend-bytes=2000000"]);
    let bench = Bench::with(options, LONG).await;
    let a = bench.join("a").await;
    let first = a.won(1).await;
    let b = bench.join("b").await;
    bench.await_queue(&["a", "b"]);
    let probe = Probe::of(&[&a, &b]);
    let page = "x".repeat(100_000);
    let full =
        (0..100).find(|number| bench.server.try_ctl(&["put", &format!("fill/{number}"), &page]).is_err());
    assert!(full.is_some(), "the store is not full");

    a.renewed_after(now(), LONG).await;
    let c = bench.join("c").await;
    c.warning("that the store is full", |warning| matches!(warning, Warning::Store(_))).await;
    let released = now();
    a.candidate.close().await.unwrap();
    let second = b.won(1).await;
    assert!(second.token > first.token);
    assert!(second.started < released + LONG / 3, "after {:?}", second.started.since(released));
    bench.await_queue(&["b"]);

    bench.server.ctl(&["del", "--prefix", "fill/"]);
    bench.server.ctl(&["compact", &bench.server.revision().to_string()]);
    bench.server.ctl(&["defrag"]);
    bench.server.ctl(&["alarm", "disarm"]);
    bench.await_queue(&["b", "c"]);
    assert_eq!(b.losses(), []);
    probe.verdict();
}

/// The store is wiped and started again, with the same cluster id. The term ends with `Lost(StoreReset)`, and a
/// candidate leads again a lease later, with a larger token.
#[tokio::test(flavor = "multi_thread")]
async fn after_a_wipe_with_the_same_cluster_id_one_leads_a_lease_later_with_a_larger_token() {
    let lease = Duration::from_secs(12);
    let mut bench = Bench::start(lease).await;
    let a = bench.join("a").await;
    let first = a.won(1).await;
    let b = bench.join("b").await;
    bench.await_queue(&["a", "b"]);
    let probe = Probe::of(&[&a, &b]);
    let cluster = cluster_id(&bench);

    let before = now();
    bench.server.wipe();
    bench.server.restart();
    assert_eq!(cluster_id(&bench), cluster);
    assert!(may_follow_a_reset(a.lost(1).await.reason));
    let (_, next) = next_leader(&[&a, &b], first.token).await;
    assert!(next.token.incarnation > first.token.incarnation);
    assert!(next.started >= before + lease, "after {:?}", next.started.since(before));
    probe.verdict();
}

/// Whether a term may end for this reason after a reset. A leader that learns that its lease is gone does not wait for
/// the read that would show the reset.
fn may_follow_a_reset(reason: Reason) -> bool {
    matches!(reason, Reason::StoreReset | Reason::Expired)
}

fn cluster_id(bench: &Bench) -> String {
    let answer = bench.server.ctl(&["get", "nothing", "--write-out", "json"]);
    let answer: serde_json::Value = serde_json::from_str(&answer).unwrap();
    answer["header"]["cluster_id"].to_string()
}

/// A backup is restored under a leader, and the store's revisions go back: the term ends, and no candidate wins with a
/// token that was seen before.
#[tokio::test(flavor = "multi_thread")]
async fn after_a_restore_no_token_is_given_again() {
    let lease = Duration::from_secs(12);
    let mut bench = Bench::start(lease).await;
    let a = bench.join("a").await;
    a.won(1).await;
    bench.server.keep();
    // Adds a revision that the restore loses, so that the candidate's own writes alone do not reach the second token
    // again.
    bench.server.ctl(&["put", "elsewhere", "x"]);
    a.candidate.resign().await.unwrap();
    let second = a.won(2).await;
    let probe = Probe::of(&[&a]);

    bench.server.restore();
    a.warning("the reset", |warning| matches!(warning, Warning::StoreReset { .. })).await;
    assert!(may_follow_a_reset(a.lost(2).await.reason));
    // Further writes to the store reach the largest token again.
    for number in 0..20 {
        bench.server.ctl(&["put", "elsewhere", &number.to_string()]);
    }
    let third = a.won(3).await;
    assert!(third.token > second.token);
    probe.verdict();
}
