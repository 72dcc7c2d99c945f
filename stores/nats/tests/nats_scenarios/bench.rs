//! A server with a bucket, and candidates on it.

use std::time::Duration;

use async_nats::jetstream;
use incumbent::incumbent_core::record::Record;
use incumbent::store::nats::{InitOptions, Nats, NatsSettings, init};
use incumbent::store::{Adapter, StoreAdmin, StoreSettings};
use incumbent::{CampaignOptions, Clock, Instant, Preset, Store};
use incumbent_testkit::nats::{NatsServer, Options};
use incumbent_testkit::proxy::Proxy;
use incumbent_testkit::wait;

use crate::actor::{Actor, TIME_LIMIT};
use crate::process::Process;

pub(crate) const BUCKET: &str = "elections";
pub(crate) const KEY: &str = "jobs";
/// The stream of the bucket.
pub(crate) const STREAM: &str = "KV_elections";

/// A lease for tests in which one runs out.
pub(crate) const SHORT: Duration = Duration::from_secs(6);
/// A lease for tests in which one lease runs out while another must not, even on a busy machine.
pub(crate) const STEADY: Duration = Duration::from_secs(10);
/// A lease for tests in which none may run out. No test waits for its end.
pub(crate) const LONG: Duration = Duration::from_secs(30);
/// The longest delay on a busy machine.
pub(crate) const BUSY: Duration = Duration::from_secs(10);
/// The longest time for which an overdue record may remain unnoticed: the store's granularity, plus the core's interval
/// between two reads.
pub(crate) const REMOVAL: Duration = Duration::from_millis(350 + 100);

/// One server with a bucket.
pub(crate) struct Bench {
    pub(crate) server: NatsServer,
    pub(crate) lease: Duration,
    /// An operator, which writes without regard to the leader.
    pub(crate) operator: Nats,
}

impl Bench {
    /// A bucket whose name was never used before, so that the first leader has no win delay.
    pub(crate) async fn start(lease: Duration) -> Self {
        Self::with(InitOptions::new().lease(lease).never_used(true), lease).await
    }

    pub(crate) async fn with(options: InitOptions, lease: Duration) -> Self {
        let server = NatsServer::start(Options::new());
        init(&settings(&server.url()), &options).await.unwrap();
        let operator = operator(&server.url()).await;
        Self { server, lease, operator }
    }

    pub(crate) fn url(&self) -> String {
        self.server.url()
    }

    /// A candidate with its own store.
    pub(crate) async fn join(&self, name: &str) -> Actor {
        join(&self.server.url(), name, self.lease).await
    }

    /// A candidate that constantly polls the key, in addition to the watch.
    pub(crate) async fn join_looking(&self, name: &str) -> Actor {
        let store = open(&self.server.url(), self.lease).await;
        let options = options(name, self.lease).interval(Duration::from_millis(200));
        Actor::new(store.campaign(KEY, options).await.unwrap())
    }

    /// A candidate in another election of the bucket.
    pub(crate) async fn join_in(&self, election: &str, name: &str) -> Actor {
        join_in(&self.server.url(), election, name, self.lease).await
    }

    /// A candidate that reaches the server through a proxy.
    pub(crate) async fn join_through(&self, proxy: &Proxy, name: &str) -> Actor {
        join(&proxy.url(), name, self.lease).await
    }

    pub(crate) fn proxy(&self) -> Proxy {
        Proxy::to(&self.server.address())
    }

    /// The present holder's record.
    pub(crate) async fn record(&self) -> Record {
        self.operator.read(KEY).await.unwrap().live().expect("no live record").clone()
    }

    /// Waits until the candidate with that name holds the key, and returns its record.
    pub(crate) async fn record_of(&self, name: &str) -> Record {
        wait::until_some_async(&format!("the record of {name}"), TIME_LIMIT, || async {
            let entry = self.operator.read(KEY).await.unwrap();
            entry.live().filter(|record| record.candidate == name).cloned()
        })
        .await
    }

