//! The bucket is deleted and made again under a leader.

use async_nats::jetstream::kv;
use incumbent::store::Operate;
use incumbent::store::nats::{InitOptions, init};
use incumbent::{Reason, Trouble};
use incumbent_testkit::wait;

use crate::actor::{PATIENCE, before_a_renewal, next_leader};
use crate::bench::*;
use crate::witness::Witness;

/// The bucket is deleted and made again: `Lost(StoreReset)`, told as trouble, and nobody leads before the new
/// bucket is a lease old; then with a larger token.
#[tokio::test(flavor = "multi_thread")]
async fn nobody_leads_in_a_new_bucket_before_it_is_a_lease_old() {
    let bench = Bench::start(SHORT).await;
    let a = bench.join("a").await;
    let first = a.won(1).await;
    let b = bench.join("b").await;
    b.sees("a").await;
    let witness = Witness::of(&[&a, &b]);

    bench.jetstream().await.delete_key_value(BUCKET).await.unwrap();
    let made = now();
    init(&settings(&bench.server.url()), &InitOptions::new(SHORT)).await.unwrap();
    assert_eq!(a.lost(1).await.reason, Reason::StoreReset);
    let reset = |trouble: &Trouble| matches!(trouble, Trouble::StoreReset { barred: false, .. });
    a.trouble("the reset", reset).await;
    let (_, next) = next_leader(&[&a, &b], first.token).await;
    assert!(next.token.incarnation > first.token.incarnation);
    assert!(next.started >= made + SHORT, "told after {:?}", next.started.since(made));
    witness.verdict();
}

/// The bucket is deleted and stays away: told as trouble, and `Lost` at the deadline at the latest; where it is
/// made at last, somebody leads there.
#[tokio::test(flavor = "multi_thread")]
async fn without_a_bucket_nobody_leads_and_everybody_is_told() {
    let bench = Bench::start(SHORT).await;
    let a = bench.join("a").await;
    let first = a.won(1).await;
    let witness = Witness::of(&[&a]);

    bench.jetstream().await.delete_key_value(BUCKET).await.unwrap();
    let deleted = now();
    let names_it = |trouble: &Trouble| trouble.to_string().contains("incumbent init");
    a.trouble("the missing bucket", names_it).await;
    let lost = a.lost(1).await;
    assert!(matches!(lost.reason, Reason::Expired | Reason::StoreReset), "{lost:?}");
    init(&settings(&bench.server.url()), &InitOptions::new(SHORT)).await.unwrap();
    let next = a.won(2).await;
    assert!(next.token.incarnation > first.token.incarnation);
    assert!(lost.at < deleted + SHORT + BUSY, "{:?}", lost.at.since(deleted));
    witness.verdict();
}

/// The bucket is deleted and made again, and a renewal that was held up on its way finds the very sequence it
/// expects, under somebody else's record: it is applied, nobody is told of a win by it before the bucket is
/// a lease old, and one leads.
#[tokio::test(flavor = "multi_thread")]
async fn an_old_write_whose_sequence_happens_to_match_makes_no_leader() {
    let bench = Bench::start(STEADY).await;
    let proxy = bench.proxy();
    let a = bench.join_through(&proxy, "a").await;
    let first = a.won(1).await;
    let b = bench.join("b").await;
    b.sees("a").await;
    let witness = Witness::of(&[&a, &b]);

    // Its next renewal is under way for as long as it takes to make the bucket anew.
    before_a_renewal(&a, STEADY).await;
    proxy.cut_to_server();
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
    // Somebody else's record now has the sequence that the held renewal expects.
    assert_eq!(bench.operator.put(KEY, b"an operator").await.unwrap().0, expected);
    wait::until("the renewal to be sent", PATIENCE, || now() > cut + STEADY / 10);
    proxy.heal();
    bench.record_of("a").await;
    assert!(now() < made + STEADY, "the operator's record expired before the renewal arrived");

    assert_eq!(a.lost(1).await.reason, Reason::StoreReset);
    let (_, next) = next_leader(&[&a, &b], first.token).await;
    assert!(next.token.incarnation > first.token.incarnation);
    assert!(next.started >= made + STEADY, "told after {:?}", next.started.since(made));
    witness.verdict();
}
