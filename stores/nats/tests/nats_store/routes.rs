//! Other ways to a bucket: websockets, a JetStream domain.

use incumbent::incumbent_core::store::Expect;
use incumbent::store::nats::{InitOptions, NatsSettings, init};
use incumbent::store::{Adapter, Settings as _};
use incumbent_testkit::nats::{NatsServer, Options};
use incumbent_testkit::port::Port;
use incumbent_testkit::wait::{self, GENEROUS};
use tempfile::TempDir;

use crate::support::*;

async fn works(settings: &NatsSettings) {
    init(settings, &InitOptions::new().lease(LEASE)).await.unwrap();
    let (store, _) = open(settings).await;
    let mut watch = within(store.watch()).await.unwrap();
    let held = applied(&store, KEY, &acquire(Expect::Absent)).await;
    assert_eq!(next(&mut watch).await.entry.revision(), Some(held));
    assert_eq!(read(&store, KEY).await.revision(), Some(held));
    assert_eq!(within(store.list()).await.unwrap().len(), 1);
    within(store.reconnect()).await;
    applied(&store, KEY, &acquire(Expect::Revision(held))).await;
}

#[tokio::test]
async fn a_websocket() {
    let port = Port::free();
    let listen = format!("websocket {{ listen: \"127.0.0.1:{}\", no_tls: true }}", port.number());
    let _server = NatsServer::start(Options::new().config(listen));
    let url = format!("ws://127.0.0.1:{}/{BUCKET}?fail_fast=true", port.number());
    works(&NatsSettings::from_url(&url).unwrap()).await;
}

#[tokio::test]
async fn a_bucket_in_the_domain_of_another_server() {
    let leafs = Port::free();
    let (hub_folder, edge_folder) = (TempDir::new().unwrap(), TempDir::new().unwrap());
    let hub = format!("leafnodes {{ listen: \"127.0.0.1:{}\" }}", leafs.number());
    let hub = NatsServer::start(Options::new().config(format!("{hub}\n{}", domain("hub", &hub_folder))));
    let remote = format!("leafnodes {{ remotes: [ {{ url: \"nats://127.0.0.1:{}\" }} ] }}", leafs.number());
    let edge =
        NatsServer::start(Options::new().config(format!("{remote}\n{}", domain("edge", &edge_folder))));
    wait::until("the edge to know the hub", GENEROUS, || {
        edge.monitoring("/leafz").is_some_and(|leafs| leafs["leafnodes"] == 1)
    });
    // The edge server learns a moment later that the hub answers requests to its API.
    let through_the_edge = settings(&edge.url()).domain("hub");
    wait::until_async("the hub's JetStream to be reachable at the edge", GENEROUS, || async {
        init(&through_the_edge, &InitOptions::new().lease(LEASE)).await.is_ok()
    })
    .await;
    works(&through_the_edge).await;
    let (store, _) = open(&settings(&hub.url())).await;
    assert!(read(&store, KEY).await.live().is_some());
    assert_eq!(refusal(&settings(&edge.url())).await.kind(), incumbent::ErrorKind::NotFound);
}

/// A `jetstream` block, which replaces the server's own and so must be complete.
fn domain(name: &str, folder: &TempDir) -> String {
    format!("jetstream {{ domain: {name}, store_dir: \"{}\" }}", folder.path().display())
}
