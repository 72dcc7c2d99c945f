//! Faults of the network between one candidate and the server.

use std::time::Duration;

use incumbent::{Instant, Reason, State};
use incumbent_testkit::proxy::Proxy;
use incumbent_testkit::wait;

use crate::actor::{Actor, TIME_LIMIT, before_a_renewal, next_leader};
use crate::bench::*;
use crate::probe::{Probe, last_led};

/// Packets vanish, both ways, and the connections stay open: `Lost(Expired)` at the deadline and not before,
/// and the other candidate succeeds.
#[tokio::test(flavor = "multi_thread")]
async fn a_leader_that_is_cut_off_leads_until_its_deadline_and_no_longer() {
    leads_until_its_deadline(Proxy::cut).await;
}

/// Only the server's packets vanish: its acknowledgements extend no deadline of the leader.
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
    b.observes("a").await;
    let probe = Probe::of(&[&a, &b]);

    // Otherwise the client gives the connection up before it sends the next one.
    before_a_renewal(&a, SHORT).await;
    cut(&proxy);
    let silent = now();
    let proven = deadline(&a);
    let lost = a.lost(1).await;
    assert_eq!(lost.reason, Reason::Expired);
    assert!(lost.at >= proven, "given up {:?} too early", proven.since(lost.at));
    let next = b.won(1).await;
    assert!(next.token > first.token);
    // A renewal that arrived and was not acknowledged keeps the record for a lease, and no longer.
    assert!(next.started < silent + SHORT + SHORT / 3 + REMOVAL + BUSY, "{:?}", next.started.since(silent));

    // Requests under way are lost with the connection; then the network is whole again.
    proxy.close_all();
    proxy.heal();
    a.observes("b").await;
    a.is(State::Waiting).await;
    let led = last_led(&probe.verdict()[0]);
    let latest = (silent + SHORT).before(margin(SHORT));
    assert!(led <= latest, "led {:?} too long", led.since(latest));
}

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

/// A candidate is cut off while the leader is healthy: nothing changes for any of them.
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
    // Longer than the record it knows of can last.
    a.renewed_after(cut + STEADY + REMOVAL, STEADY).await;
    proxy.heal();
    let healed = now();
    a.renewed_after(healed, STEADY).await;
    b.is(State::Waiting).await;
    assert_eq!((a.losses().len(), b.wins().len()), (0, 0));
    probe.verdict();
}

/// A release is delayed until a successor leads, and then arrives: it is refused, and the successor keeps its lease.
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

/// A server restarts under a leader, faster than the lease runs out: the term goes on.
#[tokio::test(flavor = "multi_thread")]
async fn a_leader_survives_the_restart_of_the_server() {
    let mut bench = Bench::start(LONG).await;
    let a = bench.join("a").await;
    a.won(1).await;
    let b = bench.join("b").await;
    b.observes("a").await;
    let probe = Probe::of(&[&a, &b]);

    bench.server.restart();
    a.renewed_after(now(), LONG).await;
    assert_eq!((a.losses().len(), b.wins().len()), (0, 0));
    probe.verdict();
}

/// The server is away for longer than the lease: `Lost(Expired)`; when it is back a candidate leads again,
/// with a larger token.
#[tokio::test(flavor = "multi_thread")]
async fn while_the_server_is_away_no_candidate_leads_for_longer_than_a_lease() {
    let mut bench = Bench::start(SHORT).await;
    let a = bench.join("a").await;
    let first = a.won(1).await;
    let b = bench.join("b").await;
    b.observes("a").await;
    let probe = Probe::of(&[&a, &b]);

    let proven = deadline(&a);
    bench.server.kill();
    let killed = now();
    let lost = a.lost(1).await;
    assert_eq!(lost.reason, Reason::Expired);
    assert!(lost.at >= proven);
    assert!(!b.candidate.is_leader());
    bench.server.restart();
    let (_, next) = next_leader(&[&a, &b], first.token).await;
    assert!(next.started > (killed + SHORT).before(margin(SHORT)));
    probe.verdict();
}

/// All packets vanish for a moment, and the connections stay: the leader reconnects and leads on.
#[tokio::test(flavor = "multi_thread")]
async fn a_leader_survives_a_short_silence() {
    let bench = Bench::start(LONG).await;
    let proxy = bench.proxy();
    let a = bench.join_through(&proxy, "a").await;
    a.won(1).await;
    let probe = Probe::of(&[&a]);
    proxy.cut();
    // Long enough for a renewal to fail.
    let failing = now() + LONG / 3 + Duration::from_secs(1);
    wait::until_async("a renewal to fail", TIME_LIMIT, || async { now() > failing }).await;
    proxy.heal();
    a.renewed_after(failing, LONG).await;
    assert_eq!(a.losses(), []);
    probe.verdict();
}

fn deadline(actor: &Actor) -> Instant {
    actor.candidate.term().expect("it leads").deadline()
}
