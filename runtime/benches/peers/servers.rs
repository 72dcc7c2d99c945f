//! The servers, and the candidates on each, with the settings that are compared.

use std::process::Command;
use std::time::Duration;

use incumbent::store::{InitOptions, StoreSettings};
use incumbent_testkit::etcd::{self, EtcdServer};
use incumbent_testkit::nats::{self, NatsServer};
use incumbent_testkit::postgres::PostgresServer;
use incumbent_testkit::redis::RedisServer;
use incumbent_testkit::tools;
use tempfile::TempDir;

use crate::side::Side;

/// The lease of the comparison at one lease: the shortest of our preset `fast`, of etcd's sessions on a server with
/// default settings, and of the Go candidates that can be had in whole seconds.
const LEASE: Duration = Duration::from_secs(2);
/// Our shortest lease on etcd: three of the server's shortest.
const LEASE_ON_ETCD: Duration = Duration::from_secs(6);
/// The time between two attempts of redsync, where it is set to be quick: two requests each.
const RETRY: Duration = Duration::from_millis(1);

/// All servers, running.
pub(crate) struct Servers {
    nats: NatsServer,
    etcd: EtcdServer,
    redis: RedisServer,
    postgres: PostgresServer,
    files: TempDir,
    runtime: tokio::runtime::Runtime,
}

impl Servers {
    pub(crate) fn start() -> Self {
        Self {
            nats: NatsServer::start(nats::Options::new()),
            etcd: EtcdServer::start(etcd::Options::new()),
            redis: RedisServer::start(),
            postgres: PostgresServer::start(),
            files: tempfile::tempdir().expect("a folder"),
            runtime: tokio::runtime::Runtime::new().expect("threads start"),
        }
    }

    /// The candidates that hand over: with their defaults, and as quick as their settings allow where that differs.
    pub(crate) fn that_hand_over(&self) -> Vec<Side> {
        let [nats, etcd, file] = defaults();
        vec![
            self.ours_on_nats("incumbent on NATS", "HANDOVER", nats, false),
            self.ours_on_etcd("incumbent on etcd", "handover", etcd),
            self.ours_on_sqlite("incumbent on SQLite", "handover.db", file),
            self.ours_on_sqlite("incumbent on SQLite, poll=1ms", "quick.db?poll=1ms", file),
            self.go_on_etcd("etcd's Go client", "go-handover", seconds(60)),
            self.redsync("redsync", "handover", seconds(8), None),
            self.redsync("redsync, retry=1ms", "quick", seconds(8), Some(RETRY)),
            self.advisory("PostgreSQL advisory lock", 1),
            self.go_on_nats("rules of nats-kv-leader-elect", "GOHANDOVER", seconds(30)),
        ]
    }

    /// The candidates whose leaders are killed, with one lease where they allow it.
    pub(crate) fn with_one_lease(&self) -> Vec<Side> {
        vec![
            self.ours_on_nats("incumbent on NATS", "CRASH", LEASE, false),
            self.ours_on_nats("incumbent on NATS, markers", "MARKERS", LEASE, true),
            self.ours_on_sqlite("incumbent on SQLite", "crash.db", LEASE),
            self.ours_on_etcd("incumbent on etcd", "crash", LEASE_ON_ETCD),
            self.go_on_etcd("etcd's Go client", "go-crash", LEASE),
            self.go_on_etcd("etcd's Go client", "go-crash-longer", LEASE_ON_ETCD),
            self.redsync("redsync", "crash", LEASE, None),
            self.redsync("redsync, retry=1ms", "quick-crash", LEASE, Some(RETRY)),
            self.go_on_nats("rules of nats-kv-leader-elect", "GOCRASH", LEASE),
            self.advisory("PostgreSQL advisory lock", 2),
        ]
    }

    /// The same with the leases that are each one's default.
    pub(crate) fn with_their_leases(&self) -> Vec<Side> {
        let [nats, etcd, file] = defaults();
        vec![
            self.ours_on_nats("incumbent on NATS", "DEFAULT", nats, false),
            self.ours_on_etcd("incumbent on etcd", "default", etcd),
            self.ours_on_sqlite("incumbent on SQLite", "default.db", file),
            // concurrency.NewSession
            self.go_on_etcd("etcd's Go client", "go-default", seconds(60)),
            // redsync.NewMutex
            self.redsync("redsync", "default", seconds(8), None),
            // Its shortest.
            self.go_on_nats("rules of nats-kv-leader-elect", "GODEFAULT", seconds(30)),
        ]
    }

