//! Orphans: records of a candidate that got no acknowledgement.

use std::time::Duration;

use incumbent::State;
use incumbent::incumbent_core::record::Entry;
use incumbent::store::Adapter;
use incumbent_testkit::wait;

use crate::actor::TIME_LIMIT;
use crate::bench::*;
use crate::probe::Probe;

/// A delay of answers that is long enough to see a write applied before its answer arrives.
const DELAY: Duration = Duration::from_millis(400);

/// The acknowledgement of an acquire is lost. The candidate finds its own record and acquires the key again; the
/// sequence of that second write is its token. No candidate waits for the record to expire.
#[tokio::test(flavor = "multi_thread")]
async fn a_candidate_retakes_its_own_record_when_the_acknowledgement_is_lost() {
    let bench = Bench::start(LONG).await;
    let proxy = bench.proxy();
    let store = open(&proxy.url(), LONG).await;
    proxy.delay_to_client(DELAY);
    let candidate = store.campaign(KEY, options("a", LONG)).await.unwrap();
    let a = crate::actor::Actor::new(candidate);
    let probe = Probe::of(&[&a]);

    let orphan = bench.record_of("a").await;
    let applied = now();
    proxy.delay_to_client(Duration::ZERO);
    proxy.close_all();
    let won = a.won(1).await;
    assert!(won.token.sequence > orphan.revision, "{won:?} by {orphan:?}");
    assert!(won.started < applied + LONG / 2, "after {:?}", won.started.since(applied));
    probe.verdict();
}

/// A candidate closes while its acquire is in flight: its orphan is removed, and does not delay other candidates for a
/// lease.
#[tokio::test(flavor = "multi_thread")]
async fn an_acquire_in_flight_at_a_close_keeps_no_candidate_out() {
    let bench = Bench::start(LONG).await;
    let proxy = bench.proxy();
    let store = open(&proxy.url(), LONG).await;
    proxy.delay_to_server(DELAY);
    let candidate = store.campaign(KEY, options("a", LONG)).await.unwrap();
    let a = crate::actor::Actor::new(candidate);
    a.is(State::Acquiring).await;
    let probe = Probe::of(&[&a]);

    let closing = now();
    a.candidate.close().await.unwrap();
    let entry = bench.operator.read(KEY).await.unwrap();
    assert!(matches!(entry, Entry::Released(_)), "{entry:?}");
    let b = bench.join("b").await;
    let won = b.won(1).await;
    assert!(won.started < closing + LONG / 2, "after {:?}", won.started.since(closing));
    assert_eq!(a.wins(), []);
    probe.verdict();
}

/// The reply to a release is lost. The release is repeated until it is certain, and the successor leads at once.
#[tokio::test(flavor = "multi_thread")]
async fn a_release_whose_reply_is_lost_keeps_no_candidate_out() {
    let bench = Bench::start(LONG).await;
    let proxy = bench.proxy();
    let a = bench.join_through(&proxy, "a").await;
    let first = a.won(1).await;
    let probe = Probe::of(&[&a]);

    proxy.cut_to_client();
    let leaving = a.candidate.request_resign();
    wait::until_async("the release to be applied", TIME_LIMIT, || async {
        matches!(bench.operator.read(KEY).await.unwrap(), Entry::Released(_))
    })
    .await;
    let released = now();
    proxy.close_all();
    proxy.heal();
    leaving.await.unwrap();
    // No other candidate exists, so the candidate enters the election again and wins another term.
    let next = a.won(2).await;
    assert!(next.token > first.token);
    assert!(next.started < released + LONG / 2, "after {:?}", next.started.since(released));
    probe.verdict();
}
