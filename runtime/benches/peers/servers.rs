//! The servers, and the candidates on each of them, with the settings that are compared.

use std::process::Command;
use std::sync::OnceLock;
use std::time::Duration;

use incumbent::store::{InitOptions, StoreSettings};
use incumbent::{CampaignOptions, Clock, Store};
use incumbent_testkit::etcd::{self, EtcdServer};
use incumbent_testkit::kafka::Kafka;
use incumbent_testkit::nats::{self, NatsCluster, NatsServer};
use incumbent_testkit::postgres::PostgresServer;
use incumbent_testkit::redis::RedisServer;
use incumbent_testkit::tools::{self, KafkaVersion};
use incumbent_testkit::zookeeper::ZookeeperServer;
use rustix::time::{ClockId, clock_gettime};
use tempfile::TempDir;

use crate::pair::Fault;
use crate::side::{Entry, Leaving, QUESTIONS, Side};

/// The lease of the comparison with one lease for all. It is the shortest, in whole seconds, that our preset `fast`,
/// etcd's sessions on a server with default settings, and the Go candidates all allow.
const LEASE: Duration = Duration::from_secs(2);
/// Our shortest lease on etcd: three times the server's shortest.
const LEASE_ON_ETCD: Duration = Duration::from_secs(6);
/// The session timeout on Kafka of our candidates with that lease, and of goNELI's with an equal receive deadline. It
/// is three times as long as either, and the shortest that brokers allow by default.
const SESSION: Duration = Duration::from_secs(6);
/// The interval between heartbeats to the group: that of our candidates, and the default of Confluent's client.
const HEARTBEATS: [Duration; 2] = [Duration::from_millis(600), Duration::from_secs(3)];
/// The time between two attempts of redsync when it is set to be quick. Each attempt takes two requests.
const RETRY: Duration = Duration::from_millis(1);
/// The tick of a ZooKeeper server that grants sessions as short as [`LEASE`]. A session has at least two ticks.
const SHORTER_TICK: Duration = Duration::from_secs(1);
/// The shortest session and the longest that a ZooKeeper server grants by default: 2 and 20 ticks. Curator asks for 60
/// s.
const SESSIONS: [Duration; 2] = [Duration::from_secs(4), Duration::from_secs(40)];
/// The longest time between two pings of ZooKeeper's client: `MAX_SEND_PING_INTERVAL` of its `ClientCnxn`.
const PINGS: Duration = Duration::from_secs(10);
/// Java's options for a small program that starts quickly: little memory, only the quick compiler, one thread for
/// garbage collection, no statistics and no log.
const JAVA: [&str; 5] = [
    "-Xmx64m",
    "-XX:TieredStopAtLevel=1",
    "-XX:+UseSerialGC",
    "-XX:-UsePerfData",
    "-Dorg.slf4j.simpleLogger.defaultLogLevel=off",
];
/// The servers of the cluster.
const THREE: u32 = 3;

/// The session of a candidate on ZooKeeper.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Session {
    /// The session that Curator requests by default, shortened to what the server grants.
    Default,
    /// The shortest session on a server with default settings.
    Shortest,
    /// A session of [`LEASE`], on a server with [`SHORTER_TICK`].
    WithShorterTick,
}

/// All servers, running.
pub(crate) struct Servers {
    nats: NatsServer,
    etcd: EtcdServer,
    redis: RedisServer,
    postgres: PostgresServer,
    three: OnceLock<NatsCluster>,
    kafka: OnceLock<Kafka>,
    /// One server with the default tick, and one with a shorter tick.
    zookeeper: [OnceLock<ZookeeperServer>; 2],
    files: TempDir,
    runtime: tokio::runtime::Runtime,
}

