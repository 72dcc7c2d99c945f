//! A server, or a cluster of three, and candidates on it.

use std::time::Duration;

use futures_util::future::join_all;
use incumbent::incumbent_core::queue::LeaseId;
use incumbent::store::etcd::{EtcdSettings, init};
use incumbent::store::{Settings as _, StoreSettings};
use incumbent::{CampaignOptions, Clock, Instant, Preset, Store};
use incumbent_testkit::etcd::{EtcdServer, Options};
use incumbent_testkit::proxy::Proxy;
use incumbent_testkit::tools::EtcdVersion;
use incumbent_testkit::wait;
use serde_json::Value;

use crate::actor::{Actor, TIME_LIMIT};
use crate::process::Process;

pub(crate) const PREFIX: &str = "prod/";
pub(crate) const KEY: &str = "jobs";
/// The election as other clients name it.
pub(crate) const ELECTION: &str = "prod/jobs";

/// The shortest lease of a candidate on a server with default settings, for tests in which one runs out.
pub(crate) const SHORT: Duration = Duration::from_secs(6);
/// A lease for tests in which one lease runs out while another must not, even on a busy machine.
pub(crate) const STEADY: Duration = Duration::from_secs(6);
/// A lease for tests in which none may run out. No test waits for its end.
pub(crate) const LONG: Duration = Duration::from_secs(20);
/// The longest delay on a busy machine.
pub(crate) const BUSY: Duration = Duration::from_secs(3);
/// The longest time for which an expired lease may remain. Servers check every half second.
pub(crate) const REMOVAL: Duration = Duration::from_millis(500 + 100);

/// One server, with a prefix that was never used.
pub(crate) struct Bench {
    pub(crate) server: EtcdServer,
    pub(crate) lease: Duration,
}

impl Bench {
    pub(crate) async fn start(lease: Duration) -> Self {
        Self::with(Options::new(), lease).await
    }

    pub(crate) async fn with(options: Options, lease: Duration) -> Self {
        let server = EtcdServer::start(options);
        declare_new(&url(&server.address())).await;
        Self { server, lease }
    }

    pub(crate) fn url(&self) -> String {
        url(&self.server.address())
    }

    /// A candidate with its own store.
    pub(crate) async fn join(&self, name: &str) -> Actor {
        join(&self.url(), name, self.lease).await
    }

    /// A candidate that reaches the server through a proxy.
    pub(crate) async fn join_through(&self, proxy: &Proxy, name: &str) -> Actor {
        join(&url_through(proxy), name, self.lease).await
    }

    pub(crate) fn proxy(&self) -> Proxy {
        Proxy::to(&self.server.address())
    }

    /// A store for queries.
    pub(crate) async fn store(&self) -> Store {
        open(&self.url(), self.lease).await
    }

    /// The places, in the order of the queue.
    pub(crate) fn places(&self) -> Vec<Place> {
        places(&self.server)
    }

