//! Each side reads the other side's records, on every version of the server.

use std::time::Duration;

use incumbent::incumbent_core::record::Entry;
use incumbent::store::nats::InitOptions;
use incumbent::{CampaignOptions, Candidate, Event, Leader, Preset, Reason, Store, Warning};
use incumbent_testkit::nats::{NatsServer, Options};
use incumbent_testkit::tools::NatsVersion;
use incumbent_testkit::wait::{self, GENEROUS};
use incumbent_testkit::{go, json::JsonProgram};
use serde_json::{Value, json};
use tokio::time::timeout;

use crate::contender::{BUCKET, make_bucket, store_url};

const KEY: &str = "jobs.wire";
const LEASE: Duration = Duration::from_secs(6);

/// A server with a bucket, and our store open on it.
struct Bench {
    server: NatsServer,
    store: Store,
}

impl Bench {
    async fn start(version: NatsVersion) -> Self {
        Self::with(version, InitOptions::new().lease(LEASE)).await
    }

    async fn with(version: NatsVersion, options: InitOptions) -> Self {
        let server = NatsServer::start(Options::new().version(version));
        make_bucket(&server, options).await;
        let builder = Store::builder().expected_lease(LEASE).fail_fast(true);
        let store = builder.open(&store_url(&server)).await.unwrap();
        Self { server, store }
    }

    async fn campaign(&self, options: CampaignOptions) -> Candidate {
        self.store.campaign(KEY, options).await.unwrap()
    }

    async fn entry(&self) -> Entry {
        self.store.entry(KEY).await.unwrap()
    }

    fn go_watches(&self) -> JsonProgram {
        let watch = go::watch(&self.server.url(), BUCKET, KEY);
        watch.await_event("current", GENEROUS);
        watch
    }

    fn go_creates(&self, value: &str) -> Result<u64, String> {
        go::create(&self.server.url(), BUCKET, KEY, value)
    }

    fn go_updates(&self, value: &str, revision: u64) -> Result<u64, String> {
        go::update(&self.server.url(), BUCKET, KEY, value, revision)
    }
}

fn named(name: &str) -> CampaignOptions {
    CampaignOptions::new().name(name).preset(Preset::Fast).splay(Duration::ZERO)
}

async fn within<F: Future>(what: F) -> F::Output {
    timeout(GENEROUS, what).await.unwrap_or_else(|_| panic!("nothing within {GENEROUS:?}"))
}

/// The observations of a Go watcher: operations and values.
fn seen(watch: &JsonProgram) -> Vec<(String, String)> {
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let lines = watch.lines().into_iter().filter(|line| line["event"] == "update");
    lines.map(|line| (text(&line["operation"]), text(&line["value"]))).collect()
}

#[track_caller]
fn await_operation(watch: &JsonProgram, operation: &str, value: &str) {
    let fits = |line: &Value| line["operation"] == operation && line["value"] == value;
    watch.await_line(&format!("{operation} {value:?}"), GENEROUS, fits);
}

#[tokio::test]
async fn a_term_of_ours_is_puts_of_the_bare_name_and_a_deletion_to_a_go_watcher() {
    for version in NatsVersion::tested() {
        let bench = Bench::start(version).await;
        let watch = bench.go_watches();
        let ada = bench.campaign(named("ada").metadata("address", "10.0.0.7:8080")).await;
        drop(within(ada.next_term()).await.unwrap());
        let renewals = || seen(&watch).len() >= 3;
        wait::until("two renewals", GENEROUS, renewals);
        within(ada.close()).await.unwrap();
        await_operation(&watch, "purge", "");

        let mut seen = seen(&watch);
        assert_eq!(seen.pop(), Some(("purge".into(), String::new())), "{version}");
        let put = ("put".to_owned(), "ada".to_owned());
        assert!(seen.iter().all(|seen| *seen == put), "{version}: {seen:?}");
    }
}

#[tokio::test]
async fn a_hand_over_of_ours_is_a_deletion_and_the_successors_bare_name_to_a_go_watcher() {
    for version in NatsVersion::tested() {
        let bench = Bench::start(version).await;
        let ada = bench.campaign(named("ada")).await;
        drop(within(ada.next_term()).await.unwrap());
        let ben = bench.campaign(named("ben")).await;
        let watch = bench.go_watches();
        within(ada.hand_over("ben")).await.unwrap();
        drop(within(ben.next_term()).await.unwrap());
        await_operation(&watch, "put", "ben");

        let mut seen = seen(&watch);
        seen.dedup();
        seen.retain(|(_, value)| value != "ada");
        let expected = [("purge".into(), String::new()), ("put".into(), "ben".into())];
        assert_eq!(seen, expected, "{version}");
    }
}

#[tokio::test]
async fn go_creates_over_our_release_and_its_record_is_a_bare_one() {
    for version in NatsVersion::tested() {
        let bench = Bench::start(version).await;
        let ada = bench.campaign(named("ada")).await;
        drop(within(ada.next_term()).await.unwrap());
        within(ada.close()).await.unwrap();
        let Entry::Released(release) = bench.entry().await else { panic!("{version}: not released") };

        let created = bench.go_creates("go-1").unwrap();

        assert_eq!(created, release.revision.0 + 1, "{version}");
        let Entry::Live(record) = bench.entry().await else { panic!("{version}: not live") };
        assert_eq!((record.candidate.as_str(), record.revision.0), ("go-1", created), "{version}");
        assert_eq!((record.write_id, record.lease, record.metadata), (None, None, vec![]), "{version}");
    }
}

