//! `incumbent doctor`.

use std::time::Duration;

use async_nats::jetstream::{self, kv};
use incumbent_testkit::nats::{NatsCluster, NatsServer, Options};
use incumbent_testkit::tools::NatsVersion;
use serde_json::{Value, json};

use crate::snapshot;
use crate::support::{Scratch, ended, json, settled};

/// A bucket as a user may create it without reading the documentation.
fn make_bucket(server: &NatsServer, config: kv::Config) {
    tokio::runtime::Runtime::new().unwrap().block_on(async {
        let client = async_nats::connect(server.url()).await.unwrap();
        jetstream::new(client).create_key_value(config).await.unwrap();
    });
}

#[track_caller]
fn examined(store: &str, options: &[&str], code: i32) -> Value {
    let doctor = ended(&[&["doctor", "--json", "--store", store], options].concat());
    assert_eq!(doctor.code, Some(code), "{doctor:?}");
    json(&doctor.stdout)
}

fn found(report: &Value, severity: &str) -> Vec<String> {
    let findings = report["findings"].as_array().unwrap().iter();
    let of = findings.filter(|finding| finding["severity"] == severity);
    of.map(|finding| finding["what"].as_str().unwrap().to_owned()).collect()
}

#[track_caller]
fn examines(version: NatsVersion, release: &str, granularity: u64) {
    let server = NatsServer::start(Options::new().version(version));
    let store = format!("{}/ELECTIONS", server.url());
    let made = ended(&["init", "--store", &store, "--lease", "15s", "--new"]);
    assert_eq!(made.code, Some(0), "{made:?}");
    let report = examined(&store, &[], 0);
    let settings = &report["settings"];
    assert!(settings["server"].as_str().unwrap().starts_with(release), "{settings}");
    assert_eq!((&settings["replicas"], &settings["history"]), (&json!(1), &json!(1)));
    assert_eq!((&settings["storage"], &settings["markers"]), (&json!("file"), &json!(false)));
    assert_eq!((&settings["ttl"]["ms"], &settings["denies_purges"]), (&json!(15000.0), &json!(true)));
    let apart = settings["clock_difference"]["server_ahead_ms"].as_f64().unwrap().abs();
    let uncertain = settings["clock_difference"]["uncertain_by_ms"].as_f64().unwrap();
    assert!(apart <= uncertain + 1.0, "one machine, one clock: {settings}");
    let expected = json!({
        "lease_ms": 15000.0,
        "renew_every_ms": 5000.0,
        "margin_ms": 750.0 + 150.0 + 250.0,
        "worst_after_a_crash_ms": 15000.0 + granularity as f64 + 100.0 + 1250.0,
        "worst_after_an_eviction_ms": 15000.0 + 1250.0,
        "outlasts_silence_ms": 8850.0,
        // It is on one server.
        "store_fail_over_ms": null,
        "survives_a_server": false,
        "writes_a_day": 17280,
    });
    assert_eq!(report["forecast"], expected);
    assert_eq!(report["elections"], json!({ "total": 0, "led": 0, "led_by_other_software": 0 }));
    assert_eq!((found(&report, "broken").len(), found(&report, "weak").len()), (0, 0), "{report}");
    assert_eq!(report["safe"], true);
}

#[test]
fn a_bucket_on_the_newest_server_is_examined() {
    examines(NatsVersion::Newest, "2.15", 350);
}

#[test]
fn a_bucket_on_server_2_12_is_examined() {
    examines(NatsVersion::V2_12, "2.12", 350);
}

#[test]
fn a_bucket_on_server_2_10_is_examined_and_removes_what_expired_later() {
    examines(NatsVersion::V2_10, "2.10", 1000);
}

#[test]
fn everything_that_would_break_the_promise_is_reported_at_once() {
    let server = NatsServer::start(Options::new());
    let storage = jetstream::stream::StorageType::Memory;
    make_bucket(&server, kv::Config { bucket: "WILD".into(), history: 5, storage, ..Default::default() });
    let report = examined(&format!("{}/WILD", server.url()), &[], 4);
    let broken = found(&report, "broken");
    for what in ["kept in memory", "no TTL", "history is 5"] {
        assert!(broken.iter().any(|reported| reported.contains(what)), "{what:?} in {broken:?}");
    }
    let weak = found(&report, "weak");
    assert!(weak.iter().any(|reported| reported.contains("a purge of the bucket")), "{weak:?}");
    assert_eq!((&report["safe"], &report["forecast"]), (&json!(false), &Value::Null));
}

