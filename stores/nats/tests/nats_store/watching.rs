//! The watch, over the followed keys or over all.

use std::io::Write;
use std::time::Duration;

use futures_util::StreamExt;
use futures_util::stream::BoxStream;
use incumbent::incumbent_core::record::Entry;
use incumbent::incumbent_core::session::Scope;
use incumbent::incumbent_core::store::Expect;
use incumbent::store::nats::{InitOptions, init};

use incumbent::store::{Adapter, HandOver, StoreAdmin, Watched};
use incumbent_testkit::nats::{NatsServer, Options};
use incumbent_testkit::proxy::Proxy;
use incumbent_testkit::tools::NatsVersion;
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
        // Each entry is read before the next write, because the server skips an entry that is replaced before it has
        // been sent.
        let seen = next(&mut watch).await;
        assert_eq!((seen.key.as_str(), seen.entry.revision()), (KEY, Some(held)));
        held = applied(&bench.store, KEY, &acquire(Expect::Revision(held))).await;
    }
    next(&mut watch).await;
    let released = applied(&bench.store, KEY, &release(Expect::Revision(held))).await;
    assert_eq!(next(&mut watch).await.entry.revision(), Some(released));
}

/// The keys up to the item that reports that everything in `of` has been shown, in order.
async fn keys_until_all_is_shown(watch: &mut BoxStream<'static, Watched>, of: &Scope) -> Vec<String> {
    let mut keys = Vec::new();
    loop {
        match within(watch.next()).await.expect("the watch has ended") {
            Watched::Entry(change) => keys.push(change.key),
            Watched::ShownAll(shown) if shown == *of => return keys,
            Watched::ShownAll(_) => {}
        }
    }
}

fn these(keys: &[&str]) -> Scope {
    Scope::Elections(keys.iter().map(ToString::to_string).collect())
}

#[tokio::test]
async fn a_watch_of_few_keys_shows_these_and_the_requests_about_them_on_every_version() {
    for version in NatsVersion::tested() {
        let server = NatsServer::start(Options::new().version(version));
        init(&settings(&server.url()), &InitOptions::new().lease(LEASE)).await.unwrap();
        let (store, _) = open(&settings(&server.url())).await;
        for key in ["a", "a.b", "b", "c"] {
            applied(&store, key, &acquire(Expect::Absent)).await;
        }
        store.put(&HandOver::key("a"), b"to ada").await.unwrap();
        store.put(&HandOver::key("b"), b"to ben").await.unwrap();
        store.follow("a");
        let mut watch = within(store.watch()).await.unwrap();
        let shown = keys_until_all_is_shown(&mut watch, &these(&["a"])).await;
        assert_eq!(shown, ["a", "_incumbent.hand-over.a"], "{version:?}");

        // When another key is followed, all keys are shown again, including everything written meanwhile.
        store.follow("c");
        let shown = keys_until_all_is_shown(&mut watch, &these(&["a", "c"])).await;
        assert_eq!(shown, ["a", "c", "_incumbent.hand-over.a"], "{version:?}");
        applied(&store, "d", &acquire(Expect::Absent)).await;
        store.put(&HandOver::key("d"), b"to ada").await.unwrap();
        store.put(&HandOver::key("c"), b"to ada").await.unwrap();
        assert_eq!(next(&mut watch).await.key, "_incumbent.hand-over.c", "{version:?}");

        // An unfollowed key is still shown until the next watch begins.
        store.unfollow("a");
        store.put("a", b"elsewhere").await.unwrap();
        assert_eq!(next(&mut watch).await.key, "a", "{version:?}");
        drop(watch);
        let mut watch = within(store.watch()).await.unwrap();
        let shown = keys_until_all_is_shown(&mut watch, &these(&["c"])).await;
        assert_eq!(shown, ["c", "_incumbent.hand-over.c"], "{version:?}");
    }
}

#[tokio::test]
async fn a_watch_of_more_than_a_few_keys_is_one_of_all() {
    let bench = Bench::start().await;
    applied(&bench.store, "other", &acquire(Expect::Absent)).await;
    let keys: Vec<String> = (0..9).map(|number| format!("key{number}")).collect();
    keys[..8].iter().for_each(|key| bench.store.follow(key));
    let mut watch = within(bench.store.watch()).await.unwrap();
    let eight = Scope::Elections(keys[..8].to_vec());
    assert_eq!(keys_until_all_is_shown(&mut watch, &eight).await, [""; 0]);
    bench.store.follow(&keys[8]);
    assert_eq!(keys_until_all_is_shown(&mut watch, &Scope::All).await, ["other"]);
    assert_eq!(consumers(&bench).await, 1, "the first is gone");
}

#[tokio::test]
async fn a_watch_that_cannot_be_extended_ends() {
    let bench = Bench::start().await;
    bench.store.follow("a");
    let mut watch = within(bench.store.watch()).await.unwrap();
    keys_until_all_is_shown(&mut watch, &these(&["a"])).await;
    let jetstream = bench.jetstream().await;
    let mut stream = jetstream.get_stream("KV_elections").await.unwrap();
    let mut config = stream.info().await.unwrap().config.clone();
    config.max_consumers = 1;
    jetstream.update_stream(&config).await.unwrap();
    bench.store.follow("b");
    assert_eq!(next_or_end(&mut watch).await, None);
}

