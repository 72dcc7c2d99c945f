//! Faults of the network between one candidate and the server.

use std::time::Duration;

use incumbent::{Clock, Reason};
use incumbent_testkit::proxy::Proxy;

use crate::actor::{before_a_renewal, next_leader};
use crate::bench::*;
use crate::probe::Probe;

/// Packets vanish, both ways, and the connections stay open: `Lost(Expired)` at the deadline and not before,
/// and the next candidate succeeds.
#[tokio::test(flavor = "multi_thread")]
async fn a_leader_that_is_cut_off_leads_until_its_deadline_and_no_longer() {
    leads_until_its_deadline(Proxy::cut).await;
}

/// Only the server's packets vanish: its answers extend no deadline of the leader.
#[tokio::test(flavor = "multi_thread")]
async fn a_leader_that_receives_no_answers_leads_until_its_deadline_and_no_longer() {
    leads_until_its_deadline(Proxy::cut_to_client).await;
}

/// Only the leader's packets vanish.
#[tokio::test(flavor = "multi_thread")]
async fn a_leader_whose_requests_are_lost_leads_until_its_deadline_and_no_longer() {
    leads_until_its_deadline(Proxy::cut_to_server).await;
}

async fn leads_until_its_deadline(cut: impl Fn(&Proxy)) {
    let bench = Bench::start(SHORT).await;
    let proxy = bench.proxy();
    let a = bench.join_through(&proxy, "a").await;
    let first = a.won(1).await;
    let b = bench.join("b").await;
    bench.await_queue(&["a", "b"]);
    let probe = Probe::of(&[&a, &b]);

    before_a_renewal(&a, SHORT).await;
    cut(&proxy);
    let proven = a.candidate.term().expect("it leads").deadline();
    let lost = a.lost(1).await;
    assert_eq!(lost.reason, Reason::Expired);
    assert!(lost.at >= proven, "given up {:?} too early", proven.since(lost.at));
    let next = b.won(1).await;
    assert!(next.token > first.token);

    // Requests under way are lost with the connections; then the network is whole again.
    proxy.close_all();
    proxy.heal();
    bench.await_queue(&["b", "a"]);
    probe.verdict();
}

/// A cut that is shorter than the lease by far: the term goes on.
#[tokio::test(flavor = "multi_thread")]
async fn a_leader_survives_a_short_cut() {
    let bench = Bench::start(LONG).await;
    let proxy = bench.proxy();
    let a = bench.join_through(&proxy, "a").await;
    a.won(1).await;
    let b = bench.join("b").await;
    bench.await_queue(&["a", "b"]);
    let probe = Probe::of(&[&a, &b]);

    before_a_renewal(&a, LONG).await;
    proxy.cut();
    let cut = now();
    // The round that falls due is lost, and the one after it.
    Clock::system().sleep_until(cut + LONG / 10).await;
    proxy.close_all();
    proxy.heal();
    a.renewed_after(cut, LONG).await;
    assert_eq!((a.losses(), b.wins()), (vec![], vec![]));
    probe.verdict();
}

/// Every answer comes late, by less than an attempt's limit: leading goes on, and the deadline counts from the send.
#[tokio::test(flavor = "multi_thread")]
async fn a_leader_whose_answers_come_late_goes_on() {
    let bench = Bench::start(STEADY).await;
    let proxy = bench.proxy();
    let a = bench.join_through(&proxy, "a").await;
    a.won(1).await;
    let probe = Probe::of(&[&a]);
    proxy.delay_to_client(Duration::from_millis(100));
    let slow = now();
    a.renewed_after(slow, STEADY).await;
    let remaining = a.candidate.term().expect("it leads").remaining();
    assert!(remaining < STEADY - margin(STEADY), "{remaining:?}");
    assert_eq!(a.losses(), []);
    probe.verdict();
}

/// A candidate that waits is cut off for longer than its lease: its place is gone, the election goes on without it, and it
/// enters again at the end.
#[tokio::test(flavor = "multi_thread")]
async fn a_waiting_candidate_that_is_cut_off_loses_its_place_and_wins_nothing_by_that() {
    let bench = Bench::start(SHORT).await;
    let proxy = bench.proxy();
    let a = join(&bench.url(), "a", LONG).await;
    let first = a.won(1).await;
    let b = bench.join_through(&proxy, "b").await;
    bench.await_queue(&["a", "b"]);
    let c = join(&bench.url(), "c", LONG).await;
    bench.await_queue(&["a", "b", "c"]);
    let probe = Probe::of(&[&a, &b, &c]);

    proxy.cut();
    bench.await_queue(&["a", "c"]);
    a.candidate.close().await.unwrap();
    let (_, second) = next_leader(&[&b, &c], first.token).await;
    assert_eq!(c.wins(), [second]);
    proxy.close_all();
    proxy.heal();
    bench.await_queue(&["c", "b"]);
    assert_eq!(b.wins(), []);
    probe.verdict();
}