#[tokio::test]
async fn go_can_neither_create_our_live_record_nor_update_another_revision_of_it() {
    for version in NatsVersion::tested() {
        let bench = Bench::start(version).await;
        let ada = bench.campaign(named("ada")).await;
        let term = within(ada.next_term()).await.unwrap();
        wait::until_async("a renewal", GENEROUS, || async {
            bench.entry().await.revision().unwrap() > term.token().sequence
        })
        .await;

        let error = bench.go_creates("go-1").unwrap_err();
        assert!(error.contains("key exists"), "{version}: {error}");
        for wrong in [term.token().sequence.0, 1_000_000] {
            let error = bench.go_updates("go-1", wrong).unwrap_err();
            assert!(error.contains("wrong last sequence"), "{version}: {error}");
        }
        assert!(term.is_current(), "{version}: {:?}", term.reason());
        drop(term);
        within(ada.close()).await.unwrap();
    }
}

#[tokio::test]
async fn an_update_by_go_of_our_live_record_ends_our_term_at_once() {
    for version in NatsVersion::tested() {
        let bench = Bench::start(version).await;
        let ada = bench.campaign(named("ada")).await;
        let term = within(ada.next_term()).await.unwrap();
        // The update is repeated, because a renewal may come between the read and the update.
        wait::until_async("an update", GENEROUS, || async {
            let revision = bench.entry().await.revision().unwrap().0;
            bench.go_updates("go-1", revision).is_ok()
        })
        .await;
        assert_eq!(within(term.ended()).await, Reason::Usurped, "{version}");
        assert_eq!(ada.leader().unwrap().name, "go-1", "{version}");
    }
}

#[tokio::test]
async fn a_bare_record_is_a_leader_that_observers_name() {
    for version in NatsVersion::tested() {
        let bench = Bench::start(version).await;
        let mut observer = bench.store.observe(KEY).await.unwrap();
        assert_eq!(within(observer.next()).await.unwrap().leader, None);

        let revision = bench.go_creates("go-1").unwrap();

        let go = Leader {
            name: "go-1".into(),
            nonce: None,
            revision: incumbent::incumbent_core::Revision(revision),
            metadata: vec![],
        };
        assert_eq!(within(observer.next()).await.unwrap().leader, Some(go), "{version}");
    }
}

/// Campaigns right after a write by Go. Checks that our candidate does not win before `lease` is over, and returns its
/// warnings until then.
async fn win_after_go(bench: &Bench, options: CampaignOptions, lease: Duration) -> Vec<Warning> {
    bench.go_creates("go-1").unwrap();
    let before = bench.store.clock().now();
    let ada = bench.campaign(options).await;
    let mut events = ada.events();
    let mut warnings = Vec::new();
    loop {
        match within(events.next()).await.unwrap() {
            // This warning is expected, because the tests' leases are so short.
            Event::Warning(Warning::ShortLease { .. }) => {}
            Event::Warning(warning) => warnings.push(warning),
            Event::Won(term) => {
                let waited = term.started().since(before);
                assert!(waited >= lease, "reported after {waited:?}");
                return warnings;
            }
            _ => {}
        }
    }
}

#[tokio::test]
async fn a_bare_record_is_waited_for_as_long_as_the_buckets_ttl_and_is_no_warning() {
    for version in NatsVersion::tested() {
        let bench = Bench::start(version).await;
        assert_eq!(win_after_go(&bench, named("ada"), LEASE).await, [], "{version}");
    }
}

/// The versions with TTLs per record and expiry markers: 2.11 and newer.
fn versions_since_2_11() -> impl Iterator<Item = NatsVersion> {
    NatsVersion::tested().into_iter().filter(|version| *version != NatsVersion::V2_10)
}

#[tokio::test]
async fn the_lease_of_a_bare_record_is_the_buckets_where_ours_is_shorter() {
    for version in versions_since_2_11() {
        let bench = Bench::with(version, InitOptions::new().lease(LEASE * 2).own_leases(true)).await;
        win_after_go(&bench, named("ada").lease(LEASE), LEASE * 2).await;
    }
}

#[tokio::test]
async fn where_go_takes_part_and_the_server_writes_markers_a_warning_is_reported() {
    for version in versions_since_2_11() {
        let bench = Bench::with(version, InitOptions::new().lease(LEASE).markers(true)).await;
        let warnings = win_after_go(&bench, named("ada"), LEASE).await;
        assert_eq!(warnings, [Warning::MarkersMislead], "{version}");
    }
}

#[tokio::test]
async fn the_official_client_of_today_takes_a_marker_for_a_deletion() {
    for version in versions_since_2_11() {
        let bench = Bench::with(version, InitOptions::new().lease(LEASE).markers(true)).await;
        let watch = bench.go_watches();
        bench.go_creates("go-1").unwrap();
        await_operation(&watch, "purge", "");
        let expected = [("put", "go-1"), ("purge", "")].map(|(op, value)| (op.into(), value.into()));
        assert_eq!(seen(&watch), expected, "{version}: {}", json!(watch.lines()));
        bench.go_creates("go-2").unwrap();
    }
}
