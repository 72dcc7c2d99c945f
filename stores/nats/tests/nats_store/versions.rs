//! The same tests on every supported version of the server.

use std::time::Duration;

use incumbent::ErrorKind;
use incumbent::incumbent_core::record::Entry;
use incumbent::incumbent_core::store::{Expect, Outcome};
use incumbent::store::Adapter;
use incumbent::store::nats::{InitOptions, init};
use incumbent_testkit::nats::{NatsServer, Options};
use incumbent_testkit::tools::NatsVersion;
use incumbent_testkit::wait::{self, GENEROUS};

use crate::support::*;

const SHORT: Duration = Duration::from_millis(600);

async fn on_each(version: NatsVersion) {
    let mut server = NatsServer::start(Options::new().version(version));
    let settings = settings(&server.url());
    init(&settings, &InitOptions::new().lease(LEASE).never_used(true)).await.unwrap();
    let (store, _) = open(&settings).await;
    let info = within(store.inspect()).await.unwrap();
    assert!(info.never_used && info.age.is_some(), "{version:?}: {info:?}");

    let mut watch = within(store.watch()).await.unwrap();
    let held = applied(&store, KEY, &acquire(Expect::Absent)).await;
    let refused = within(store.write(KEY, acquire(Expect::Absent))).await;
    assert_eq!(refused, Outcome::Refused { current: held }, "{version:?}");
    assert_eq!(next(&mut watch).await.entry.revision(), Some(held), "{version:?}");
    let released = applied(&store, KEY, &release(Expect::Revision(held))).await;
    assert_eq!(next(&mut watch).await.entry.revision(), Some(released), "{version:?}");
    assert!(matches!(read(&store, KEY).await, Entry::Released(_)), "{version:?}");
    server.restart();
    assert_eq!(next_or_end(&mut watch).await, None, "{version:?}");
    within(store.reconnect()).await;
    assert_eq!(within(store.inspect()).await.unwrap().incarnation, info.incarnation, "{version:?}");
    assert_eq!(within(store.list()).await.unwrap().len(), 1, "{version:?}");
}

#[tokio::test]
async fn an_election_has_what_it_needs_on_every_version() {
    for version in NatsVersion::tested() {
        on_each(version).await;
    }
}

#[tokio::test]
async fn records_expire_on_every_version() {
    for version in NatsVersion::tested() {
        let server = NatsServer::start(Options::new().version(version));
        init(&settings(&server.url()), &InitOptions::new().lease(SHORT)).await.unwrap();
        let (store, _) = open(&settings(&server.url())).await;
        applied(&store, KEY, &acquire_for(Expect::Absent, SHORT)).await;
        wait::until_async("the record to expire", GENEROUS, || async {
            read(&store, KEY).await == Entry::Vacant
        })
        .await;
    }
}

#[tokio::test]
async fn markers_and_leases_per_record_are_refused_where_the_server_knows_none() {
    if !NatsVersion::tested().contains(&NatsVersion::V2_10) {
        return;
    }
    let server = NatsServer::start(Options::new().version(NatsVersion::V2_10));
    for options in
        [InitOptions::new().lease(LEASE).markers(true), InitOptions::new().lease(LEASE).own_leases(true)]
    {
        let error = init(&settings(&server.url()), &options).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Unsupported);
        assert!(error.message().contains("2.11"), "{error}");
    }
    init(&settings(&server.url()), &InitOptions::new().lease(LEASE)).await.unwrap();
    let (store, _) = open(&settings(&server.url())).await;
    let capabilities = store.capabilities();
    assert!(!capabilities.own_lease && !capabilities.expiry_pushed);
    assert_eq!(capabilities.granularity, Duration::from_secs(1));
}