    /// Waits until this many stores watch the bucket. The present leader's record is then on its way to all of them.
    #[track_caller]
    pub(crate) fn watched_by(&self, stores: u64) {
        wait::until("the candidates to watch", TIME_LIMIT, || {
            let streams = self.server.monitoring("/jsz?accounts=1&streams=1&consumers=1");
            let details = &streams.unwrap_or_default()["account_details"][0]["stream_detail"];
            let stream = details.as_array().and_then(|all| all.iter().find(|s| s["name"] == STREAM));
            stream.is_some_and(|stream| stream["state"]["consumer_count"].as_u64() >= Some(stores))
        });
    }

    /// Waits until these candidates, each with its own store, watch the bucket.
    #[track_caller]
    pub(crate) fn await_joined(&self, names: &[&str]) {
        self.watched_by(names.len() as u64);
    }

    /// Stops a candidate's process (SIGSTOP).
    pub(crate) fn stop(&self, process: &Process) {
        process.child.pause();
    }

    /// Deletes the key that makes this candidate the leader.
    pub(crate) async fn delete_claim_of(&self, name: &str) {
        assert_eq!(self.record().await.candidate, name);
        self.operator.delete(KEY).await.unwrap();
    }

    /// Another client's view of the server.
    pub(crate) async fn jetstream(&self) -> jetstream::Context {
        jetstream::new(async_nats::connect(self.server.url()).await.unwrap())
    }
}

/// Runs a scenario on a server of each tested version, which for NATS is only one.
pub(crate) async fn on_each<F: Future<Output = ()>>(lease: Duration, scenario: impl Fn(Bench) -> F) {
    scenario(Bench::start(lease).await).await;
}

/// The server's URL for a candidate that reaches it through a proxy.
pub(crate) fn url_through(proxy: &Proxy) -> String {
    proxy.url()
}

/// The URL of the elections on these servers.
pub(crate) fn store_url(servers: &str) -> String {
    format!("{servers}/{BUCKET}")
}

pub(crate) fn settings(servers: &str) -> NatsSettings {
    NatsSettings::new(servers, BUCKET).unwrap().fail_fast(true)
}

pub(crate) async fn operator(servers: &str) -> Nats {
    Nats::open(&settings(servers), &Clock::system()).await.unwrap()
}

pub(crate) async fn join(servers: &str, name: &str, lease: Duration) -> Actor {
    join_in(servers, KEY, name, lease).await
}

async fn join_in(servers: &str, election: &str, name: &str, lease: Duration) -> Actor {
    let store = open(servers, lease).await;
    let candidate = store.campaign(election, options(name, lease)).await.unwrap();
    Actor::new(candidate)
}

pub(crate) async fn open(servers: &str, lease: Duration) -> Store {
    let settings = settings(servers).fail_fast(false);
    let store = Store::builder().expected_lease(lease).open_settings(StoreSettings::Nats(Box::new(settings)));
    tokio::time::timeout(TIME_LIMIT, store).await.expect("the store does not open").unwrap()
}

/// A candidate without splay.
pub(crate) fn options(name: &str, lease: Duration) -> CampaignOptions {
    CampaignOptions::new().name(name).preset(Preset::Test).lease(lease).splay(Duration::ZERO)
}

/// The default margin between a deadline and the end of the lease.
pub(crate) fn margin(lease: Duration) -> Duration {
    let (second, quarter) = (Duration::from_secs(1), Duration::from_millis(250));
    (lease / 20).min(second) + lease / 100 + (lease / 20).min(quarter)
}

/// The longest time from a leader's last renewal until another leads.
pub(crate) fn followed_within(lease: Duration) -> Duration {
    lease + REMOVAL + BUSY
}

/// The time for which others wait after the deletion of a record, because the record's author may not have learned of
/// it.
pub(crate) fn wait_after_a_deletion(lease: Duration) -> Duration {
    lease
}

pub(crate) fn now() -> Instant {
    Clock::system().now()
}