impl Servers {
    /// Starts the servers that all measurements need; the cluster, Kafka and ZooKeeper start with their first
    /// candidates.
    pub(crate) fn start() -> Self {
        Self {
            nats: NatsServer::start(nats::Options::new()),
            etcd: EtcdServer::start(etcd::Options::new()),
            redis: RedisServer::start(),
            postgres: PostgresServer::start(),
            three: OnceLock::new(),
            kafka: OnceLock::new(),
            zookeeper: Default::default(),
            files: tempfile::tempdir().expect("a folder"),
            runtime: tokio::runtime::Runtime::new().expect("threads start"),
        }
    }

    /// The candidates that hand over: with their default settings, and also as quick as their settings allow, if that
    /// differs.
    pub(crate) fn that_hand_over(&self) -> Vec<Side> {
        vec![
            self.ours_on_nats("incumbent on NATS", "HANDOVER", None, false),
            self.ours_on_three("incumbent on NATS, three servers", "HANDOVER", None, false),
            self.ours_on_etcd("incumbent on etcd", "handover", None),
            self.ours_on_sqlite("incumbent on SQLite", "handover.db", None),
            self.ours_on_sqlite("incumbent on SQLite, poll=1ms", "quick.db?poll=1ms", None),
            self.go_on_etcd("etcd's Go client", "go-handover", seconds(60)),
            self.etcdctl("etcdctl elect", "ctl-handover"),
            self.redsync("redsync", "handover", seconds(8), None),
            self.redsync("redsync, retry=1ms", "quick", seconds(8), Some(RETRY)),
            self.advisory("PostgreSQL advisory lock", 1),
            self.latch("Curator's LeaderLatch", "handover", Session::Default),
            self.go_on_nats("rules of nats-kv-leader-elect", "GOHANDOVER", seconds(30)),
        ]
    }

    /// The candidates whose leaders are killed, with the same lease if they allow it.
    pub(crate) fn with_one_lease(&self) -> Vec<Side> {
        vec![
            self.ours_on_nats("incumbent on NATS", "CRASH", Some(LEASE), false),
            self.ours_on_nats("incumbent on NATS, markers", "MARKERS", Some(LEASE), true),
            self.ours_on_three("incumbent on NATS, markers, three servers", "MARKERS", Some(LEASE), true),
            self.ours_on_sqlite("incumbent on SQLite", "crash.db", Some(LEASE)),
            self.ours_on_etcd("incumbent on etcd", "crash", Some(LEASE_ON_ETCD)),
            self.go_on_etcd("etcd's Go client", "go-crash", LEASE),
            self.go_on_etcd("etcd's Go client", "go-crash-longer", LEASE_ON_ETCD),
            self.redsync("redsync", "crash", LEASE, None),
            self.redsync("redsync, retry=1ms", "quick-crash", LEASE, Some(RETRY)),
            self.go_on_nats("rules of nats-kv-leader-elect", "GOCRASH", LEASE),
            self.go_on_three("rules of nats-kv-leader-elect, three servers", "GOCRASH", LEASE),
            self.advisory("PostgreSQL advisory lock", 2),
        ]
    }

    /// The candidates whose leaders are killed, each with its default lease.
    pub(crate) fn with_their_leases(&self) -> Vec<Side> {
        vec![
            self.ours_on_nats("incumbent on NATS", "DEFAULT", None, false),
            self.ours_on_etcd("incumbent on etcd", "default", None),
            self.ours_on_sqlite("incumbent on SQLite", "default.db", None),
            // concurrency.NewSession
            self.go_on_etcd("etcd's Go client", "go-default", seconds(60)),
            self.etcdctl("etcdctl elect", "ctl-default"),
            // redsync.NewMutex
            self.redsync("redsync", "default", seconds(8), None),
            // Its shortest.
            self.go_on_nats("rules of nats-kv-leader-elect", "GODEFAULT", seconds(30)),
        ]
    }