#[test]
fn a_lease_that_does_not_outlast_a_server_is_weak_and_one_that_cannot_be_is_refused() {
    let server = NatsServer::start(Options::new());
    let store = format!("{}/ELECTIONS", server.url());
    assert_eq!(ended(&["init", "--store", &store, "--lease", "2s", "--new"]).code, Some(0));
    let report = examined(&store, &["--preset", "fast"], 0);
    assert_eq!(report["forecast"]["survives_a_server"], false);
    assert!(found(&report, "weak")[0].starts_with("a term is lost when the server is down for "), "{report}");
    let text = ended(&["doctor", "--preset", "fast", "--store", &store]).stdout;
    assert!(
        text.contains("  it is on a single server: no candidate leads until the server is back\n"),
        "{text}"
    );
    let report = examined(&store, &[], 4);
    assert_eq!((found(&report, "broken").len(), &report["safe"]), (0, &json!(true)), "{report}");
    assert!(found(&report, "refused")[0].starts_with("--lease is 2s, and must be at least 5s"), "{report}");
}

#[test]
fn a_bucket_that_cannot_hold_a_record_is_broken() {
    let server = NatsServer::start(Options::new());
    let store = format!("{}/ELECTIONS", server.url());
    let max_age = Duration::from_secs(30);
    make_bucket(
        &server,
        kv::Config { bucket: "ELECTIONS".into(), max_age, max_bytes: 300, ..Default::default() },
    );
    let report = examined(&store, &[], 4);
    let broken = found(&report, "broken");
    assert!(broken.contains(&"it cannot hold a leader's record (max_bytes is 300 bytes)".into()), "{report}");
}

/// A bucket of a client that uses TTLs for single records.
#[test]
fn a_candidate_beside_the_go_library_takes_its_lease_from_a_bucket_that_has_leases_of_their_own() {
    let server = NatsServer::start(Options::new());
    let store = format!("{}/ELECTIONS", server.url());
    let made = ended(&["init", "--store", &store, "--lease", "31s", "--own-leases", "--new"]);
    assert_eq!(made.code, Some(0), "{made:?}");
    let report = examined(&store, &["--preset", "go-compatible"], 0);
    assert_eq!(report["forecast"]["lease_ms"], 31000.0, "{report}");
    let run =
        ["run", "--store", &store, "--key", "jobs", "--preset", "go-compatible", "--no-wait", "--", "true"];
    let run = ended(&run);
    assert_eq!(run.code, Some(0), "{run:?}");
}

#[test]
fn leaders_of_other_software_cannot_bear_markers() {
    let server = NatsServer::start(Options::new());
    let store = format!("{}/ELECTIONS", server.url());
    assert_eq!(ended(&["init", "--store", &store, "--lease", "30s", "--markers"]).code, Some(0));
    tokio::runtime::Runtime::new().unwrap().block_on(async {
        let client = async_nats::connect(server.url()).await.unwrap();
        let bucket = jetstream::new(client).get_key_value("ELECTIONS").await.unwrap();
        bucket.put("jobs", "go-1".into()).await.unwrap();
    });
    let report = examined(&store, &[], 4);
    assert!(found(&report, "refused")[0].starts_with("1 of the leaders run other software"), "{report}");
    assert_eq!(report["elections"], json!({ "total": 1, "led": 1, "led_by_other_software": 1 }));
}

#[test]
fn a_cluster_is_shown_with_its_servers_and_one_that_is_away_is_weak() {
    let mut cluster = NatsCluster::start(3);
    let store = format!("nats://{}/ELECTIONS", cluster.addresses());
    let made = ended(&["init", "--store", &store, "--lease", "15s", "--replicas", "3", "--new"]);
    assert_eq!(made.code, Some(0), "{made:?}");
    let report = examined(&store, &[], 0);
    assert_eq!(report["settings"]["replicas"], 3);
    let mut servers: Vec<_> =
        report["settings"]["servers"].as_array().unwrap().iter().map(|name| name.as_str().unwrap()).collect();
    let leader = servers[0].to_owned();
    servers.sort();
    assert_eq!(servers, ["n1", "n2", "n3"]);
    assert_eq!(report["forecast"]["store_fail_over_ms"], 7000.0);
    assert_eq!(report["forecast"]["survives_a_server"], true);
    let away = (0..3).find(|n| cluster[*n].name() != leader).unwrap();
    let name = cluster[away].name().to_owned();
    cluster[away].kill();
    let reported = format!("the server {name:?} is down or lagging");
    incumbent_testkit::wait::until(&reported, Duration::from_secs(60), || {
        let doctor = ended(&["doctor", "--json", "--store", &store]);
        doctor.code == Some(0)
            && found(&json(&doctor.stdout), "weak").iter().any(|what| what.starts_with(&reported))
    });
}

#[test]
fn a_file_is_examined_for_people() {
    let scratch = Scratch::made();
    let _ada = settled(&scratch.url, "jobs", "ada");
    let doctor = ended(&["doctor", "--lease", "5s", "--store", &scratch.url]);
    assert_eq!(doctor.code, Some(0), "{doctor:?}");
    snapshot::assert("doctor-sqlite", &doctor.stdout.replace(&scratch.url, "sqlite:elections.db"));
}

#[test]
fn a_store_in_memory_is_examined_and_called_one() {
    let report = examined("memory:", &["--preset", "fast"], 0);
    assert_eq!(report["forecast"]["lease_ms"], 2000.0);
    assert!(found(&report, "note")[0].starts_with("other processes cannot see"), "{report}");
}