#[tokio::test]
async fn a_watch_that_the_bucket_has_no_place_for_is_refused_with_the_remedy() {
    let bench = Bench::start().await;
    let _first = within(bench.store.watch()).await.unwrap();
    let jetstream = bench.jetstream().await;
    let mut config = jetstream.get_stream("KV_elections").await.unwrap().cached_info().config.clone();
    config.max_consumers = 1;
    jetstream.update_stream(&config).await.unwrap();
    let (second, _) = open(&settings(&bench.server.url())).await;
    let refused = within(second.watch()).await.err().expect("there is one consumer already");
    assert_eq!(
        refused.detail,
        "the NATS bucket \"elections\" has reached its limit of consumers (maximum consumers limit reached), and each \
         process needs one: raise `max_consumers` of its stream KV_elections or of the account; if neither is set, \
         nats-server 2.15 and newer allow 1,000"
    );
}

/// Waits until the bucket has one consumer, and returns the number of its consumers.
async fn consumers(bench: &Bench) -> usize {
    let jetstream = bench.jetstream().await;
    let count = || async {
        let stream = jetstream.get_stream("KV_elections").await.ok()?;
        Some(stream.cached_info().state.consumer_count)
    };
    wait::until_async("one consumer", GENEROUS, || async { count().await == Some(1) }).await;
    count().await.unwrap_or_default()
}

#[tokio::test]
async fn a_watch_ends_when_the_server_restarts_and_the_next_one_delivers_the_present_entries() {
    let mut bench = Bench::start().await;
    let held = applied(&bench.store, KEY, &acquire(Expect::Absent)).await;
    let mut watch = within(bench.store.watch()).await.unwrap();
    next(&mut watch).await;

    bench.server.restart();
    assert_eq!(next_or_end(&mut watch).await, None);
    within(bench.store.reconnect()).await;
    let mut watch = within(bench.store.watch()).await.unwrap();
    assert_eq!(next(&mut watch).await.entry.revision(), Some(held));
}

#[tokio::test]
async fn a_watch_ends_with_its_connection_and_waits_for_no_heartbeat() {
    let bench = Bench::start().await;
    // The longest heartbeat interval is 5 s, so three missed heartbeats would take 15 s.
    let patient = settings(&bench.server.url()).ping_interval(Duration::from_secs(60));
    let (store, _) = open(&patient).await;
    let mut watch = within(store.watch()).await.unwrap();
    within(store.reconnect()).await;
    let ended = tokio::time::timeout(Duration::from_secs(14), next_or_end(&mut watch)).await;
    assert_eq!(ended, Ok(None));
}

#[tokio::test]
async fn a_watch_ends_when_the_bucket_is_deleted() {
    let bench = Bench::start().await;
    let mut watch = within(bench.store.watch()).await.unwrap();
    bench.jetstream().await.delete_stream("KV_elections").await.unwrap();
    assert_eq!(next_or_end(&mut watch).await, None);
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
    assert_eq!(next_or_end(&mut watch).await, None);
    assert_eq!(bench.events.so_far().len(), 1, "{:?}", bench.events.so_far());
}

#[tokio::test]
async fn a_watch_ends_when_a_heartbeat_reveals_a_missing_delivery() {
    let bench = Bench::start().await;
    let mut watch = within(bench.store.watch()).await.unwrap();
    let stream = bench.jetstream().await.get_stream("KV_elections").await.unwrap();
    let consumer = stream.consumers().next().await.unwrap().unwrap();
    let inbox = consumer.config.deliver_subject.unwrap();
    // The client library sends no status lines, so this test uses the protocol directly.
    let headers = "NATS/1.0 100 Idle Heartbeat\r\nNats-Last-Consumer: 9\r\n\r\n";
    let length = headers.len();
    let lines = format!("CONNECT {{\"headers\": true}}\r\nHPUB {inbox} {length} {length}\r\n{headers}\r\n");
    let mut client = std::net::TcpStream::connect(bench.server.address()).unwrap();
    client.write_all(lines.as_bytes()).unwrap();
    assert_eq!(next_or_end(&mut watch).await, None);
}

#[tokio::test]
async fn a_watch_that_nothing_happens_to_stays() {
    let bench = Bench::start().await;
    let mut watch = within(bench.store.watch()).await.unwrap();
    let sent = || bench.server.monitoring("/connz")?["connections"][0]["out_msgs"].as_u64();
    let before = wait::until_some("the number of messages", GENEROUS, sent);
    // Eight heartbeats are more than twice as many as a watch may miss before it ends.
    let heartbeats = wait::until_async("heartbeats", GENEROUS, || async { sent() >= Some(before + 8) });
    tokio::select! {
        biased;
        ended = next_or_end(&mut watch) => panic!("it ended or delivered {ended:?}"),
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
    assert_eq!(next_or_end(&mut watch).await, None);
}

#[tokio::test]
async fn a_watch_ends_when_the_store_is_closed() {
    let bench = Bench::start().await;
    let mut watch = within(bench.store.watch()).await.unwrap();
    bench.store.close().await;
    assert_eq!(next_or_end(&mut watch).await, None);
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
    let bench = Bench::with(&InitOptions::new().lease(Duration::from_secs(2))).await;
    let jetstream = bench.jetstream().await;
    // Writes the records one after the other, so that most listings meet expiring records.
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
        // A server keeps the consumer of each listing for some seconds, and holds at most a thousand.
        for _ in 0..240 {
            within(bench.store.list()).await.unwrap();
        }
    };
    tokio::join!(list(), list(), list(), list());
}
