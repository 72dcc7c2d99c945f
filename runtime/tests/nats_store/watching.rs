//! The watch over all keys.

use futures_util::StreamExt;
use incumbent::core::store::Expect;
use incumbent::store::Adapter;
use incumbent_testkit::proxy::Proxy;

use crate::support::*;

#[tokio::test]
async fn a_watch_tells_what_is_there_and_then_every_change_in_order() {
    let bench = Bench::start().await;
    let old = applied(&bench.store, "old", &acquire(Expect::Absent)).await;
    let newest = applied(&bench.store, "old", &acquire(Expect::Revision(old))).await;
    let mut watch = within(bench.store.watch()).await.unwrap();
    assert_eq!(next(&mut watch).await.entry.revision(), Some(newest));

    let mut expected = Vec::new();
    let mut held = applied(&bench.store, KEY, &acquire(Expect::Absent)).await;
    expected.push(held);
    for _ in 0..50 {
        held = applied(&bench.store, KEY, &acquire(Expect::Revision(held))).await;
        expected.push(held);
    }
    expected.push(applied(&bench.store, KEY, &release(Expect::Revision(held))).await);
    for revision in expected {
        let seen = next(&mut watch).await;
        assert_eq!((seen.key.as_str(), seen.entry.revision()), (KEY, Some(revision)));
    }
}

#[tokio::test]
async fn a_watch_ends_when_the_server_restarts_and_the_next_one_tells_what_is_there() {
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
async fn a_watch_ends_when_the_bucket_is_deleted() {
    let bench = Bench::start().await;
    let mut watch = within(bench.store.watch()).await.unwrap();
    bench.jetstream().await.delete_stream("KV_elections").await.unwrap();
    assert_eq!(within(watch.next()).await, None);
}

#[tokio::test]
async fn a_watch_ends_when_heartbeats_stay_away_though_the_connection_stands() {
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
    incumbent_testkit::wait::until_some_async(
        "the consumer to go",
        incumbent_testkit::wait::GENEROUS,
        || {
            let jetstream = jetstream.clone();
            async move {
                let stream = jetstream.get_stream("KV_elections").await.ok()?;
                (stream.cached_info().state.consumer_count == 0).then_some(())
            }
        },
    )
    .await;
}