    fn ours_on_nats(&self, name: &str, bucket: &str, lease: Duration, markers: bool) -> Side {
        let url = format!("{}/{bucket}", self.nats.url());
        self.init(&url, &InitOptions::new().lease(lease).markers(markers));
        ours(name, url, lease)
    }

    fn ours_on_etcd(&self, name: &str, prefix: &str, lease: Duration) -> Side {
        let url = format!("etcd://{}/{prefix}", self.etcd.address());
        self.init(&url, &InitOptions::new());
        ours(name, url, lease)
    }

    fn ours_on_sqlite(&self, name: &str, file: &str, lease: Duration) -> Side {
        let url = format!("sqlite:{}", self.files.path().join(file).display());
        self.init(&url, &InitOptions::new());
        ours(name, url, lease)
    }

    fn init(&self, url: &str, options: &InitOptions) {
        let settings: StoreSettings = url.parse().expect("the test kit's URL is one");
        let options = options.clone().never_used(true);
        self.runtime.block_on(settings.init(&options)).expect("a new store is prepared");
    }

    fn go_on_etcd(&self, name: &str, prefix: &'static str, lease: Duration) -> Side {
        let program = tools::go_etcd_program("candidate").expect("cargo xtask bench builds it");
        let endpoints = self.etcd.address();
        let command = move |election: &str, candidate: &str| {
            let mut command = Command::new(&program);
            command.args(["-endpoints", &endpoints, "-prefix", &format!("{prefix}/{election}")]);
            command.args(["-name", candidate, "-ttl", &lease.as_secs().to_string()]);
            command
        };
        Side::new(name, Some(lease), command)
    }

    fn redsync(&self, name: &str, prefix: &'static str, expiry: Duration, retry: Option<Duration>) -> Side {
        let program = tools::go_peer_program("redsync").expect("cargo xtask bench builds it");
        let address = self.redis.address();
        let command = move |election: &str, candidate: &str| {
            let mut command = Command::new(&program);
            command.args(["-address", &address, "-key", &format!("{prefix}/{election}"), "-name", candidate]);
            command.args(["-expiry", &millis(expiry), "-retry", &millis(retry.unwrap_or_default())]);
            command
        };
        Side::new(name, Some(expiry), command)
    }

    fn advisory(&self, name: &str, number: u32) -> Side {
        let program = tools::go_peer_program("pgadvisory").expect("cargo xtask bench builds it");
        let url = self.postgres.url();
        let command = move |election: &str, candidate: &str| {
            let mut command = Command::new(&program);
            command.args(["-url", &url, "-key", &format!("{number}/{election}"), "-name", candidate]);
            command
        };
        Side::new(name, None, command)
    }

    /// The bucket is made as ours are.
    fn go_on_nats(&self, name: &str, bucket: &'static str, lease: Duration) -> Side {
        self.init(&format!("{}/{bucket}", self.nats.url()), &InitOptions::new().lease(lease));
        let program = tools::go_program("candidate").expect("cargo xtask bench builds it");
        let url = self.nats.url();
        let command = move |election: &str, candidate: &str| {
            let mut command = Command::new(&program);
            command.args(["-url", &url, "-bucket", bucket, "-key", election]);
            command.args(["-name", candidate, "-no-splay"]);
            command
        };
        Side {
            waits: "candidate",
            leads: "won",
            resigns: false,
            // Three quarters of the lease, by its rules.
            renewal: lease * 3 / 4,
            ..Side::new(name, Some(lease), command)
        }
    }
}

/// The default leases on NATS, etcd and SQLite.
fn defaults() -> [Duration; 3] {
    [30, 15, 5].map(seconds)
}

/// A side whose candidates are this program again.
fn ours(name: &str, url: String, lease: Duration) -> Side {
    let program = std::env::current_exe().expect("a running program has a path");
    let command = move |election: &str, candidate: &str| {
        let mut command = Command::new(&program);
        command.args(["candidate", &url, election, candidate, &lease.as_millis().to_string()]);
        command
    };
    Side { waits: "waiting", ..Side::new(name, Some(lease), command) }
}

fn seconds(number: u64) -> Duration {
    Duration::from_secs(number)
}

fn millis(span: Duration) -> String {
    format!("{}ms", span.as_millis())
}
