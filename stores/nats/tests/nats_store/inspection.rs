//! The bucket's inspection.

use std::time::Duration;

use incumbent::incumbent_core::store::{Expect, FaultKind};
use incumbent::store::Adapter;
use incumbent::store::nats::{InitOptions, init};
use incumbent_testkit::wait::{self, GENEROUS};

use crate::support::*;

#[tokio::test]
async fn the_facts_are_those_of_the_stream() {
    let bench = Bench::start().await;
    let before = within(bench.store.inspect()).await.unwrap();
    assert_eq!(before.max_age, Some(LEASE));
    assert_eq!(before.newest.unwrap().0, 0);
    assert!(!before.never_used);
    assert!(before.age.unwrap() < GENEROUS);
    let stream = bench.jetstream().await.get_stream("KV_elections").await.unwrap();
    let created = stream.cached_info().created.unix_timestamp_nanos();
    assert_eq!(i128::from(before.incarnation.0), created);

    let revision = applied(&bench.store, KEY, &acquire(Expect::Absent)).await;
    let after = within(bench.store.inspect()).await.unwrap();
    assert_eq!(after.newest, Some(revision));
    assert_eq!(after.incarnation, before.incarnation);
    assert!(after.age > before.age && after.asked_at > before.asked_at);
}

#[tokio::test]
async fn a_bucket_keeps_its_incarnation_over_a_restart() {
    let mut bench = Bench::start().await;
    let before = within(bench.store.inspect()).await.unwrap().incarnation;
    bench.server.restart();
    within(bench.store.reconnect()).await;
    assert_eq!(within(bench.store.inspect()).await.unwrap().incarnation, before);
}

#[tokio::test]
async fn a_bucket_that_is_made_again_has_a_larger_incarnation() {
    let bench = Bench::start().await;
    let before = within(bench.store.inspect()).await.unwrap().incarnation;
    bench.jetstream().await.delete_stream("KV_elections").await.unwrap();
    init(&settings(&bench.server.url()), &InitOptions::new().lease(LEASE)).await.unwrap();
    assert!(within(bench.store.inspect()).await.unwrap().incarnation > before);
}

#[tokio::test]
async fn a_bucket_that_is_made_again_and_unsafe_is_a_fault() {
    let bench = Bench::start().await;
    let jetstream = bench.jetstream().await;
    let mut config = jetstream.get_stream("KV_elections").await.unwrap().cached_info().config.clone();
    jetstream.delete_stream("KV_elections").await.unwrap();
    config.storage = async_nats::jetstream::stream::StorageType::Memory;
    jetstream.create_stream(config).await.unwrap();
    let fault = within(bench.store.inspect()).await.unwrap_err();
    assert_eq!(fault.kind, FaultKind::Broken);
    assert!(fault.detail.contains("kept in memory"), "{fault}");
}

#[tokio::test]
async fn a_maximum_age_that_is_changed_is_reported() {
    let bench = Bench::start().await;
    let options = InitOptions::new().lease(Duration::from_secs(60)).update(true);
    assert!(init(&settings(&bench.server.url()), &options).await.unwrap().updated);
    assert_eq!(within(bench.store.inspect()).await.unwrap().max_age, Some(Duration::from_secs(60)));
}

#[tokio::test]
async fn a_name_stated_to_be_new_is_so_until_the_bucket_is_made_again() {
    let bench = Bench::with(&InitOptions::new().lease(LEASE).never_used(true)).await;
    assert!(within(bench.store.inspect()).await.unwrap().never_used);
    let jetstream = bench.jetstream().await;
    let config = jetstream.get_stream("KV_elections").await.unwrap().cached_info().config.clone();
    jetstream.delete_stream("KV_elections").await.unwrap();
    jetstream.create_stream(config).await.unwrap();
    wait::until_async("the bucket made again", GENEROUS, || async {
        within(bench.store.inspect()).await.is_ok_and(|info| !info.never_used)
    })
    .await;
}
