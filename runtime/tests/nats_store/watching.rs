//! The watch over all keys.

use std::io::Write;
use std::time::Duration;

use futures_util::StreamExt;
use incumbent::incumbent_core::record::Entry;
use incumbent::incumbent_core::store::Expect;
use incumbent::store::Adapter;
use incumbent::store::nats::InitOptions;
use incumbent_testkit::proxy::Proxy;
use incumbent_testkit::wait::{self, GENEROUS};

use crate::support::*;

#[tokio::test]
async fn a_watch_delivers_the_present_entries_and_then_every_change_in_order() {
    let bench = Bench::start().await;
    let old = applied(&bench.store, "old", &acquire(Expect::Absent)).await;
    let newest = applied(&bench.store, "old", &acquire(Expect::Revision(old))).await;
    let mut watch = within(bench.store.watch()).await.unwrap();
    assert_eq!(next(&mut watch).await.entry.revision(), Some(newest));

    let mut held = applied(&bench.store, KEY, &acquire(Expect::Absent)).await;
    for _ in 0..20 {
        // Read before the next write: the server skips an entry that is replaced before it was sent.
        let seen = next(&mut watch).await;
        assert_eq!((seen.key.as_str(), seen.entry.revision()), (KEY, Some(held)));
        held = applied(&bench.store, KEY, &acquire(Expect::Revision(held))).await;
    }
    next(&mut watch).await;
    let released = applied(&bench.store, KEY, &release(Expect::Revision(held))).await;
    assert_eq!(next(&mut watch).await.entry.revision(), Some(released));
}

#[tokio::test]
async fn a_watch_ends_when_the_server_restarts_and_the_next_one_delivers_the_present_entries() {
    let mut bench = Bench::start().await;
    let held = applied(&bench.store, KEY, &acquire(Expect::Absent)).await;
    let mut watch = within(bench.store.watch()).await.unwrap();
    next(&mut watch).await;

    bench.server.restart();
    assert_eq!(within(watch.next()).await, None);
    within(bench.store.reconnect()).await;
    let mut watch = within(bench.store.watch()).await.unwrap();
    assert_eq!(next(&mut watch).await.entry.revision(), Some(held));
}

#[tokio::test]
async fn a_watch_ends_with_its_connection_and_waits_for_no_heartbeat() {
    let bench = Bench::start().await;
    // The longest heartbeat is 5 s, so it would take 15 s to miss three.
    let patient = settings(&bench.server.url()).ping_interval(Duration::from_secs(60));
    let (store, _) = open(&patient).await;
    let mut watch = within(store.watch()).await.unwrap();
    within(store.reconnect()).await;
    let ended = tokio::time::timeout(Duration::from_secs(10), watch.next()).await;
    assert_eq!(ended, Ok(None));
}

#[tokio::test]
async fn a_watch_ends_when_the_bucket_is_deleted() {
    let bench = Bench::start().await;
    let mut watch = within(bench.store.watch()).await.unwrap();
    bench.jetstream().await.delete_stream("KV_elections").await.unwrap();
    assert_eq!(within(watch.next()).await, None);
}

#[tokio::test]
async fn a_watch_ends_when_heartbeats_stay_away_though_the_connection_is_up() {
    let bench = Bench::start().await;
    let mut watch = within(bench.store.watch()).await.unwrap();
    let jetstream = bench.jetstream().await;
    let stream = jetstream.get_stream("KV_elections").await.unwrap();
    let consumers: Vec<_> = stream.consumer_names().map(Result::unwrap).collect().await;
    assert_eq!(consumers.len(), 1);
    stream.delete_consumer(&consumers[0]).await.unwrap();
    assert_eq!(within(watch.next()).await, None);
    assert_eq!(bench.events.so_far().len(), 1, "{:?}", bench.events.so_far());
}

