//! The output of the Go programs is as described in `lab/interop/README.md`.
#![allow(clippy::unwrap_used)]

use std::time::Duration;

use async_nats::jetstream::{self, kv};
use incumbent_testkit::go;
use incumbent_testkit::json::JsonProgram;
use incumbent_testkit::nats::{NatsServer, Options};
use incumbent_testkit::wait::GENEROUS;
use serde_json::json;

const TTL: Duration = Duration::from_secs(2);

async fn server_with_bucket() -> (NatsServer, kv::Store) {
    let server = NatsServer::start(Options::new());
    let context = jetstream::new(async_nats::connect(server.url()).await.unwrap());
    let config = kv::Config { bucket: "elections".into(), max_age: TTL, ..Default::default() };
    let bucket = context.create_key_value(config).await.unwrap();
    (server, bucket)
}

fn candidate(server: &NatsServer, name: &str) -> JsonProgram {
    go::candidate(&server.url(), "elections", "jobs", name, None)
}

#[tokio::test]
async fn a_candidate_prints_its_way_to_leadership_and_out_of_it() {
    let (server, bucket) = server_with_bucket().await;
    let mut go = candidate(&server, "go-1");

    let won = go.await_event("won", GENEROUS);
    let leading = go.await_event("leading", GENEROUS);
    assert_eq!(leading["name"], "go-1");
    assert_eq!(leading["revision"], 1);
    let waited = won["t"].as_u64().unwrap() - leading["t"].as_u64().unwrap();
    assert!(waited >= 1_550_000_000, "reported after {waited} ns");
    assert_eq!(bucket.get("jobs").await.unwrap().unwrap(), "go-1");

    go.child().terminate();
    assert_eq!(go.child().wait(GENEROUS).code(), Some(0));
    let lost = go.await_event("lost", GENEROUS);
    assert_eq!(lost, json!({"t": lost["t"], "name": "go-1", "event": "lost", "revision": 0}));
}

#[tokio::test]
async fn a_candidate_that_cannot_win_reports_it() {
    let (server, bucket) = server_with_bucket().await;
    bucket.put("jobs", "other-software".into()).await.unwrap();
    let line = candidate(&server, "go-1").await_event("candidate", GENEROUS);
    assert_eq!(line, json!({"t": line["t"], "name": "go-1", "event": "candidate", "revision": 0}));
}

#[tokio::test]
async fn a_watcher_prints_every_operation() {
    let (server, bucket) = server_with_bucket().await;
    let watch = go::watch(&server.url(), "elections", "jobs");
    watch.await_event("current", GENEROUS);
    // Waits for the watcher's line after each operation, because a message that has already been replaced may never
    // reach a watcher.
    bucket.put("jobs", "a".into()).await.unwrap();
    assert_saw(&watch, 1, "put", "a");
    bucket.delete("jobs").await.unwrap();
    assert_saw(&watch, 2, "delete", "");
    bucket.purge("jobs").await.unwrap();
    assert_saw(&watch, 3, "purge", "");
}

#[tokio::test]
async fn a_single_write_prints_its_revision_or_why_it_was_refused() {
    let (server, bucket) = server_with_bucket().await;
    let url = server.url();
    assert_eq!(go::create(&url, "elections", "jobs", "a"), Ok(1));
    let error = go::create(&url, "elections", "jobs", "b").unwrap_err();
    assert!(error.contains("key exists"), "{error}");
    let error = go::update(&url, "elections", "jobs", "b", 9).unwrap_err();
    assert!(error.contains("wrong last sequence: 1"), "{error}");
    assert_eq!(go::update(&url, "elections", "jobs", "b", 1), Ok(2));
    assert_eq!(bucket.get("jobs").await.unwrap().unwrap(), "b");
}

#[track_caller]
fn assert_saw(watch: &JsonProgram, revision: u64, operation: &str, value: &str) {
    let line = watch.await_line(operation, GENEROUS, |line| line["revision"] == revision);
    let want = json!({
        "t": line["t"], "event": "update", "key": "jobs",
        "operation": operation, "revision": revision, "value": value
    });
    assert_eq!(line, want);
}

#[tokio::test]
async fn a_candidate_without_its_bucket_ends_with_an_error() {
    let server = NatsServer::start(Options::new());
    let mut candidate = go::candidate(&server.url(), "nowhere", "jobs", "go-1", Some(TTL));
    assert_eq!(candidate.child().wait(GENEROUS).code(), Some(1));
}
