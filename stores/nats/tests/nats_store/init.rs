//! Creating and repairing a bucket.

use std::time::Duration;

use async_nats::jetstream::kv;
use incumbent::ErrorKind;
use incumbent::incumbent_core::store::Expect;
use incumbent::store::Adapter;
use incumbent::store::nats::{InitOptions, InitReport, init};
use incumbent_testkit::nats::{NatsServer, Options};
use incumbent_testkit::tools::NatsVersion;

use crate::support::*;

fn shown(report: &InitReport) -> Vec<(&str, &str, &str)> {
    let differences = report.differences.iter();
    differences.map(|it| (it.setting, it.is.as_str(), it.should.as_str())).collect()
}

/// Asserts what was done to a bucket that has no differences.
#[track_caller]
fn assert_done(report: &InitReport, created: bool, updated: bool, options: &InitOptions) {
    assert_eq!((report.created, report.updated), (created, updated), "{options:?}");
    assert_eq!(report.differences, [], "{options:?}");
}

#[tokio::test]
async fn a_bucket_is_made_once() {
    let server = NatsServer::start(Options::new());
    let settings = settings(&server.url());
    for options in [
        InitOptions::new().lease(LEASE),
        InitOptions::new().lease(LEASE).markers(true),
        InitOptions::new().lease(LEASE).own_leases(true).never_used(true),
        InitOptions::new().lease(Duration::from_millis(750)).markers(true).never_used(true),
    ] {
        assert_done(&init(&settings, &options).await.unwrap(), true, false, &options);
        let again = options.clone().update(true);
        assert_done(&init(&settings, &again).await.unwrap(), false, false, &again);
        open(&settings).await;
        jetstream(&server.url()).await.delete_stream("KV_elections").await.unwrap();
    }
}

#[tokio::test]
async fn a_bucket_as_other_clients_make_it_is_shown_and_not_changed() {
    let server = NatsServer::start(Options::new());
    let config = kv::Config { bucket: BUCKET.into(), history: 3, ..Default::default() };
    jetstream(&server.url()).await.create_key_value(config).await.unwrap();
    for _ in 0..2 {
        let report = init(&settings(&server.url()), &InitOptions::new().lease(LEASE)).await.unwrap();
        assert!(!report.created && !report.updated);
        assert_eq!(
            shown(&report),
            [
                ("max_msgs_per_subject", "3", "1"),
                ("max_age", "none", "30s"),
                ("deny_purge", "false", "true"),
                ("allow_rollup_hdrs", "true", "false"),
            ]
        );
        assert!(report.differences.iter().all(|difference| difference.changeable));
    }
}

#[tokio::test]
async fn a_bucket_is_changed_on_request_and_its_records_stay() {
    let server = NatsServer::start(Options::new());
    let config = kv::Config { bucket: BUCKET.into(), description: "ours".into(), ..Default::default() };
    let bucket = jetstream(&server.url()).await.create_key_value(config).await.unwrap();
    bucket.put(KEY, "go-1".into()).await.unwrap();
    let options = InitOptions::new().lease(LEASE).own_leases(true).update(true);
    let report = init(&settings(&server.url()), &options).await.unwrap();
    assert!(report.updated && !report.created);
    assert_done(&init(&settings(&server.url()), &options).await.unwrap(), false, false, &options);

    let (store, _) = open(&settings(&server.url())).await;
    let held = read(&store, KEY).await.revision().unwrap();
    applied(&store, KEY, &acquire(Expect::Revision(held))).await;
    let stream = jetstream(&server.url()).await.get_stream("KV_elections").await.unwrap();
    assert_eq!(stream.cached_info().config.description.as_deref(), Some("ours"));
}

