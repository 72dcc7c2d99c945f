//! The bucket is recreated under a leader, or goes back in time.

use std::fs;
use std::path::Path;

use async_nats::jetstream::kv;
use incumbent::incumbent_core::{Incarnation, Revision, Token};
use incumbent::store::nats::{InitOptions, init};
use incumbent::store::{AcceptReset, StoreAdmin};
use incumbent::{Reason, Warning};
use incumbent_testkit::wait;

use crate::actor::{Actor, TIME_LIMIT, before_a_renewal, is_before_a_renewal, next_leader};
use crate::bench::*;
use crate::probe::Probe;

/// The bucket is deleted and created again. The term ends with `Lost(StoreReset)` and a warning, and there is no leader
/// until the new bucket is a lease old. Then a candidate leads with a larger token.
#[tokio::test(flavor = "multi_thread")]
async fn no_candidate_leads_in_a_new_bucket_before_it_is_a_lease_old() {
    let bench = Bench::start(SHORT).await;
    let a = bench.join("a").await;
    let first = a.won(1).await;
    let b = bench.join("b").await;
    b.observes("a").await;
    let probe = Probe::of(&[&a, &b]);

    bench.jetstream().await.delete_key_value(BUCKET).await.unwrap();
    let made = now();
    init(&settings(&bench.server.url()), &InitOptions::new().lease(SHORT)).await.unwrap();
    assert_eq!(a.lost(1).await.reason, Reason::StoreReset);
    let reset = |warning: &Warning| matches!(warning, Warning::StoreReset { barred: false, .. });
    a.warning("the reset", reset).await;
    let (_, next) = next_leader(&[&a, &b], first.token).await;
    assert!(next.token.incarnation > first.token.incarnation);
    assert!(next.started >= made + SHORT, "reported after {:?}", next.started.since(made));
    probe.verdict();
}

/// The bucket is deleted and stays gone: there is a warning, and `Lost` at the deadline at the latest. Once the bucket
/// is created again, a candidate leads there.
#[tokio::test(flavor = "multi_thread")]
async fn without_a_bucket_no_candidate_leads_and_each_is_warned() {
    let bench = Bench::start(SHORT).await;
    let a = bench.join("a").await;
    let first = a.won(1).await;
    let probe = Probe::of(&[&a]);

    bench.jetstream().await.delete_key_value(BUCKET).await.unwrap();
    let deleted = now();
    let names_it = |warning: &Warning| warning.to_string().contains("no longer exists; create it again");
    a.warning("the missing bucket", names_it).await;
    let lost = a.lost(1).await;
    assert!(matches!(lost.reason, Reason::Expired | Reason::StoreReset), "{lost:?}");
    init(&settings(&bench.server.url()), &InitOptions::new().lease(SHORT)).await.unwrap();
    let next = a.won(2).await;
    assert!(next.token.incarnation > first.token.incarnation);
    assert!(lost.at < deleted + SHORT + BUSY, "{:?}", lost.at.since(deleted));
    probe.verdict();
}

/// The bucket is deleted and created again, and a delayed renewal finds exactly the sequence that it expects, under
/// another writer's record. The renewal is applied, but no candidate reports a win by it. A candidate leads once the
/// bucket is a lease old.
#[tokio::test(flavor = "multi_thread")]
async fn an_old_write_whose_sequence_happens_to_match_makes_no_leader() {
    let bench = Bench::start(STEADY).await;
    let proxy = bench.proxy();
    let a = bench.join_through(&proxy, "a").await;
    let first = a.won(1).await;
    let b = bench.join("b").await;
    b.observes("a").await;
    let probe = Probe::of(&[&a, &b]);

    // The next renewal of `a` must stay in flight until the bucket has been created again.
    loop {
        before_a_renewal(&a, STEADY).await;
        proxy.cut_to_server();
        if is_before_a_renewal(&a, STEADY) {
            break;
        }
        // On a busy machine the renewal may have been sent just before the cut.
        proxy.heal();
    }
    let cut = now();
    let expected = bench.record().await.revision.0;
    let jetstream = bench.jetstream().await;
    jetstream.delete_key_value(BUCKET).await.unwrap();
    let made = now();
    let plain = kv::Config { bucket: BUCKET.into(), history: 1, max_age: STEADY, ..Default::default() };
    jetstream.create_key_value(plain).await.unwrap();
    for _ in 1..expected {
        bench.operator.put("another", b"").await.unwrap();
    }
    // Another writer's record now has the sequence that the held renewal expects.
    assert_eq!(bench.operator.put(KEY, b"an operator").await.unwrap().0, expected);
    wait::until("the renewal to be sent", TIME_LIMIT, || now() > cut + STEADY / 10);
    proxy.heal();
    bench.record_of("a").await;
    assert!(now() < made + STEADY, "the operator's record expired before the renewal arrived");

    assert_eq!(a.lost(1).await.reason, Reason::StoreReset);
    let (_, next) = next_leader(&[&a, &b], first.token).await;
    assert!(next.token.incarnation > first.token.incarnation);
    assert!(next.started >= made + STEADY, "reported after {:?}", next.started.since(made));
    probe.verdict();
}