    /// Waits until the queue consists of these candidates, in this order.
    #[track_caller]
    pub(crate) fn await_queue(&self, names: &[&str]) {
        let mut seen = Vec::new();
        let limit = std::time::Instant::now() + TIME_LIMIT;
        while std::time::Instant::now() < limit {
            seen = self.places().into_iter().map(|place| place.name).collect();
            if seen == names {
                return;
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        panic!("the queue is {seen:?} instead of {names:?}");
    }

    /// Waits until these candidates have entered, in this order.
    #[track_caller]
    pub(crate) fn await_joined(&self, names: &[&str]) {
        self.await_queue(names);
    }

    /// Stops a candidate's process (SIGSTOP).
    pub(crate) fn stop(&self, process: &Process) {
        process.child.pause();
    }

    /// Deletes the key that makes this candidate the leader: its place.
    pub(crate) async fn delete_claim_of(&self, name: &str) {
        self.server.ctl(&["del", &self.place_of(name).key]);
    }

    /// The place of this candidate.
    pub(crate) fn place_of(&self, name: &str) -> Place {
        wait::until_some(&format!("the place of {name}"), TIME_LIMIT, || {
            self.places().into_iter().find(|place| place.name == name)
        })
    }
}

/// A key in the standard queue, as another client reads it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    pub(crate) key: String,
    pub(crate) name: String,
    pub(crate) created: u64,
    /// The lease in hexadecimal digits, as `etcdctl` takes it.
    pub(crate) lease: String,
}

fn places(server: &EtcdServer) -> Vec<Place> {
    let arguments = ["get", "--prefix", "--sort-by", "CREATE", "--order", "ASCEND", "--write-out", "json"];
    let answer: Value =
        serde_json::from_str(&server.ctl(&[&arguments[..], &[&format!("{ELECTION}/")]].concat())).unwrap();
    let text = |value: &Value| {
        let bytes =
            base64::Engine::decode(&base64::engine::general_purpose::STANDARD, value.as_str().unwrap_or(""));
        String::from_utf8(bytes.unwrap()).unwrap()
    };
    let place = |kv: &Value| Place {
        key: text(&kv["key"]),
        name: text(&kv["value"]),
        created: kv["create_revision"].as_u64().unwrap(),
        lease: format!("{:x}", kv["lease"].as_i64().unwrap_or_default()),
    };
    answer["kvs"].as_array().map(|all| all.iter().map(place).collect()).unwrap_or_default()
}

/// The raft term that the server shows, and the raft terms in the numbers of the leases of the election's companions.
pub(crate) fn raft_terms(server: &EtcdServer) -> (u64, Vec<u64>) {
    let companions = format!("{PREFIX}.incumbent/{KEY}/");
    let answer = server.ctl(&["get", "--prefix", "--write-out", "json", &companions]);
    let answer: Value = serde_json::from_str(&answer).unwrap();
    let of = |kv: &Value| LeaseId(kv["lease"].as_u64().unwrap()).raft_term();
    let companions = answer["kvs"].as_array().map(|all| all.iter().map(of).collect()).unwrap_or_default();
    (answer["header"]["raft_term"].as_u64().unwrap(), companions)
}

/// Runs a scenario on a server of each version, in parallel, because they mostly wait for leases.
pub(crate) async fn on_each_version<F>(scenario: impl Fn(EtcdVersion) -> F)
where
    F: Future<Output = ()> + Send + 'static,
{
    let scenarios = EtcdVersion::tested()
        .into_iter()
        .map(async |version| (version, tokio::spawn(scenario(version)).await));
    for (version, ended) in join_all(scenarios).await {
        ended.unwrap_or_else(|error| panic!("the scenario fails on {version}: {error}"));
    }
}

/// Runs a scenario on a bench of each version.
pub(crate) async fn on_each<F>(lease: Duration, scenario: impl Fn(Bench) -> F + Copy + Send + Sync + 'static)
where
    F: Future<Output = ()> + Send + 'static,
{
    on_each_version(move |version| async move {
        scenario(Bench::with(Options::new().version(version), lease).await).await;
    })
    .await;
}

/// States that no election has ever run under the prefix, so that the first leader need not wait.
pub(crate) async fn declare_new(url: &str) {
    init(&EtcdSettings::from_url(url).unwrap(), true).await.unwrap();
}

/// The URL of the elections on these members.
pub(crate) fn url(addresses: &str) -> String {
    format!("etcd://{addresses}/{PREFIX}")
}

/// The URL for a candidate that reaches the server through a proxy.
pub(crate) fn url_through(proxy: &Proxy) -> String {
    url(&proxy.address())
}

/// The URL that a candidate in a separate process opens: the one of the test.
pub(crate) fn store_url(url: &str) -> String {
    url.to_owned()
}

pub(crate) async fn join(url: &str, name: &str, lease: Duration) -> Actor {
    let candidate = open(url, lease).await.campaign(KEY, options(name, lease)).await.unwrap();
    Actor::new(candidate)
}

pub(crate) async fn open(url: &str, lease: Duration) -> Store {
    let settings: StoreSettings = url.parse().unwrap();
    let store = Store::builder().expected_lease(lease).open_settings(settings);
    tokio::time::timeout(TIME_LIMIT, store).await.expect("the store does not open").unwrap()
}

/// A candidate without splay.
pub(crate) fn options(name: &str, lease: Duration) -> CampaignOptions {
    CampaignOptions::new().name(name).preset(Preset::Test).lease(lease).splay(Duration::ZERO)
}

/// The default margin between a deadline and the end of the lease. Only durations matter here.
pub(crate) fn margin(lease: Duration) -> Duration {
    lease / 100 + (lease / 20).min(Duration::from_millis(250))
}

/// The longest time from a leader's last renewal until another candidate leads. The lease of the leader's companion
/// runs out by itself, after the lease of its place.
pub(crate) fn followed_within(lease: Duration) -> Duration {
    lease + REMOVAL * 2 + BUSY
}

/// The time for which others wait after the deletion of a place, beyond the leader's report of its loss. It is zero on
/// etcd, because the companion holds other candidates back until that report.
pub(crate) fn wait_after_a_deletion(_lease: Duration) -> Duration {
    Duration::ZERO
}

pub(crate) fn now() -> Instant {
    Clock::system().now()
}