#[tokio::test]
async fn a_bucket_that_holds_or_held_a_message_is_not_called_new() {
    let server = NatsServer::start(Options::new());
    let settings = settings(&server.url());
    init(&settings, &InitOptions::new().lease(LEASE)).await.unwrap();
    let new = InitOptions::new().lease(LEASE).never_used(true);
    assert_eq!(
        shown(&init(&settings, &new).await.unwrap()).len(),
        1,
        "the bucket is not marked as never used, and `init` can mark it"
    );
    let (store, _) = open(&settings).await;
    let held = applied(&store, KEY, &acquire(Expect::Absent)).await;
    applied(&store, KEY, &release(Expect::Revision(held))).await;
    let stream = jetstream(&server.url()).await.get_stream("KV_elections").await.unwrap();
    let sequence = within(store.inspect()).await.unwrap().newest.unwrap().0;
    for options in [new.clone(), new.update(true)] {
        let error = init(&settings, &options).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::UnsafeStore, "{error}");
        assert_eq!(
            error.message(),
            format!(
                "the NATS bucket \"elections\" has been written to {sequence} times, so it is not new; leave `new` out"
            )
        );
    }
    assert_eq!(stream.get_info().await.unwrap().config.metadata.get("incumbent.never-used"), None);
}

#[tokio::test]
async fn markers_can_be_switched_on_later() {
    let server = NatsServer::start(Options::new());
    let config = kv::Config { bucket: BUCKET.into(), max_age: LEASE, ..Default::default() };
    jetstream(&server.url()).await.create_key_value(config).await.unwrap();
    let report =
        init(&settings(&server.url()), &InitOptions::new().lease(LEASE).markers(true).update(true)).await;
    assert_eq!(
        shown(&report.unwrap()),
        [("allow_msg_ttl", "false", "true"), ("subject_delete_marker_ttl", "none", "30s")]
    );
}

#[tokio::test]
async fn what_cannot_be_changed_is_refused_with_the_remedy() {
    let server = NatsServer::start(Options::new());
    let config = kv::Config {
        bucket: BUCKET.into(),
        storage: async_nats::jetstream::stream::StorageType::Memory,
        ..Default::default()
    };
    jetstream(&server.url()).await.create_key_value(config).await.unwrap();
    let report = init(&settings(&server.url()), &InitOptions::new().lease(LEASE)).await.unwrap();
    assert!(shown(&report).contains(&("storage", "memory", "file")));
    let error =
        init(&settings(&server.url()), &InitOptions::new().lease(LEASE).update(true)).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::UnsafeStore);
    assert!(error.message().contains("storage is memory and should be file"), "{error}");
    let stream = jetstream(&server.url()).await.get_stream("KV_elections").await.unwrap();
    assert_eq!(stream.cached_info().config.max_age, Duration::ZERO, "it was changed in part");
}

#[tokio::test]
async fn a_denial_of_purges_stands_in_the_way_of_markers() {
    let server = NatsServer::start(Options::new());
    init(&settings(&server.url()), &InitOptions::new().lease(LEASE)).await.unwrap();
    let report =
        init(&settings(&server.url()), &InitOptions::new().lease(LEASE).markers(true)).await.unwrap();
    let fixed = report.differences.iter().find(|difference| !difference.changeable).unwrap();
    assert_eq!((fixed.setting, fixed.is.as_str()), ("deny_purge", "true"));
}

#[tokio::test]
async fn an_unreachable_server_fails_at_once() {
    let mut server = NatsServer::start(Options::new());
    server.kill();
    let patient = settings(&server.url()).fail_fast(false);
    let error = within(init(&patient, &InitOptions::new().lease(LEASE))).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::StoreUnavailable);
}

#[tokio::test]
async fn a_new_bucket_takes_more_processes_than_a_server_allows_where_no_limit_is_set() {
    for version in NatsVersion::tested() {
        let server = NatsServer::start(Options::new().version(version));
        init(&settings(&server.url()), &InitOptions::new().lease(LEASE)).await.unwrap();
        let stream = jetstream(&server.url()).await.get_stream("KV_elections").await.unwrap();
        assert_eq!(stream.cached_info().config.max_consumers, 100_000, "{version:?}");
    }
}

#[tokio::test]
async fn a_new_bucket_takes_as_many_processes_as_an_account_with_a_limit_allows() {
    let config = "accounts { A: { jetstream: { max_consumers: 2 }, users: [ {user: u, password: p} ] } }
                  no_auth_user: u";
    let server = NatsServer::start(Options::new().config(config));
    let options = InitOptions::new().lease(LEASE);
    assert_done(&init(&settings(&server.url()), &options).await.unwrap(), true, false, &options);
    let (store, _) = open(&settings(&server.url())).await;
    applied(&store, KEY, &acquire(Expect::Absent)).await;
}
