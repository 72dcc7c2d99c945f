//! Broken connections, unreachable servers, missing permissions.

use std::time::Duration;

use incumbent::clock::Clock;
use incumbent::incumbent_core::store::{Expect, FaultKind, Outcome};
use incumbent::store::Adapter;
use incumbent::store::nats::{Action, ConnectionEvent, InitOptions, Nats, NatsSettings, init};
use incumbent_testkit::nats::{NatsCluster, NatsServer, Options};
use incumbent_testkit::port::Port;
use incumbent_testkit::proxy::Proxy;
use incumbent_testkit::wait::{self, GENEROUS};

use crate::support::*;

#[tokio::test]
async fn a_write_whose_connection_breaks_is_unknown() {
    let bench = Bench::start().await;
    let proxy = Proxy::to(&bench.server.address());
    let (store, _) = open(&settings(&proxy.url())).await;
    proxy.cut_to_client();
    let write = acquire(Expect::Absent);
    let (outcome, ()) = tokio::join!(within(store.write(KEY, write.clone())), async {
        wait::until_async("the write to be applied", GENEROUS, || async {
            read(&bench.store, KEY).await.revision().is_some()
        })
        .await;
        proxy.close_all();
    });
    assert_eq!(outcome, Outcome::Unknown);
}

#[tokio::test]
async fn a_write_on_a_half_open_connection_is_unknown_once_pings_stay_unanswered() {
    let bench = Bench::start().await;
    let proxy = Proxy::to(&bench.server.address());
    let (store, events) = open(&settings(&proxy.url())).await;
    proxy.cut();
    assert_eq!(within(store.write(KEY, acquire(Expect::Absent))).await, Outcome::Unknown);
    assert_eq!(events.count(&ConnectionEvent::Disconnected), 1);
}

#[tokio::test]
async fn nothing_is_sent_or_queued_while_there_is_no_connection() {
    let mut bench = Bench::start().await;
    bench.server.kill();
    bench.events.wait_for("the disconnection", |event| *event == ConnectionEvent::Disconnected).await;
    assert_eq!(within(bench.store.write(KEY, acquire(Expect::Absent))).await, Outcome::NotSent);
    assert_eq!(within(bench.store.read(KEY)).await.unwrap_err().kind, FaultKind::Unreachable);
    assert_eq!(within(bench.store.inspect()).await.unwrap_err().kind, FaultKind::Unreachable);

    bench.server.restart();
    within(bench.store.reconnect()).await;
    let info = within(bench.store.inspect()).await.unwrap();
    assert_eq!(info.newest.unwrap().0, 0, "something was queued and sent later");
}

#[tokio::test]
async fn a_read_whose_connection_breaks_is_unreachable() {
    let bench = Bench::start().await;
    let proxy = Proxy::to(&bench.server.address());
    let (store, _) = open(&settings(&proxy.url())).await;
    proxy.cut_to_client();
    let (entry, ()) = tokio::join!(within(store.read(KEY)), async { proxy.close_all() });
    assert_eq!(entry.unwrap_err().kind, FaultKind::Unreachable);
}

#[tokio::test]
async fn a_reconnection_makes_a_new_connection() {
    let bench = Bench::start().await;
    within(bench.store.reconnect()).await;
    let connected = || ConnectionEvent::Connected { server: bench.server.url() };
    assert_eq!(bench.events.so_far(), [connected(), ConnectionEvent::Disconnected, connected()]);
    applied(&bench.store, KEY, &acquire(Expect::Absent)).await;
}

/// A bucket with a lease of 6 s, and the addresses of two servers that accept connections and drop all packets.
#[tokio::test]
async fn addresses_that_drop_packets_cost_a_sixth_of_the_lease_together() {
    let bench = Bench::with(&InitOptions::new().lease(Duration::from_secs(6))).await;
    let proxies = [0; 4].map(|_| Proxy::to(&bench.server.address()));
    let urls = proxies.each_ref().map(Proxy::url).join(",");
    let (store, events) = open(&settings(&urls)).await;
    let (answers, silent) = proxies.split_first().unwrap();
    silent.iter().for_each(Proxy::cut);
    let begun = std::time::Instant::now();
    answers.close_all();
    events.wait_for("the disconnection", |event| *event == ConnectionEvent::Disconnected).await;
    wait::until_async("another connection", GENEROUS, || async { events.connected().len() == 2 }).await;
    let took = begun.elapsed();
    assert_eq!(events.connected(), [answers.url(), answers.url()]);
    // Each of the two addresses would take 2 s if the client spent a connection's whole time limit on it.
    assert!(took < Duration::from_millis(1800), "{took:?}");
    within(store.inspect()).await.unwrap();
}