    /// The candidates whose leaders are stopped for a while.
    pub(crate) fn that_are_paused(&self) -> Vec<Side> {
        vec![
            self.ours_on_nats("incumbent on NATS, markers", "PAUSE", Some(LEASE), true),
            self.ours_on_etcd("incumbent on etcd", "pause", Some(LEASE_ON_ETCD)),
            self.ours_on_sqlite("incumbent on SQLite", "pause.db", Some(LEASE)),
            self.go_on_etcd("etcd's Go client", "go-pause", LEASE_ON_ETCD),
            self.redsync("redsync", "pause", LEASE, None),
            self.go_on_nats("rules of nats-kv-leader-elect", "GOPAUSE", LEASE),
            self.advisory("PostgreSQL advisory lock", 3),
        ]
    }

    /// The candidates whose leaders are cut off from the server for a while.
    pub(crate) fn that_are_cut_off(&self) -> Vec<Side> {
        vec![
            self.ours_on_nats("incumbent on NATS, markers", "PARTITION", Some(LEASE), true),
            self.ours_on_etcd("incumbent on etcd", "partition", Some(LEASE_ON_ETCD)),
            self.go_on_etcd("etcd's Go client", "go-partition", LEASE_ON_ETCD),
            self.redsync("redsync", "partition", LEASE, None),
            self.go_on_nats("rules of nats-kv-leader-elect", "GOPARTITION", LEASE),
            self.advisory("PostgreSQL advisory lock", 4),
        ]
    }

    /// The candidates in Java whose leaders are killed, with the shortest session of a server with default settings, and
    /// with the lease of the comparison.
    pub(crate) fn in_java(&self) -> Vec<Side> {
        vec![
            self.latch("Curator's LeaderLatch", "crash", Session::Shortest),
            self.latch("Curator's LeaderLatch, tickTime=1000", "crash", Session::WithShorterTick),
        ]
    }

    /// The candidates in Java whose leaders are killed, with their default session.
    pub(crate) fn in_java_with_their_leases(&self) -> Vec<Side> {
        vec![self.latch("Curator's LeaderLatch", "default", Session::Default)]
    }

    /// The candidates in Java whose leaders are stopped or cut off.
    pub(crate) fn in_java_with(&self, fault: Fault) -> Vec<Side> {
        let path = match fault {
            Fault::Pause => "pause",
            Fault::Partition => "partition",
        };
        vec![self.latch("Curator's LeaderLatch", path, Session::Shortest)]
    }

    /// The candidates on Kafka.
    pub(crate) fn on_kafka(&self) -> Vec<Side> {
        let address = self.kafka.get_or_init(|| Kafka::start(KafkaVersion::Newest)).address();
        vec![
            self.ours_on_kafka("incumbent on Kafka", &address),
            self.go_on_kafka("rules of goNELI", &address),
        ]
    }

    fn ours_on_nats(&self, name: &str, bucket: &'static str, lease: Option<Duration>, markers: bool) -> Side {
        self.init(&format!("{}/{bucket}", self.nats.url()), &with_lease(lease).markers(markers));
        self.ours(name, self.nats.address(), lease, move |server| format!("nats://{server}/{bucket}"))
    }

    fn ours_on_three(
        &self,
        name: &str,
        bucket: &'static str,
        lease: Option<Duration>,
        markers: bool,
    ) -> Side {
        let addresses = self.three().addresses();
        let options = with_lease(lease).markers(markers).replicas(THREE);
        self.init(&format!("nats://{addresses}/{bucket}"), &options);
        self.ours(name, addresses, lease, move |servers| format!("nats://{servers}/{bucket}"))
    }

    fn three(&self) -> &NatsCluster {
        self.three.get_or_init(|| NatsCluster::start(THREE as usize))
    }

    fn ours_on_etcd(&self, name: &str, prefix: &'static str, lease: Option<Duration>) -> Side {
        self.init(&format!("etcd://{}/{prefix}", self.etcd.address()), &InitOptions::new());
        self.ours(name, self.etcd.address(), lease, move |server| format!("etcd://{server}/{prefix}"))
    }