/// A server loses more acknowledged writes than candidates make up for by themselves, and every candidate remembers
/// those writes. No candidate leads until an operator accepts that tokens start again. An acceptance of other tokens or
/// of another incarnation changes nothing.
#[tokio::test(flavor = "multi_thread")]
async fn after_lost_writes_that_all_remember_someone_leads_once_an_operator_accepts() {
    let mut bench = Bench::start(SHORT).await;
    let kept = tempfile::tempdir().unwrap();
    let stored = bench.server.folder().join("store");
    bench.server.stop();
    copy(&stored, kept.path());
    bench.server.restart();
    for _ in 0..1000 {
        wait::until_async("a write to be applied", TIME_LIMIT, || async {
            bench.operator.put("filler", b"x").await.is_ok()
        })
        .await;
    }
    let store = open(&bench.server.url(), SHORT).await;
    let mut beacon = store.observe("beacon").await.unwrap();
    let join = async |name| Actor::new(store.campaign(KEY, options(name, SHORT)).await.unwrap());
    let a = join("a").await;
    let first = a.won(1).await;
    let b = join("b").await;
    b.observes("a").await;

    bench.server.kill();
    fs::remove_dir_all(&stored).unwrap();
    copy(kept.path(), &stored);
    bench.server.restart();
    let seen = |warning: &Warning| match warning {
        Warning::StoreReset { seen, barred: true, .. } => *seen,
        _ => None,
    };
    let stays_out = |warning: &Warning| seen(warning).is_some();
    assert_eq!(seen(&a.warning("the reset", stays_out).await), Some(first.token));
    assert!(seen(&b.warning("the reset", stays_out).await) >= Some(first.token));
    assert!(a.lost(1).await.token == first.token);

    let now = store.store_info().await.unwrap();
    assert_eq!(now.incarnation, first.token.incarnation, "a restore keeps the incarnation");
    assert!(now.newest.unwrap() < first.token.sequence);
    let Token { incarnation: Incarnation(incarnation), sequence: Revision(sequence) } = first.token;
    let smaller = Token { sequence: Revision(sequence - 1), ..first.token };
    for request in [
        AcceptReset { seen: smaller, incarnation: now.incarnation },
        AcceptReset { seen: first.token, incarnation: Incarnation(incarnation - 1) },
    ] {
        request.ask(&bench.operator, KEY).await.unwrap();
    }
    // The watch shows the beacon only after it has shown the requests.
    bench.operator.put("beacon", b"lit").await.unwrap();
    let lit = async { while beacon.next().await.is_some_and(|seen| seen.leader.is_none()) {} };
    tokio::time::timeout(TIME_LIMIT, lit).await.expect("the beacon is not seen");
    assert_eq!((a.wins().len(), b.wins().len()), (1, 0));
    assert_eq!(store.leader(KEY).await.unwrap(), None);

    let accepted = AcceptReset { seen: first.token, incarnation: now.incarnation };
    accepted.ask(&bench.operator, KEY).await.unwrap();
    wait::until_async("a leader", TIME_LIMIT, || async {
        a.candidate.is_leader() || b.candidate.is_leader()
    })
    .await;
    let leader = store.leader(KEY).await.unwrap().unwrap();
    assert!(leader.revision < first.token.sequence, "tokens have started again: {leader:?}");
}

/// Copies a folder with its content.
fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copy(&entry.path(), &target);
        } else {
            fs::copy(entry.path(), target).unwrap();
        }
    }
}
