//! Faults of the network between one candidate and the server.

use incumbent::{Clock, Reason, State};
use incumbent_testkit::proxy::Proxy;

use crate::actor::before_a_renewal;
use crate::bench::*;
use crate::probe::last_led;
use crate::rows::with_another;

/// All packets vanish in both directions, and the connections stay open. The term ends with `Lost(Expired)` at the
/// deadline and not before, and the other candidate succeeds.
#[tokio::test(flavor = "multi_thread")]
async fn a_leader_that_is_cut_off_leads_until_its_deadline_and_no_longer() {
    leads_until_its_deadline(Proxy::cut).await;
}

/// Only the server's packets vanish: answers that do not arrive extend no deadline of the leader.
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
    let (a, b, first, probe) = with_another(&bench, bench.join_through(&proxy, "a").await).await;

    // At any other moment, the client would give up the connection before it sends the next renewal.
    before_a_renewal(&a, SHORT).await;
    cut(&proxy);
    let silent = now();
    let proven = a.candidate.term().expect("it leads").deadline();
    let lost = a.lost(1).await;
    assert_eq!(lost.reason, Reason::Expired);
    assert!(lost.at >= proven, "given up {:?} too early", proven.since(lost.at));
    let next = b.won(1).await;
    assert!(next.token > first.token);
    // Renewals that arrive but are not acknowledged keep the claim for at most a lease after the deadline.
    assert!(next.started < lost.at + followed_within(SHORT), "{:?}", next.started.since(lost.at));

    // Closing the connections loses the requests in flight. Then the network works again.
    proxy.close_all();
    proxy.heal();
    a.observes("b").await;
    a.is(State::Waiting).await;
    bench.await_joined(&["b", "a"]);
    let led = last_led(&probe.verdict()[0]);
    let latest = (silent + SHORT).before(margin(SHORT));
    assert!(led <= latest, "led {:?} too long", led.since(latest));
}

/// All packets are held back for a moment, and the connections stay open: the term continues.
#[tokio::test(flavor = "multi_thread")]
async fn a_leader_survives_a_short_silence() {
    leads_on_after_a_cut(|_| {}).await;
}

/// All packets vanish for a moment, and the connections with them: the term continues.
#[tokio::test(flavor = "multi_thread")]
async fn a_leader_survives_a_short_cut() {
    leads_on_after_a_cut(Proxy::close_all).await;
}

async fn leads_on_after_a_cut(end: impl Fn(&Proxy)) {
    let bench = Bench::start(LONG).await;
    let proxy = bench.proxy();
    let (a, b, _, probe) = with_another(&bench, bench.join_through(&proxy, "a").await).await;

    before_a_renewal(&a, LONG).await;
    proxy.cut();
    // This is long enough for a renewal to fall due and stay unanswered.
    Clock::system().sleep_until(now() + LONG / 10).await;
    end(&proxy);
    proxy.heal();
    let healed = now();
    a.renewed_after(healed, LONG).await;
    assert_eq!((a.losses(), b.wins()), (vec![], vec![]));
    probe.verdict();
}