    fn ours_on_sqlite(&self, name: &str, file: &str, lease: Option<Duration>) -> Side {
        let url = format!("sqlite:{}", self.files.path().join(file).display());
        self.init(&url, &InitOptions::new());
        self.ours(name, String::new(), lease, move |_| url.clone())
    }

    /// A side whose candidates run this program. `url` makes a URL from the address of a server.
    fn ours(
        &self,
        name: &str,
        server: String,
        lease: Option<Duration>,
        url: impl Fn(&str) -> String + Sync + 'static,
    ) -> Side {
        let in_force = lease.unwrap_or_else(|| self.runtime.block_on(default_lease(&url(&server))));
        ours(name, server, lease, in_force, url)
    }

    fn ours_on_kafka(&self, name: &str, address: &str) -> Side {
        let side = ours(name, address.into(), Some(LEASE), LEASE, |server| format!("kafka://{server}"));
        let admin = self.kafka().admin();
        Side {
            lease: Some(SESSION),
            renewal: HEARTBEATS[0],
            waits: "campaigning",
            leaving: Leaving::Closes,
            present: Some(Box::new(move |election, members| {
                admin.owner(election, members);
            })),
            ..side
        }
    }

    fn go_on_kafka(&self, name: &str, address: &str) -> Side {
        let program = tools::go_kafka_program("candidate-1.8").expect("cargo xtask bench builds it");
        let group = |election: &str| format!("go-{election}");
        let (topics, groups) = (self.kafka().admin(), self.kafka().admin());
        let command = move |entry: &Entry<'_>| {
            let group = group(entry.election);
            let topic = format!("{group}.neli");
            // The election's first candidate creates the topic.
            if topics.topic(&topic).is_err() {
                topics.create_topic(&topic, "1", &[]);
            }
            let mut command = Command::new(&program);
            command.args(["-servers", entry.server, "-group", &group, "-name", entry.name]);
            command.args(["-timeout", &millis(LEASE)]);
            command
        };
        Side {
            renewal: HEARTBEATS[1],
            waits: "live",
            leads: "acquired",
            loses: &["revoked", "fenced", "closing"],
            leaving: Leaving::Closes,
            present: Some(Box::new(move |election, members| {
                groups.owner(&group(election), members);
            })),
            ..Side::new(name, address.into(), Some(SESSION), command)
        }
    }

    fn kafka(&self) -> &Kafka {
        self.kafka.get().expect("it was started")
    }

    fn init(&self, url: &str, options: &InitOptions) {
        let settings: StoreSettings = url.parse().expect("the test kit's URL is one");
        let options = options.clone().never_used(true);
        self.runtime.block_on(settings.init(&options)).expect("a new store is prepared");
    }

    fn go_on_etcd(&self, name: &str, prefix: &'static str, lease: Duration) -> Side {
        let program = tools::go_etcd_program("candidate").expect("cargo xtask bench builds it");
        let command = move |entry: &Entry<'_>| {
            let mut command = Command::new(&program);
            command.args(["-endpoints", entry.server, "-prefix", &format!("{prefix}/{}", entry.election)]);
            command.args([
                "-name",
                entry.name,
                "-ttl",
                &lease.as_secs().to_string(),
                "-probe",
                &probe(entry),
            ]);
            command
        };
        Side::new(name, self.etcd.address(), Some(lease), command)
    }

    /// A candidate through `etcdctl elect`, whose session has etcd's default lease. That lease cannot be chosen.
    fn etcdctl(&self, name: &str, prefix: &'static str) -> Side {
        let url = format!("etcd://{}/{prefix}", self.etcd.address());
        self.init(&url, &InitOptions::new());
        let store = self.runtime.block_on(Store::open(&url)).expect("the server is up");
        let runtime = self.runtime.handle().clone();
        let command = move |entry: &Entry<'_>| {
            let mut command = this_program();
            command.args(["etcdctl", entry.server, &format!("{prefix}/{}", entry.election), entry.name]);
            command
        };
        let present = move |election: &str, candidates: usize| {
            let count = || runtime.block_on(store.candidates(election)).ok().flatten().map(|all| all.len());
            incumbent_testkit::wait::until("etcdctl to queue", incumbent_testkit::wait::GENEROUS, || {
                count() == Some(candidates)
            });
        };
        Side {
            present: Some(Box::new(present)),
            ..Side::new(name, self.etcd.address(), Some(seconds(60)), command)
        }
    }

    fn redsync(&self, name: &str, prefix: &'static str, expiry: Duration, retry: Option<Duration>) -> Side {
        let program = tools::go_peer_program("redsync").expect("cargo xtask bench builds it");
        let command = move |entry: &Entry<'_>| {
            let mut command = Command::new(&program);
            command.args(["-address", entry.server, "-key", &format!("{prefix}/{}", entry.election)]);
            command.args(["-name", entry.name, "-expiry", &millis(expiry)]);
            command.args(["-retry", &millis(retry.unwrap_or_default()), "-probe", &probe(entry)]);
            command
        };
        Side::new(name, self.redis.address(), Some(expiry), command)
    }

    fn advisory(&self, name: &str, number: u32) -> Side {
        let program = tools::go_peer_program("pgadvisory").expect("cargo xtask bench builds it");
        let (url, address) = (self.postgres.url(), self.postgres.address());
        let command = move |entry: &Entry<'_>| {
            let mut command = Command::new(&program);
            command.args(["-url", &url.replace(&address, entry.server)]);
            command.args(["-key", &format!("{number}/{}", entry.election), "-name", entry.name]);
            command.args(["-probe", &probe(entry)]);
            command
        };
        Side::new(name, self.postgres.address(), None, command)
    }

    /// The candidates on Curator's latch. Each has a node under the election's path, and the owner of the oldest node
    /// leads.
    fn latch(&self, name: &str, folder: &'static str, session: Session) -> Side {
        let jars = tools::zookeeper_jars().expect("cargo xtask bench installs them");
        let classes = tools::curator_candidate().expect("cargo xtask bench builds it");
        let class_path = std::env::join_paths([classes, jars.join("*")]).expect("paths without a colon");
        let [by_default, shorter] = &self.zookeeper;
        let (server, tick, lease) = match session {
            Session::Default => (by_default, ZookeeperServer::TICK, SESSIONS[1]),
            Session::Shortest => (by_default, ZookeeperServer::TICK, SESSIONS[0]),
            Session::WithShorterTick => (shorter, SHORTER_TICK, LEASE),
        };
        let server = server.get_or_init(|| ZookeeperServer::start(tick)).address();
        let command = move |entry: &Entry<'_>| {
            let mut command = Command::new("java");
            command.args(JAVA).arg("-cp").arg(&class_path).arg("Candidate");
            command.args(["-servers", entry.server, "-path", &format!("/{folder}/{}", entry.election)]);
            command.args(["-name", entry.name, "-clock", &beyond_java().to_string()]);
            if session != Session::Default {
                command.args(["-session", &lease.as_millis().to_string()]);
            }
            if entry.is_asked {
                command.args(["-probe", &QUESTIONS.as_millis().to_string()]);
            }
            command
        };
        // ZooKeeper's client pings three times in a session, and more often in long ones.
        let renewal = (lease / 3).min(PINGS);
        Side { waits: "waiting", renewal, ..Side::new(name, server, Some(lease), command) }
    }

    /// The candidates by the rules of nats-kv-leader-elect, in a bucket that is created like ours.
    fn go_on_nats(&self, name: &str, bucket: &'static str, lease: Duration) -> Side {
        self.init(&format!("{}/{bucket}", self.nats.url()), &InitOptions::new().lease(lease));
        go_in_bucket(name, self.nats.address(), bucket, lease)
    }

    /// The same.
    fn go_on_three(&self, name: &str, bucket: &'static str, lease: Duration) -> Side {
        let addresses = self.three().addresses();
        let options = InitOptions::new().lease(lease).replicas(THREE);
        self.init(&format!("nats://{addresses}/{bucket}"), &options);
        go_in_bucket(name, addresses, bucket, lease)
    }
}

