//! Reading, listing, and expiry.

use std::time::Duration;

use async_nats::jetstream::message::PublishMessage;
use incumbent::incumbent_core::record::{Entry, Kind};
use incumbent::incumbent_core::store::Expect;
use incumbent::store::nats::{InitOptions, init};
use incumbent::store::{Adapter, StoreAdmin};
use incumbent_testkit::nats::{NatsServer, Options};
use incumbent_testkit::wait::{self, GENEROUS};

use crate::support::*;

const SHORT: Duration = Duration::from_secs(3);

#[tokio::test]
async fn an_empty_key_is_vacant() {
    let bench = Bench::start().await;
    assert_eq!(read(&bench.store, KEY).await, Entry::Vacant);
}

#[tokio::test]
async fn a_record_reads_back_with_its_headers() {
    let bench = Bench::start().await;
    let revision = applied(&bench.store, KEY, &acquire(Expect::Absent)).await;
    let Entry::Live(record) = read(&bench.store, KEY).await else { panic!("not live") };
    assert_eq!(record.revision, revision);
    assert_eq!(record.candidate, "worker-1");
    assert_eq!(record.lease, Some(LEASE));
    assert_eq!(record.write_id.unwrap().to_string(), "000000000000000000000000000000aa.0000000001");
}

#[tokio::test]
async fn a_value_written_by_a_plain_client_is_a_foreign_record() {
    let bench = Bench::start().await;
    let bucket = bench.jetstream().await.get_key_value(BUCKET).await.unwrap();
    bucket.put(KEY, "go-1".into()).await.unwrap();
    let Entry::Live(record) = read(&bench.store, KEY).await else { panic!("not live") };
    assert_eq!((record.candidate.as_str(), record.write_id, record.lease), ("go-1", None, None));
}

#[tokio::test]
async fn a_deletion_by_a_plain_client_certifies_nothing() {
    let bench = Bench::start().await;
    applied(&bench.store, KEY, &acquire(Expect::Absent)).await;
    let bucket = bench.jetstream().await.get_key_value(BUCKET).await.unwrap();
    bucket.delete(KEY).await.unwrap();
    assert!(matches!(read(&bench.store, KEY).await, Entry::Deleted { .. }));
}

#[tokio::test]
async fn a_list_holds_the_newest_entry_of_every_key() {
    let bench = Bench::start().await;
    assert_eq!(within(bench.store.list()).await.unwrap(), []);
    let held = applied(&bench.store, "b", &acquire(Expect::Absent)).await;
    let renewed = applied(&bench.store, "b", &acquire(Expect::Revision(held))).await;
    let first = applied(&bench.store, "a.x", &acquire(Expect::Absent)).await;
    let released = applied(&bench.store, "a.x", &release(Expect::Revision(first))).await;
    let listed = within(bench.store.list()).await.unwrap();
    let listed: Vec<_> = listed.iter().map(|at| (at.key.as_str(), at.entry.revision().unwrap())).collect();
    assert_eq!(listed, [("a.x", released), ("b", renewed)]);
}

#[tokio::test]
async fn a_record_past_its_time_disappears_without_a_trace_where_there_are_no_markers() {
    let bench = Bench::with(&InitOptions::new().lease(SHORT)).await;
    assert!(!bench.store.capabilities().expiry_pushed);
    applied(&bench.store, KEY, &acquire_for(Expect::Absent, SHORT)).await;
    wait::until_async("the record to expire", GENEROUS, || async {
        read(&bench.store, KEY).await == Entry::Vacant
    })
    .await;
    applied(&bench.store, KEY, &acquire_for(Expect::Absent, SHORT)).await;
}

#[tokio::test]
async fn a_record_past_its_time_is_pushed_to_watchers_where_there_are_markers() {
    let bench = Bench::with(&InitOptions::new().lease(SHORT).markers(true)).await;
    assert!(bench.store.capabilities().expiry_pushed);
    let mut watch = within(bench.store.watch()).await.unwrap();
    let held = applied(&bench.store, KEY, &acquire_for(Expect::Absent, SHORT)).await;
    assert_eq!(next(&mut watch).await.entry.revision(), Some(held));
    let marker = next(&mut watch).await;
    assert_eq!(marker.key, KEY);
    let Entry::Expired { revision } = marker.entry else { panic!("no marker: {marker:?}") };
    assert!(revision > held);
}

