//! Faults of the only server, and an operator who deletes the leader's claim.

use std::time::Duration;

use incumbent::{Clock, Reason};

use crate::actor::{before_a_renewal, next_leader};
use crate::bench::*;
use crate::rows::with_another;

/// The server restarts under a leader, faster than the lease runs out. The leader's term continues, and other
/// candidates find its release.
#[tokio::test(flavor = "multi_thread")]
async fn a_leader_survives_a_restart_of_the_server() {
    on_each(LONG, |mut bench| async move {
        let (a, b, _, probe) = with_another(&bench, bench.join("a").await).await;

        before_a_renewal(&a, LONG).await;
        bench.server.restart();
        let serves = now();
        a.renewed_after(serves, LONG).await;
        assert_eq!((a.losses(), b.wins()), (vec![], vec![]));
        let released = now();
        a.candidate.close().await.unwrap();
        // A watch that has not resumed yet misses the release, but a read finds it sooner than a lease would run out.
        // On etcd, if the companion was still on a lease from before the restart, candidates then wait for the length
        // of that lease.
        assert!(b.won(1).await.started < released + LONG * 2);
        probe.verdict();
    })
    .await;
}

/// The server is down for longer than the lease. The term ends with `Lost(Expired)` at the deadline. When the server is
/// back, a candidate leads again, with a larger token.
#[tokio::test(flavor = "multi_thread")]
async fn while_the_server_is_away_no_candidate_leads_for_longer_than_a_lease() {
    let fails = |bench: &mut Bench| bench.server.kill();
    let is_back = |bench: &mut Bench| bench.server.restart();
    on_each(SHORT, move |bench| leads_until_its_deadline(bench, fails, is_back)).await;
}

/// The server is stopped (SIGSTOP) for longer than the lease, with the same result as if it were down.
#[tokio::test(flavor = "multi_thread")]
async fn while_the_server_is_stopped_no_candidate_leads_for_longer_than_a_lease() {
    let fails = |bench: &mut Bench| bench.server.pause();
    let is_back = |bench: &mut Bench| bench.server.resume();
    on_each(SHORT, move |bench| leads_until_its_deadline(bench, fails, is_back)).await;
}

async fn leads_until_its_deadline(mut bench: Bench, fails: fn(&mut Bench), is_back: fn(&mut Bench)) {
    let (a, b, first, probe) = with_another(&bench, bench.join("a").await).await;

    before_a_renewal(&a, SHORT).await;
    fails(&mut bench);
    let failed = now();
    let proven = a.candidate.term().expect("it leads").deadline();
    let lost = a.lost(1).await;
    assert_eq!(lost.reason, Reason::Expired);
    assert!(lost.at >= proven, "given up {:?} too early", proven.since(lost.at));
    assert!(!a.candidate.is_leader() && !b.candidate.is_leader());
    let latest = (failed + SHORT).before(margin(SHORT));
    is_back(&mut bench);
    next_leader(&[&a, &b], first.token).await;
    let terms = probe.verdict();
    let led = terms[0].first().map(|term| term.evidence.seen).expect("it led");
    assert!(led <= latest, "led {:?} too long", led.since(latest));
}

/// The server is stopped (SIGSTOP) for a moment, and a renewal is answered late: the term continues.
#[tokio::test(flavor = "multi_thread")]
async fn a_leader_survives_a_server_that_is_stopped_for_a_moment() {
    let bench = Bench::start(LONG).await;
    let (a, b, _, probe) = with_another(&bench, bench.join("a").await).await;

    before_a_renewal(&a, LONG).await;
    bench.server.pause();
    Clock::system().sleep_until(now() + LONG / 10).await;
    bench.server.resume();
    let resumed = now();
    a.renewed_after(resumed, LONG).await;
    assert_eq!((a.losses(), b.wins()), (vec![], vec![]));
    probe.verdict();
}

/// A store is closed while the server is stopped (SIGSTOP). Closing takes only a bounded time, and a claim that could
/// not be released is over after a lease.
#[tokio::test(flavor = "multi_thread")]
async fn a_store_closes_in_time_while_the_server_is_stopped() {
    let bench = Bench::start(SHORT).await;
    let store = open(&bench.url(), SHORT).await;
    let a = store.campaign(KEY, options("a", SHORT)).await.unwrap();
    let first = a.next_term().await.unwrap().token();
    bench.server.pause();
    let began = now();
    store.close().await.unwrap();
    let took = now().since(began);
    // The release takes two seconds, and the connection some more. The rest is for a busy machine.
    assert!(took < Duration::from_secs(15), "{took:?}");
    assert!(!a.is_leader());
    bench.server.resume();
    assert!(bench.join("b").await.won(1).await.token > first);
}

/// An operator deletes the leader's claim. The leader reports `Lost(Deleted)` as soon as it learns of it, and another
/// candidate leads once no previous leader can believe that it still leads.
#[tokio::test(flavor = "multi_thread")]
async fn a_leader_whose_claim_is_deleted_reports_it_and_is_followed_once_it_has() {
    let bench = Bench::start(SHORT).await;
    let (a, b, first, probe) = with_another(&bench, bench.join("a").await).await;

    let before = now();
    bench.delete_claim_of("a").await;
    let lost = a.lost(1).await;
    assert_eq!(lost.reason, Reason::Deleted);
    assert!(lost.at < before + BUSY, "{:?}", lost.at.since(before));
    let (at, next) = next_leader(&[&a, &b], first.token).await;
    let (earliest, took) = (wait_after_a_deletion(SHORT), next.started.since(before));
    assert!(took >= earliest && took < earliest + SHORT / 3 + BUSY, "reported after {took:?}");
    bench.await_joined(if at == 0 { &["a", "b"] } else { &["b", "a"] });
    probe.verdict();
}