#[tokio::test]
async fn a_watch_ends_when_a_heartbeat_reveals_a_missing_delivery() {
    let bench = Bench::start().await;
    let mut watch = within(bench.store.watch()).await.unwrap();
    let stream = bench.jetstream().await.get_stream("KV_elections").await.unwrap();
    let consumer = stream.consumers().next().await.unwrap().unwrap();
    let inbox = consumer.config.deliver_subject.unwrap();
    // The client library sends no status lines, so this speaks the protocol itself.
    let headers = "NATS/1.0 100 Idle Heartbeat\r\nNats-Last-Consumer: 9\r\n\r\n";
    let length = headers.len();
    let lines = format!("CONNECT {{\"headers\": true}}\r\nHPUB {inbox} {length} {length}\r\n{headers}\r\n");
    let mut client = std::net::TcpStream::connect(bench.server.address()).unwrap();
    client.write_all(lines.as_bytes()).unwrap();
    assert_eq!(within(watch.next()).await, None);
}

#[tokio::test]
async fn a_watch_that_nothing_happens_to_stays() {
    let bench = Bench::start().await;
    let mut watch = within(bench.store.watch()).await.unwrap();
    let sent = || bench.server.monitoring("/connz").unwrap()["connections"][0]["out_msgs"].as_u64().unwrap();
    let before = sent();
    // More than twice as many heartbeats as it would miss before it ended.
    let heartbeats = wait::until_async("heartbeats", GENEROUS, || async { sent() >= before + 8 });
    tokio::select! {
        biased;
        ended = watch.next() => panic!("it ended or delivered {ended:?}"),
        () = heartbeats => {}
    }
    let held = applied(&bench.store, KEY, &acquire(Expect::Absent)).await;
    assert_eq!(next(&mut watch).await.entry.revision(), Some(held));
}

#[tokio::test]
async fn a_watch_ends_when_the_network_goes_silent() {
    let bench = Bench::start().await;
    let proxy = Proxy::to(&bench.server.address());
    let (store, _) = open(&settings(&proxy.url())).await;
    let mut watch = within(store.watch()).await.unwrap();
    proxy.cut();
    assert_eq!(within(watch.next()).await, None);
}

#[tokio::test]
async fn a_watch_ends_when_the_store_is_closed() {
    let bench = Bench::start().await;
    let mut watch = within(bench.store.watch()).await.unwrap();
    bench.store.close().await;
    assert_eq!(within(watch.next()).await, None);
}

#[tokio::test]
async fn a_watch_that_is_dropped_leaves_no_consumer_behind() {
    let bench = Bench::start().await;
    let watch = within(bench.store.watch()).await.unwrap();
    let jetstream = bench.jetstream().await;
    let mut stream = jetstream.get_stream("KV_elections").await.unwrap();
    assert_eq!(stream.info().await.unwrap().state.consumer_count, 1);
    drop(watch);
    wait::until_some_async("the consumer to go", GENEROUS, || {
        let jetstream = jetstream.clone();
        async move {
            let stream = jetstream.get_stream("KV_elections").await.ok()?;
            (stream.cached_info().state.consumer_count == 0).then_some(())
        }
    })
    .await;
}

#[tokio::test]
async fn a_listing_ends_though_entries_that_it_counted_expire_before_they_are_sent() {
    let bench = Bench::with(&InitOptions::new(Duration::from_secs(2))).await;
    let jetstream = bench.jetstream().await;
    // One after the other, so that most listings meet some that expire.
    for number in 0..200 {
        let sent = jetstream.publish(format!("$KV.{BUCKET}.{number}"), "elsewhere".into()).await.unwrap();
        within(async { sent.await.unwrap() }).await;
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    wait::until_async("the first have expired", GENEROUS, || async {
        read(&bench.store, "0").await == Entry::Vacant
    })
    .await;
    let list = async || {
        // A server keeps the consumer of each for some seconds, and a thousand at most.
        for _ in 0..240 {
            within(bench.store.list()).await.unwrap();
        }
    };
    tokio::join!(list(), list(), list(), list());
}