/// The candidates by the rules of nats-kv-leader-elect, in a bucket.
fn go_in_bucket(name: &str, servers: String, bucket: &'static str, lease: Duration) -> Side {
    let program = tools::go_program("candidate").expect("cargo xtask bench builds it");
    let command = move |entry: &Entry<'_>| {
        let mut command = Command::new(&program);
        command.args(["-url", &format!("nats://{}", entry.server), "-bucket", bucket]);
        command.args(["-key", entry.election, "-name", entry.name, "-no-splay", "-probe", &probe(entry)]);
        command
    };
    Side {
        waits: "candidate",
        leads: "won",
        leaving: Leaving::Never,
        // The library's rules renew every three quarters of the lease.
        renewal: lease * 3 / 4,
        ..Side::new(name, servers, Some(lease), command)
    }
}

/// The options of a store for leases of that length, or of the default length.
fn with_lease(lease: Option<Duration>) -> InitOptions {
    let options = InitOptions::new();
    match lease {
        Some(lease) => options.lease(lease),
        None => options,
    }
}

/// The lease of a candidate whose options set none, from its record. etcd keeps no record, so there the library reports
/// the lease for the server.
async fn default_lease(url: &str) -> Duration {
    const ELECTION: &str = "default-lease";
    let options = || CampaignOptions::new().splay(Duration::ZERO);
    if let StoreSettings::Etcd(settings) = url.parse().expect("the test kit's URL is one") {
        let survey = incumbent::store::etcd::survey(&settings).await.expect("the server is up");
        return options().forecast_in_queue(survey.server).expect("sound settings").lease;
    }
    let store = Store::open(url).await.expect("the store is there");
    let candidate = store.campaign(ELECTION, options()).await.expect("sound settings");
    let term = candidate.next_term().await.expect("the only candidate wins");
    let entry = store.entry(ELECTION).await.expect("the store answers");
    let lease = entry.live().and_then(|record| record.lease).expect("a record has its lease");
    drop(term);
    store.close().await.expect("closed once");
    lease
}