#[tokio::test]
async fn servers_that_the_cluster_names_are_used_where_nothing_else_is_asked() {
    let cluster = NatsCluster::start_with(3, Options::new().advertised());
    let one = settings(&cluster[0].url());
    init(&one, &InitOptions::new().lease(LEASE)).await.unwrap();
    let connected_to = async |settings: &NatsSettings| {
        let (store, events) = open(settings).await;
        for _ in 0..2 {
            within(store.reconnect()).await;
        }
        events.connected()
    };
    let learned = connected_to(&one).await;
    assert!(learned.iter().any(|server| *server != cluster[0].url()), "{learned:?}");
    assert_eq!(connected_to(&one.clone().discover(false)).await, [0; 3].map(|_| cluster[0].url()));
}

#[tokio::test]
async fn a_reconnection_goes_to_another_server_where_there_are_several() {
    let bench = Bench::start().await;
    let (one, two) = (Proxy::to(&bench.server.address()), Proxy::to(&bench.server.address()));
    let (store, events) = open(&settings(&format!("{},{}", one.url(), two.url()))).await;
    for _ in 0..9 {
        within(store.reconnect()).await;
    }
    let servers = events.connected();
    assert_eq!(servers.len(), 10);
    assert!(servers.windows(2).all(|pair| pair[0] != pair[1]), "{servers:?}");
}

#[tokio::test]
async fn a_reconnection_passes_over_a_server_that_is_cut_off() {
    let bench = Bench::start().await;
    let (one, two) = (Proxy::to(&bench.server.address()), Proxy::to(&bench.server.address()));
    let (store, _) = open(&settings(&format!("{},{}", one.url(), two.url()))).await;
    one.cut();
    within(store.reconnect()).await;
    applied(&store, "a", &acquire(Expect::Absent)).await;
    within(store.reconnect()).await;
    applied(&store, "b", &acquire(Expect::Absent)).await;
}

#[tokio::test]
async fn without_jetstream_a_write_was_not_sent() {
    let mut server = NatsServer::start(Options::new().config(ACCOUNT_ON));
    let url = server.url().replace("nats://", "nats://u:p@");
    init(&settings(&url), &InitOptions::new().lease(LEASE)).await.unwrap();
    let (store, _) = open(&settings(&url)).await;
    server.reconfigure(ACCOUNT_OFF);
    wait::until_async("JetStream to be off", GENEROUS, || async {
        within(store.write(KEY, acquire(Expect::Absent))).await == Outcome::NotSent
    })
    .await;
    let fault = within(store.inspect()).await.unwrap_err();
    assert!(fault.detail.contains("JetStream"), "{fault}");
}

const ACCOUNT_ON: &str = "accounts { A: { jetstream: enabled, users: [ {user: u, password: p} ] } }";
const ACCOUNT_OFF: &str = "accounts { A: { jetstream: disabled, users: [ {user: u, password: p} ] } }";

fn permissions(deny: &str) -> String {
    format!(
        "accounts {{ A: {{ jetstream: enabled, users: [
            {{ user: admin, password: p }}
            {{ user: u, password: p, permissions: {{ {deny} }} }}
        ] }} }}"
    )
}

async fn restricted(deny: &str) -> (NatsServer, String) {
    let server = NatsServer::start(Options::new().config(permissions(deny)));
    let admin = server.url().replace("nats://", "nats://admin:p@");
    init(&settings(&admin), &InitOptions::new().lease(LEASE)).await.unwrap();
    let url = server.url().replace("nats://", "nats://u:p@");
    (server, url)
}

const NO_WRITES: &str = "publish: { deny: \"$KV.elections.>\" }";

#[tokio::test]
async fn a_write_without_the_permission_is_denied_with_its_subject() {
    let (_server, url) = restricted(NO_WRITES).await;
    let (store, events) = open(&settings(&url)).await;
    let fault = fault(&store, KEY, &acquire(Expect::Absent)).await;
    assert_eq!(fault.kind, FaultKind::Denied);
    assert!(fault.detail.contains("$KV.elections.jobs.nightly"), "{fault}");
    let reported = ConnectionEvent::NotPermitted {
        action: Action::Publish,
        subject: "$KV.elections.jobs.nightly".into(),
    };
    assert_eq!(events.count(&reported), 1);
}

