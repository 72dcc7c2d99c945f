//! The cluster of the test kit.
#![allow(clippy::unwrap_used, clippy::expect_used)]

use std::time::Duration;

use async_nats::jetstream;
use incumbent_testkit::nats::{NatsCluster, Options};
use incumbent_testkit::wait;

/// The longest time that three servers on a busy machine may take to elect a leader.
const ELECTION: Duration = Duration::from_secs(90);

/// Makes a bucket that accepts writes. A node refuses writes until it has heard of the stream's new leader.
async fn replicated_bucket(cluster: &NatsCluster) {
    let client = async_nats::connect(cluster.urls()).await.unwrap();
    let config = jetstream::kv::Config { bucket: "elections".into(), num_replicas: 3, ..Default::default() };
    let bucket = jetstream::new(client).create_key_value(config).await.unwrap();
    let written = async || bucket.put("a", "1".into()).await.is_ok();
    wait::until_async("the bucket accepts a write", wait::GENEROUS, written).await;
}

#[tokio::test]
async fn three_replicas_can_be_made_at_once_and_survive_the_death_of_their_leader() {
    let mut cluster = NatsCluster::start(3);
    replicated_bucket(&cluster).await;

    let old = cluster.stream_leader("KV_elections");
    cluster[old].kill();
    let new = cluster.stream_leader("KV_elections");
    assert_ne!(new, old);
    cluster[old].respawn();
    cluster.wait_ready();
}

#[tokio::test]
async fn clients_are_told_of_no_node_but_the_one_they_were_given() {
    let cluster = NatsCluster::start(3);
    let client = async_nats::connect(cluster[0].url()).await.unwrap();
    assert_eq!(client.server_info().connect_urls, Vec::<String>::new());
    assert!(cluster.meta_leader() < 3);
}

#[tokio::test]
async fn the_others_elect_a_leader_while_the_old_one_is_isolated_and_all_agree_afterwards() {
    let cluster = NatsCluster::start_partitionable(3, Options::new());
    replicated_bucket(&cluster).await;

    let old = cluster.stream_leader("KV_elections");
    let other = (old + 1) % 3;
    cluster.isolate(old);
    let new = wait::until_some("another leader", ELECTION, || {
        cluster.stream_leader_seen_by(other, "KV_elections").filter(|leader| *leader != old)
    });
    wait::until("clients to reach the isolated node still", wait::GENEROUS, || {
        cluster[old].monitoring("/varz").is_some()
    });

    cluster.heal();
    wait::until("the old leader to follow", ELECTION, || {
        cluster.stream_leader_seen_by(old, "KV_elections") == Some(new)
    });
    cluster.wait_ready();
}