/// A side of ours, with the lease that its candidates' options set, and the lease in force.
fn ours(
    name: &str,
    server: String,
    lease: Option<Duration>,
    in_force: Duration,
    url: impl Fn(&str) -> String + Sync + 'static,
) -> Side {
    let command = move |entry: &Entry<'_>| {
        let mut command = this_program();
        command.args(["candidate", &url(entry.server), entry.election, entry.name]);
        command.arg(lease.map_or(crate::DEFAULT.into(), |lease| lease.as_millis().to_string()));
        command.arg(entry.is_asked.to_string());
        command
    };
    Side { waits: "waiting", ..Side::new(name, server, Some(in_force), command) }
}

/// The difference between the machine's clock and Java's (`CLOCK_MONOTONIC`), in nanoseconds. It is the time for which
/// the machine was suspended.
fn beyond_java() -> u64 {
    let java = clock_gettime(ClockId::Monotonic);
    let java = Duration::new(java.tv_sec.unsigned_abs(), u32::try_from(java.tv_nsec).unwrap_or_default());
    let java = u64::try_from(java.as_nanos()).unwrap_or_default();
    Clock::system().now().as_nanos().saturating_sub(java)
}

fn this_program() -> Command {
    Command::new(std::env::current_exe().expect("a running program has a path"))
}

/// The interval at which a Go program polls whether it leads; 0 if it does not poll.
fn probe(entry: &Entry<'_>) -> String {
    millis(if entry.is_asked { QUESTIONS } else { Duration::ZERO })
}

fn seconds(number: u64) -> Duration {
    Duration::from_secs(number)
}

fn millis(span: Duration) -> String {
    format!("{}ms", span.as_millis())
}
