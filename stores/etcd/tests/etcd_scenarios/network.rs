//! Faults of the network between one candidate and the server.

use std::time::Duration;

use crate::actor::next_leader;
use crate::bench::*;
use crate::probe::Probe;

/// Every answer comes late, but within the limit of an attempt. The term continues, and the deadline counts from the
/// moment of sending.
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

/// A waiting candidate is cut off for longer than its lease and loses its place. The election continues without it, and
/// it enters again at the end of the queue.
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
