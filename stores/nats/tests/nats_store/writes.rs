//! Each outcome of a write, provoked on a real server.

use std::time::Duration;

use incumbent::incumbent_core::Revision;
use incumbent::incumbent_core::record::Entry;
use incumbent::incumbent_core::store::{Expect, FaultKind, Outcome};
use incumbent::store::Adapter;
use incumbent::store::nats::InitOptions;

use crate::support::*;

#[tokio::test]
async fn a_write_that_finds_what_it_expects_is_applied() {
    let bench = Bench::start().await;
    let first = applied(&bench.store, KEY, &acquire(Expect::Absent)).await;
    let second = applied(&bench.store, KEY, &acquire(Expect::Revision(first))).await;
    assert!(second > first);
    assert_eq!(read(&bench.store, KEY).await.revision(), Some(second));
}

#[tokio::test]
async fn a_write_that_finds_something_else_is_refused_with_what_is_there() {
    let bench = Bench::start().await;
    let present = applied(&bench.store, KEY, &acquire(Expect::Absent)).await;
    for expect in [Expect::Absent, Expect::Revision(Revision(present.0 + 7))] {
        let outcome = within(bench.store.write(KEY, acquire(expect))).await;
        assert_eq!(outcome, Outcome::Refused { current: present }, "{expect:?}");
    }
}

#[tokio::test]
async fn a_write_that_expects_a_revision_of_an_empty_key_is_refused_with_zero() {
    let bench = Bench::start().await;
    let outcome = within(bench.store.write(KEY, acquire(Expect::Revision(Revision(3))))).await;
    assert_eq!(outcome, Outcome::Refused { current: Revision(0) });
}

#[tokio::test]
async fn a_release_leaves_a_tombstone_that_certifies_it() {
    let bench = Bench::start().await;
    let held = applied(&bench.store, KEY, &acquire(Expect::Absent)).await;
    let tombstone = applied(&bench.store, KEY, &release(Expect::Revision(held))).await;
    let Entry::Released(release) = read(&bench.store, KEY).await else { panic!("no release") };
    assert_eq!((release.revision, release.incarnation.0), (tombstone, 9));
    applied(&bench.store, KEY, &acquire(Expect::Revision(tombstone))).await;
}

#[tokio::test]
async fn two_elections_in_one_bucket_do_not_touch_each_other() {
    let bench = Bench::start().await;
    applied(&bench.store, "a", &acquire(Expect::Absent)).await;
    applied(&bench.store, "b", &acquire(Expect::Absent)).await;
}

#[tokio::test]
async fn a_full_bucket_is_broken_and_keeps_what_it_holds() {
    let bench = Bench::start().await;
    let held = applied(&bench.store, KEY, &acquire(Expect::Absent)).await;
    let jetstream = bench.jetstream().await;
    let mut config = jetstream.get_stream("KV_elections").await.unwrap().cached_info().config.clone();
    config.max_messages = 1;
    jetstream.update_stream(&config).await.unwrap();

    let fault = fault(&bench.store, "another", &acquire(Expect::Absent)).await;
    assert_eq!(fault.kind, FaultKind::Broken);
    assert!(fault.detail.contains("\"elections\" is full"), "{fault}");
    assert_eq!(read(&bench.store, KEY).await.revision(), Some(held));
}

#[tokio::test]
async fn a_write_to_a_bucket_that_is_gone_was_not_sent() {
    let bench = Bench::start().await;
    bench.jetstream().await.delete_stream("KV_elections").await.unwrap();
    assert_eq!(within(bench.store.write(KEY, acquire(Expect::Absent))).await, Outcome::NotSent);
    let fault = within(bench.store.read(KEY)).await.unwrap_err();
    assert_eq!(fault.kind, FaultKind::Broken);
    let fault = within(bench.store.inspect()).await.unwrap_err();
    assert!(fault.detail.contains("\"elections\" no longer exists"), "{fault}");
}

#[tokio::test]
async fn a_record_the_bucket_finds_too_large_is_broken() {
    let bench = Bench::start().await;
    let jetstream = bench.jetstream().await;
    let mut config = jetstream.get_stream("KV_elections").await.unwrap().cached_info().config.clone();
    config.max_message_size = 10;
    jetstream.update_stream(&config).await.unwrap();
    let fault = fault(&bench.store, KEY, &acquire(Expect::Absent)).await;
    assert_eq!(fault.kind, FaultKind::Broken);
    assert!(fault.detail.contains("(10054)"), "{fault}");
}

#[tokio::test]
async fn a_lease_of_its_own_goes_with_the_record() {
    let bench = Bench::with(&InitOptions::new().lease(Duration::from_secs(3600)).own_leases(true)).await;
    applied(&bench.store, KEY, &acquire_for(Expect::Absent, Duration::from_millis(2500))).await;
    let stream = bench.jetstream().await.get_stream("KV_elections").await.unwrap();
    let message = stream.get_last_raw_message_by_subject("$KV.elections.jobs.nightly").await.unwrap();
    assert_eq!(message.headers.get("Nats-TTL").unwrap().as_str(), "3s");
}

#[tokio::test]
async fn a_bucket_that_takes_lease_times_no_more_is_broken() {
    let bench = Bench::with(&InitOptions::new().lease(Duration::from_secs(3600)).own_leases(true)).await;
    let jetstream = bench.jetstream().await;
    let mut config = jetstream.get_stream("KV_elections").await.unwrap().cached_info().config.clone();
    jetstream.delete_stream("KV_elections").await.unwrap();
    config.allow_message_ttl = false;
    jetstream.create_stream(config).await.unwrap();
    let fault = fault(&bench.store, KEY, &acquire_for(Expect::Absent, Duration::from_secs(5))).await;
    assert_eq!(fault.kind, FaultKind::Broken);
    assert!(fault.detail.contains("allow_msg_ttl"), "{fault}");
}