#[tokio::test]
async fn a_permission_that_is_taken_away_while_connected_is_reported() {
    let (mut server, url) = restricted("").await;
    let (store, _) = open(&settings(&url)).await;
    let held = applied(&store, KEY, &acquire(Expect::Absent)).await;
    server.reconfigure(permissions(NO_WRITES));
    // The server may enforce the change by closing the connection, so the first attempts may have unknown outcomes.
    let fault = wait::until_some_async("the denial", GENEROUS, || async {
        match within(store.write(KEY, acquire(Expect::Revision(held)))).await {
            Outcome::Failed(fault) => Some(fault),
            Outcome::Unknown | Outcome::NotSent => None,
            other => panic!("{other:?}"),
        }
    })
    .await;
    assert_eq!(fault.kind, FaultKind::Denied);
}

#[tokio::test]
async fn a_read_without_the_permission_is_denied() {
    let (_server, url) = restricted("publish: { deny: \"$JS.API.STREAM.MSG.GET.>\" }").await;
    let (store, _) = open(&settings(&url)).await;
    let fault = within(store.read(KEY)).await.unwrap_err();
    assert_eq!(fault.kind, FaultKind::Denied);
    assert!(fault.detail.contains("$JS.API.STREAM.MSG.GET.KV_elections"), "{fault}");
}

#[tokio::test]
async fn a_store_opens_where_it_may_not_ask_about_the_account() {
    let (_server, url) = restricted("publish: { deny: \"$JS.API.INFO\" }").await;
    let (store, _) = open(&settings(&url)).await;
    applied(&store, KEY, &acquire(Expect::Absent)).await;
}

#[tokio::test]
async fn without_the_permission_to_receive_replies_opening_names_the_subject() {
    let (_server, url) = restricted("subscribe: { deny: \"_INBOX.>\" }").await;
    let error = refusal(&settings(&url)).await;
    assert_eq!(error.kind(), incumbent::ErrorKind::PermissionDenied);
    assert!(error.message().contains("_INBOX.") && error.message().contains("inbox_prefix"), "{error}");
}

#[tokio::test]
async fn replies_may_come_under_another_prefix() {
    let (_server, url) = restricted("subscribe: { allow: \"_MINE.>\" }").await;
    let (store, _) = open(&settings(&url).inbox_prefix("_MINE")).await;
    applied(&store, KEY, &acquire(Expect::Absent)).await;
    drop(within(store.watch()).await.unwrap());
}

#[tokio::test]
async fn credentials_that_are_withdrawn_while_connected_are_reported() {
    let (mut server, url) = restricted("").await;
    let (_store, events) = open(&settings(&url)).await;
    server.reconfigure(permissions("").replace("user: u", "user: other"));
    events.wait_for("the withdrawal", |event| matches!(event, ConnectionEvent::NotAuthorized { .. })).await;
}

#[tokio::test]
async fn a_closed_store_sends_nothing() {
    let bench = Bench::start().await;
    bench.store.close().await;
    assert_eq!(within(bench.store.write(KEY, acquire(Expect::Absent))).await, Outcome::NotSent);
}

#[tokio::test]
async fn a_store_that_is_dropped_closes_its_connection() {
    let Bench { server, store, .. } = Bench::start().await;
    let connections = || server.monitoring("/connz")?["num_connections"].as_u64();
    assert_eq!(wait::until_some("the number of connections", GENEROUS, connections), 1);
    drop::<Nats>(store);
    wait::until_async("the connection to close", GENEROUS, || async { connections() == Some(0) }).await;
}

#[tokio::test]
async fn a_store_opens_at_once_where_any_of_its_servers_answers() {
    let bench = Bench::start().await;
    let (dead, dead_too) = (Port::free(), Port::free());
    for list in [
        format!("127.0.0.1:{},{}", dead.number(), bench.server.address()),
        format!("127.0.0.1:{},127.0.0.1:{},{}", dead.number(), dead_too.number(), bench.server.address()),
        format!("{},127.0.0.1:{}", bench.server.address(), dead.number()),
    ] {
        let (_store, events) = open(&settings(&list)).await;
        assert_eq!(events.connected(), [bench.server.url()]);
    }
}

#[tokio::test]
async fn an_unreachable_server_is_waited_for_and_reported() {
    let mut bench = Bench::start().await;
    bench.server.kill();
    let settings = settings(&bench.server.url()).fail_fast(false).connect_timeout(Duration::from_secs(1));
    let events = Events::default();
    let settings = events.listen(&settings);
    let opening = async { Nats::open(&settings, &Clock::system()).await.unwrap() };
    let ((), store) = tokio::join!(
        async {
            let failed = |event: &ConnectionEvent| matches!(event, ConnectionEvent::Failed { .. });
            let ConnectionEvent::Failed { detail } = events.wait_for("a failed attempt", failed).await else {
                unreachable!()
            };
            assert!(detail.contains("127.0.0.1"), "{detail}");
            bench.server.restart();
        },
        within(opening)
    );
    applied(&store, KEY, &acquire(Expect::Absent)).await;
}