#[tokio::test]
async fn a_key_can_be_taken_over_its_expiry_marker() {
    let bench = Bench::with(&InitOptions::new().lease(Duration::from_secs(60)).markers(true)).await;
    let mut watch = within(bench.store.watch()).await.unwrap();
    applied(&bench.store, KEY, &acquire_for(Expect::Absent, SHORT)).await;
    next(&mut watch).await;
    let marker = next(&mut watch).await.entry.revision().unwrap();
    assert_eq!(read(&bench.store, KEY).await, Entry::Expired { revision: marker });
    applied(&bench.store, KEY, &acquire(Expect::Revision(marker))).await;
}

#[tokio::test]
async fn a_lease_of_its_own_ends_before_the_buckets() {
    let bench = Bench::with(&InitOptions::new().lease(Duration::from_secs(3600)).own_leases(true)).await;
    let capabilities = bench.store.capabilities();
    assert!(capabilities.own_lease);
    assert_eq!(capabilities.shortest, Duration::from_secs(1));
    applied(&bench.store, KEY, &acquire_for(Expect::Absent, Duration::from_secs(1))).await;
    wait::until_async("the record to expire", GENEROUS, || async {
        read(&bench.store, KEY).await == Entry::Vacant
    })
    .await;
}

#[tokio::test]
async fn a_purge_of_a_key_leaves_no_trace_even_where_there_are_markers() {
    let bench = Bench::with(&InitOptions::new().lease(LEASE).markers(true)).await;
    applied(&bench.store, KEY, &acquire(Expect::Absent)).await;
    let stream = bench.jetstream().await.get_stream("KV_elections").await.unwrap();
    stream.purge().filter("$KV.elections.jobs.nightly").await.unwrap();
    assert_eq!(read(&bench.store, KEY).await, Entry::Vacant);
}

#[tokio::test]
async fn a_purge_is_denied_where_there_are_no_markers() {
    let bench = Bench::start().await;
    let held = applied(&bench.store, KEY, &acquire(Expect::Absent)).await;
    let jetstream = bench.jetstream().await;
    let stream = jetstream.get_stream("KV_elections").await.unwrap();
    stream.purge().await.unwrap_err();
    // A plain client's purge of a key is a rollup.
    jetstream.get_key_value(BUCKET).await.unwrap().purge(KEY).await.unwrap_err();
    assert_eq!(read(&bench.store, KEY).await.revision(), Some(held));
}

#[tokio::test]
async fn megabytes_under_a_key_are_reported_by_their_length_and_give_way_to_a_deletion() {
    let server = NatsServer::start(Options::new().config("max_payload: 8MB"));
    init(&settings(&server.url()), &InitOptions::new().lease(LEASE)).await.unwrap();
    let (store, _) = open(&settings(&server.url())).await;
    let mut watch = within(store.watch()).await.unwrap();
    for bytes in [1_000_000, 7_000_000_u64] {
        let value = vec![b'x'; usize::try_from(bytes).unwrap()];
        let revision = within(store.put(KEY, &value)).await.unwrap();
        let expected = Entry::oversize(revision, Kind::Live, bytes);
        assert_eq!(next(&mut watch).await.entry, expected);
        assert_eq!(read(&store, KEY).await, expected);
        let listed = within(store.list()).await.unwrap();
        assert_eq!(listed.into_iter().map(|watched| watched.entry).collect::<Vec<_>>(), [expected]);
    }
    let revision = within(store.delete(KEY)).await.unwrap();
    applied(&store, KEY, &acquire(Expect::Revision(revision))).await;
}

#[tokio::test]
async fn thousands_of_headers_are_counted_with_the_value() {
    let bench = Bench::start().await;
    let jetstream = bench.jetstream().await;
    let send = async |headers: usize, value: usize| {
        let publish = (0..headers).fold(PublishMessage::build(), |publish, number| {
            publish.header(format!("Incumbent-Meta-{number:04}").as_str(), "12345")
        });
        let publish = publish.payload(vec![b'x'; value].into());
        let sent = jetstream.send_publish(format!("$KV.{BUCKET}.{KEY}"), publish).await.unwrap();
        within(async { sent.await.unwrap() }).await.sequence
    };
    // The server itself accepts no more than 64 KiB of headers.
    send(2_000, 10).await;
    let entry = read(&bench.store, KEY).await;
    let record = entry.live().unwrap();
    assert_eq!((record.metadata.len(), record.oversize), (2_000, None));
    send(2_000, 512).await;
    assert_eq!(read(&bench.store, KEY).await.live().unwrap().metadata.len(), 2_000);
    let sequence = send(2_000, 20_000).await;
    let bytes = 2_000 * (19 + 5) + 20_000;
    let expected = Entry::oversize(incumbent_core::Revision(sequence), Kind::Live, bytes);
    assert_eq!(read(&bench.store, KEY).await, expected);
}
