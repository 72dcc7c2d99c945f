//! A bucket with three replicas.

use std::time::Duration;

use futures_util::future::join_all;
use incumbent::ErrorKind;
use incumbent::incumbent_core::Revision;
use incumbent::incumbent_core::store::{Expect, Outcome};
use incumbent::store::nats::{InitOptions, NatsSettings, init};
use incumbent::store::{Adapter, Nats};
use incumbent_testkit::nats::{NatsCluster, Options};
use incumbent_testkit::tools::NatsVersion;
use incumbent_testkit::wait;

use crate::support::*;

const FAIL_OVER: Duration = Duration::from_secs(60);

fn cluster_settings(cluster: &NatsCluster) -> NatsSettings {
    settings(&cluster.addresses())
}

/// Creates a bucket as soon as the servers of the cluster have learned enough of each other to place it.
async fn make(settings: &NatsSettings, options: &InitOptions) {
    wait::until_async("a place for three replicas", FAIL_OVER, || async {
        match init(settings, options).await {
            Ok(_) => true,
            // A newly elected leader loses the requests that were sent before its election.
            Err(error) if error.kind() == ErrorKind::StoreUnavailable => false,
            Err(error) if error.message().contains("no suitable peers") => false,
            Err(error) => panic!("{error}"),
        }
    })
    .await;
}

/// Acquires the key as soon as the server knows the subscribers of the new bucket's subjects. Until then no server
/// responds, and nothing is sent.
async fn acquired(store: &Nats) -> Revision {
    wait::until_some_async("the bucket to be known", FAIL_OVER, || async {
        match within(store.write(KEY, acquire(Expect::Absent))).await {
            Outcome::Applied { revision, .. } => Some(revision),
            Outcome::NotSent => None,
            other => panic!("not applied: {other:?}"),
        }
    })
    .await
}

#[tokio::test]
async fn a_write_beside_one_in_flight_is_busy_and_one_of_them_is_applied() {
    let cluster = NatsCluster::start(3);
    let settings = cluster_settings(&cluster);
    make(&settings, &InitOptions::new().lease(LEASE).replicas(3)).await;
    let (store, _) = open(&settings).await;
    assert_eq!(store.capabilities().fail_over, Duration::from_secs(7));
    let mut held = acquired(&store).await;
    let mut busy = 0;
    for _ in 0..20 {
        let write = acquire(Expect::Revision(held));
        let outcomes = within(join_all((0..8).map(|_| store.write(KEY, write.clone())))).await;
        let won: Vec<_> = outcomes
            .iter()
            .filter_map(|outcome| match outcome {
                Outcome::Applied { revision, .. } => Some(*revision),
                Outcome::Busy => {
                    busy += 1;
                    None
                }
                Outcome::Refused { current } if *current > held => None,
                other => panic!("{other:?}"),
            })
            .collect();
        let [revision] = won[..] else { panic!("{outcomes:?}") };
        held = revision;
    }
    assert!(busy > 0, "no two writes were ever in flight at the same time");
}

#[tokio::test]
async fn the_store_serves_again_after_the_streams_leader_is_killed() {
    let mut cluster = NatsCluster::start(3);
    let settings = cluster_settings(&cluster);
    make(&settings, &InitOptions::new().lease(LEASE).replicas(3)).await;
    let (store, events) = open(&settings).await;
    let held = acquired(&store).await;
    let before = within(store.inspect()).await.unwrap().incarnation;

    let leader = cluster.stream_leader("KV_elections");
    cluster[leader].kill();
    let write = acquire(Expect::Revision(held));
    wait::until_some_async("a write to be applied", FAIL_OVER, || async {
        // Acts like the driver: if no answer comes for a while, the outcome is unknown, and another server is asked.
        let outcome = tokio::time::timeout(Duration::from_secs(1), store.write(KEY, write.clone())).await;
        match outcome.unwrap_or(Outcome::Unknown) {
            Outcome::Applied { .. } => Some(()),
            // One of the unknown writes was applied.
            Outcome::Refused { current } if current > held => Some(()),
            Outcome::Busy | Outcome::NotSent => None,
            Outcome::Unknown => {
                let _ = tokio::time::timeout(Duration::from_secs(2), store.reconnect()).await;
                None
            }
            other => panic!("{other:?}"),
        }
    })
    .await;
    let info =
        wait::until_some_async("an inspection", FAIL_OVER, || async { store.inspect().await.ok() }).await;
    assert_eq!(info.incarnation, before);
    assert!(!events.connected().is_empty());
}

#[tokio::test]
async fn three_replicas_serve_on_2_12() {
    if !NatsVersion::tested().contains(&NatsVersion::V2_12) {
        return;
    }
    let cluster = NatsCluster::start_with(3, Options::new().version(NatsVersion::V2_12));
    let settings = cluster_settings(&cluster);
    make(&settings, &InitOptions::new().lease(LEASE).replicas(3).markers(true)).await;
    let (store, _) = open(&settings).await;
    let held = acquired(&store).await;
    applied(&store, KEY, &release(Expect::Revision(held))).await;
}
