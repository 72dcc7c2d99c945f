//! Faults of the network between one candidate and the server.

use incumbent::{Reason, State};
use incumbent_testkit::wait;

use crate::actor::{TIME_LIMIT, before_a_renewal, next_leader};
use crate::bench::*;
use crate::probe::Probe;

/// The acknowledgement of a renewal is lost: the leader learns from the record that it was applied, and never
/// reports a loss.
#[tokio::test(flavor = "multi_thread")]
async fn a_leader_survives_the_loss_of_an_acknowledgement() {
    let bench = Bench::start(LONG).await;
    let proxy = bench.proxy();
    let a = bench.join_through(&proxy, "a").await;
    a.won(1).await;
    let probe = Probe::of(&[&a]);

    let before = bench.record().await.revision;
    before_a_renewal(&a, LONG).await;
    proxy.cut_to_client();
    let applied = wait::until_some_async("a renewal to be applied", TIME_LIMIT, || async {
        let revision = bench.record().await.revision;
        (revision > before).then(now)
    })
    .await;
    proxy.close_all();
    proxy.heal();
    a.renewed_after(applied, LONG).await;
    assert_eq!(a.losses(), []);
    probe.verdict();
}

/// A waiting candidate is cut off while the leader is healthy: nothing changes for either of them.
#[tokio::test(flavor = "multi_thread")]
async fn a_candidate_that_is_cut_off_changes_nothing() {
    let bench = Bench::start(STEADY).await;
    let a = bench.join("a").await;
    a.won(1).await;
    let proxy = bench.proxy();
    let b = bench.join_through(&proxy, "b").await;
    b.observes("a").await;
    let probe = Probe::of(&[&a, &b]);

    proxy.cut();
    let cut = now();
    // By then, the last record that `b` received would have expired.
    a.renewed_after(cut + STEADY + REMOVAL, STEADY).await;
    proxy.heal();
    let healed = now();
    a.renewed_after(healed, STEADY).await;
    b.is(State::Waiting).await;
    assert_eq!((a.losses().len(), b.wins().len()), (0, 0));
    probe.verdict();
}

/// A release is delayed until a successor leads, and then arrives. It is refused, and the successor keeps its lease.
#[tokio::test(flavor = "multi_thread")]
async fn a_late_release_does_no_harm_to_the_successor() {
    let bench = Bench::start(STEADY).await;
    let proxy = bench.proxy();
    let a = bench.join_through(&proxy, "a").await;
    let first = a.won(1).await;
    let b = bench.join("b").await;
    b.observes("a").await;
    let probe = Probe::of(&[&a, &b]);

    proxy.cut_to_server();
    let leaving = a.candidate.request_resign();
    assert_eq!(a.lost(1).await.reason, Reason::Resigned);
    let (_, next) = next_leader(&[&b], first.token).await;
    proxy.heal();
    let healed = now();
    leaving.await.unwrap();
    a.observes("b").await;
    b.renewed_after(healed + STEADY / 2, STEADY).await;
    assert_eq!(b.losses(), []);
    assert_eq!(b.wins(), [next]);
    probe.verdict();
}
