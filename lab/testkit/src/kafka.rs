//! A Kafka broker, or a cluster of three, that lives as long as its test; [an operator](admin) of it; and
//! [candidates](neli) by the rules of goNELI.

pub mod admin;
pub mod neli;
pub mod security;
pub mod shared;

use std::fmt::Write as _;
use std::fs::{self, File};
use std::io::{Read, Seek, SeekFrom};
use std::ops::{Index, IndexMut};
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use tempfile::TempDir;

use crate::certificates::Certificates;
use crate::port::Port;
use crate::process::{self, ChildGuard};
use crate::proxy::Proxy;
use crate::tools::{KafkaFiles, KafkaVersion};
use crate::wait;
use admin::Admin;
use security::{Entrance, Security};

/// The longest time that a broker may take to serve: on a machine that was also building, one took 41 s.
const STARTUP: Duration = Duration::from_secs(180);
/// The most attempts to start: if another process takes a port first, the next attempt uses new ports.
const STARTS: usize = 5;
/// The number of lines of a broker's log that a failing test shows.
const LOG_LINES: usize = 60;
/// The cluster's id: base64 of 16 bytes, as Kafka requires.
const CLUSTER: &str = "aW5jdW1iZW50LXRlc3RzIQ";

/// Options that keep a test's broker small and quick to start: only the quick compiler, one thread for garbage
/// collection, no statistics, and no list of the settings in the log.
const JAVA: [&str; 11] = [
    "-Xms64m",
    "-Xmx256m",
    "-XX:TieredStopAtLevel=1",
    "-XX:+UseSerialGC",
    "-XX:-UsePerfData",
    "-Dorg.slf4j.simpleLogger.showDateTime=true",
    "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn",
    "-Dorg.slf4j.simpleLogger.log.org.apache.kafka.clients=error",
    "-Dorg.slf4j.simpleLogger.log.kafka.server.KafkaRaftServer=info",
    "-Dorg.slf4j.simpleLogger.log.kafka.coordinator.group=info",
    "-Dorg.slf4j.simpleLogger.log.org.apache.kafka.coordinator.group=info",
];

/// The settings of every broker. Limits are the lowest, so that tests can choose short times; memory is small; and no
/// topic is created unless a test asks for it.
const SETTINGS: &str = "\
process.roles=broker,controller
controller.listener.names=CONTROLLER
inter.broker.listener.name=CLIENT
auto.create.topics.enable=false
group.initial.rebalance.delay.ms=0
group.min.session.timeout.ms=1000
group.consumer.min.session.timeout.ms=1000
group.consumer.session.timeout.ms=6000
group.consumer.min.heartbeat.interval.ms=100
group.consumer.heartbeat.interval.ms=1000
offsets.topic.num.partitions=1
transaction.state.log.num.partitions=1
log.cleaner.dedupe.buffer.size=2097152
log.cleaner.io.buffer.size=65536
log.index.size.max.bytes=1048576
num.network.threads=2
num.io.threads=2
background.threads=2
";

/// The options of a broker.
#[derive(Clone, Debug, Default)]
pub struct Options {
    version: KafkaVersion,
    settings: Vec<(String, String)>,
    routes: usize,
    secured: bool,
    recording: Option<PathBuf>,
}

impl Options {
    /// Options for a broker of the newest version, without authentication and TLS.
    pub fn new() -> Self {
        Self::default()
    }

    /// Another version of the broker.
    #[must_use]
    pub fn version(mut self, version: KafkaVersion) -> Self {
        self.version = version;
        self
    }

    /// Adds a setting of the broker, or replaces the test kit's value of a setting.
    #[must_use]
    pub fn setting(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.settings.push((name.into(), value.into()));
        self
    }

    /// Adds this many routes to each broker, with a proxy on each. A route is a listener of its own, and brokers answer
    /// with the addresses of the client's route, so a client stays on the route on which it begins.
    #[must_use]
    pub fn routes(mut self, routes: usize) -> Self {
        self.routes = routes;
        self
    }

    /// Gives the broker [entrances](Entrance) in addition to its plain listener, and checks permissions there.
    #[must_use]
    pub fn secured(mut self) -> Self {
        self.secured = true;
        self
    }

    /// Writes an archive of the loaded classes when the broker is stopped.
    #[must_use]
    pub fn recording(mut self, archive: PathBuf) -> Self {
        self.recording = Some(archive);
        self
    }
}

/// A running broker, which is also a controller. Dropping this value kills the broker and removes its folder.
#[derive(Debug)]
pub struct Kafka {
    number: usize,
    files: KafkaFiles,
    client: Port,
    controller: Port,
    routes: Vec<(Port, Proxy)>,
    security: Option<Security>,
    options: Options,
    /// The length of the log when the broker was last started.
    log_from: u64,
    // Declared before the folder, so that the process is dropped before the folder that it writes to.
    child: Option<ChildGuard>,
    folder: TempDir,
}

impl Kafka {
    /// Starts a single broker, and waits until it serves.
    ///
    /// # Panics
    /// When that version is not installed, or the broker does not start; the message gives the reason.
    #[track_caller]
    pub fn start(version: KafkaVersion) -> Self {
        Self::start_with(Options::new().version(version))
    }

    /// Starts a single broker with options.
    ///
    /// # Panics
    /// Like [`start`](Self::start).
    #[track_caller]
    pub fn start_with(options: Options) -> Self {
        KafkaCluster::start_with(1, options).brokers.remove(0)
    }

    #[track_caller]
    fn prepare(number: usize, options: &Options) -> Self {
        let files = KafkaFiles::find(options.version).unwrap_or_else(|error| panic!("{error}"));
        let folder = tempfile::Builder::new().prefix("incumbent-kafka-").tempdir();
        let route = |_| {
            let port = Port::free();
            let proxy = Proxy::to(&local(&port));
            (port, proxy)
        };
        Self {
            number,
            files,
            client: Port::free(),
            controller: Port::free(),
            routes: (0..options.routes).map(route).collect(),
            security: options.secured.then(Security::new),
            options: options.clone(),
            log_from: 0,
            child: None,
            folder: folder.unwrap_or_else(|error| panic!("no temporary folder: {error}")),
        }
    }

    /// The address for clients: `127.0.0.1:PORT`.
    pub fn address(&self) -> String {
        local(&self.client)
    }

    /// Returns the broker's proxy on a [route](Options::routes), counted from 0. Traffic between brokers passes no
    /// proxy.
    ///
    /// # Panics
    /// When there are fewer routes.
    pub fn proxy(&self, route: usize) -> &Proxy {
        &self.routes[route].1
    }

    /// The address of an entrance, `127.0.0.1:PORT`.
    ///
    /// # Panics
    /// When the broker is not [secured](Options::secured).
    #[track_caller]
    pub fn entrance(&self, entrance: Entrance) -> String {
        self.security().address(entrance)
    }

    /// The certificates of its entrances, and one for a client.
    ///
    /// # Panics
    /// When the broker is not [secured](Options::secured).
    #[track_caller]
    pub fn certificates(&self) -> &Certificates {
        &self.security().certificates
    }

    #[track_caller]
    fn security(&self) -> &Security {
        match &self.security {
            Some(security) => security,
            None => panic!("broker {} is not secured", self.number),
        }
    }

    /// The broker's number among the brokers, from 1; Kafka calls it the node's id.
    pub fn number(&self) -> usize {
        self.number
    }

    /// An operator of it.
    pub fn admin(&self) -> Admin {
        Admin::new(self.address())
    }

    /// The broker's process id.
    ///
    /// # Panics
    /// When it does not run.
    #[track_caller]
    pub fn pid(&self) -> u32 {
        match &self.child {
            Some(child) => child.pid(),
            None => panic!("broker {} does not run", self.number),
        }
    }

    /// Stops the broker (`SIGSTOP`): its connections stay open, and it answers nothing.
    #[track_caller]
    pub fn pause(&self) {
        process::pause(self.pid());
    }

    /// Resumes it (`SIGCONT`).
    #[track_caller]
    pub fn resume(&self) {
        process::resume(self.pid());
    }

    /// Kills the broker (`SIGKILL`). Its ports stay reserved, and its log stays as it is.
    pub fn kill(&mut self) {
        if let Some(mut child) = self.child.take() {
            child.kill();
        }
    }

    /// Asks the broker to shut down, and waits until it has ended.
    ///
    /// # Panics
    /// When it does not end.
    #[track_caller]
    pub fn stop(&mut self) {
        if let Some(mut child) = self.child.take() {
            child.terminate();
            child.wait(STARTUP);
        }
    }

    /// Starts the broker again on the same ports and log, and waits until it serves. A broker that still runs is killed
    /// first.
    ///
    /// # Panics
    /// When it does not start.
    #[track_caller]
    pub fn restart(&mut self) {
        self.kill();
        self.spawn();
        assert!(self.serves(), "another program took a port of broker {}", self.number);
    }

    /// The last lines of its log.
    pub fn log_tail(&self) -> String {
        let log = fs::read(self.folder.path().join("log")).unwrap_or_default();
        let log = String::from_utf8_lossy(&log);
        let lines: Vec<&str> = log.lines().collect();
        lines[lines.len().saturating_sub(LOG_LINES)..].join("\n")
    }

    /// Writes the broker's settings, and the first records of a new cluster. Kafka's own tool would write them too, but
    /// needs a Java process for that.
    #[track_caller]
    fn configure(&self, voters: &str, size: usize) {
        let mut protocols = vec!["CLIENT:PLAINTEXT".to_owned(), "CONTROLLER:PLAINTEXT".to_owned()];
        let mut listeners = vec![format!("CLIENT://{}", self.address())];
        let mut advertised = listeners.clone();
        for (number, (port, proxy)) in self.routes.iter().enumerate() {
            protocols.push(format!("ROUTE{number}:PLAINTEXT"));
            listeners.push(format!("ROUTE{number}://{}", local(port)));
            advertised.push(format!("ROUTE{number}://{}", proxy.address()));
        }
        for (name, address, protocol) in self.security.iter().flat_map(Security::listeners) {
            protocols.push(format!("{name}:{protocol}"));
            listeners.push(format!("{name}://{address}"));
            advertised.push(format!("{name}://{address}"));
        }
        listeners.push(format!("CONTROLLER://{}", local(&self.controller)));
        let data = self.folder.path().join("data");
        let in_sync = if size > 1 { 2 } else { 1 };
        // A single broker has no successor, so its session is long: a stall of the machine must not fence it.
        let session = if size > 1 { 6000 } else { 60_000 };
        let mut text = SETTINGS.to_owned();
        let own = [
            ("node.id", self.number.to_string()),
            ("controller.quorum.voters", voters.into()),
            ("listeners", listeners.join(",")),
            ("advertised.listeners", advertised.join(",")),
            ("listener.security.protocol.map", protocols.join(",")),
            ("log.dirs", data.display().to_string()),
            ("broker.session.timeout.ms", session.to_string()),
            ("broker.heartbeat.interval.ms", "500".into()),
            ("min.insync.replicas", in_sync.to_string()),
            ("default.replication.factor", size.to_string()),
            ("offsets.topic.replication.factor", size.to_string()),
            ("transaction.state.log.replication.factor", size.to_string()),
            ("transaction.state.log.min.isr", in_sync.to_string()),
        ];
        let secured = self.security.iter().flat_map(Security::settings);
        let chosen = secured.chain(self.options.settings.iter().cloned());
        let own = own.into_iter().map(|(name, value)| (name.to_owned(), value));
        // If a setting has two values, Java takes the later one.
        for (name, value) in own.chain(chosen) {
            let _ = writeln!(text, "{name}={value}");
        }
        // Base64 of 16 bytes, different for each broker.
        let directory = format!("{:021}A", self.number);
        let number = self.number;
        let meta = format!("version=1\ncluster.id={CLUSTER}\nnode.id={number}\ndirectory.id={directory}\n");
        let written = fs::create_dir_all(&data)
            .and_then(|()| fs::write(self.folder.path().join("server.properties"), text))
            .and_then(|()| fs::write(data.join("meta.properties"), meta))
            .and_then(|()| fs::copy(self.files.bootstrap(), data.join("bootstrap.checkpoint")));
        if let Err(error) = written {
            panic!("cannot prepare broker {}: {error}", self.number);
        }
    }

    #[track_caller]
    fn spawn(&mut self) {
        let path = self.folder.path().join("log");
        let log = File::options().create(true).append(true).open(&path);
        let log = log.unwrap_or_else(|error| panic!("no log: {error}"));
        let again = log.try_clone().unwrap_or_else(|error| panic!("no log: {error}"));
        self.log_from = log.metadata().map_or(0, |data| data.len());
        let mut command = Command::new("java");
        command.args(JAVA);
        let archive = self.files.archive();
        match &self.options.recording {
            Some(archive) => {
                command.arg(format!("-XX:ArchiveClassesAtExit={}", archive.display()));
            }
            // If another version made the archive, Java ignores it and starts without one.
            None if archive.is_file() => {
                command.arg(format!("-XX:SharedArchiveFile={}", archive.display()));
            }
            None => {}
        }
        command.arg("-cp").arg(self.files.class_path()).arg("kafka.Kafka").arg("server.properties");
        command.current_dir(&self.folder).stdout(log).stderr(again);
        match ChildGuard::spawn(command) {
            Ok(child) => self.child = Some(child),
            Err(error) => panic!("cannot start java: {error}; run `cargo xtask tools`"),
        }
    }

    /// Waits until the broker serves. Returns false if it ended because a port is taken.
    #[track_caller]
    fn serves(&mut self) -> bool {
        let what = format!("broker {} to serve (log in {})", self.number, self.folder.path().display());
        let mut ended = None;
        wait::until(&what, STARTUP, || {
            ended = self.child.as_mut().and_then(ChildGuard::try_wait);
            ended.is_some() || self.log_since_start().contains("Kafka Server started")
        });
        let Some(status) = ended else { return true };
        let log = self.log_since_start();
        assert!(log.contains("Address already in use"), "broker ended, {status}:\n{}", self.log_tail());
        self.child = None;
        false
    }

    fn log_since_start(&self) -> String {
        let mut text = Vec::new();
        if let Ok(mut log) = File::open(self.folder.path().join("log")) {
            let _ = log.seek(SeekFrom::Start(self.log_from)).and_then(|_| log.read_to_end(&mut text));
        }
        String::from_utf8_lossy(&text).into_owned()
    }
}

impl Drop for Kafka {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("--- broker {}, end of its log\n{}\n---", self.number, self.log_tail());
        }
    }
}

fn local(port: &Port) -> String {
    format!("127.0.0.1:{}", port.number())
}

/// The brokers of a cluster; index 0 is broker 1.
#[derive(Debug)]
pub struct KafkaCluster {
    brokers: Vec<Kafka>,
}

impl KafkaCluster {
    /// Starts three brokers, and waits until they serve. Their topics have three replicas, two of them in sync.
    ///
    /// # Panics
    /// When they do not start; the message gives the reason.
    #[track_caller]
    pub fn start(version: KafkaVersion) -> Self {
        Self::start_with(3, Options::new().version(version))
    }

    /// Starts `size` brokers with options.
    ///
    /// # Panics
    /// Like [`start`](Self::start).
    #[track_caller]
    pub fn start_with(size: usize, options: Options) -> Self {
        for _ in 0..STARTS {
            let mut brokers: Vec<_> = (1..=size).map(|number| Kafka::prepare(number, &options)).collect();
            let voter = |broker: &Kafka| format!("{}@{}", broker.number, local(&broker.controller));
            let voters = brokers.iter().map(voter).collect::<Vec<_>>().join(",");
            for broker in &mut brokers {
                broker.configure(&voters, size);
                broker.spawn();
            }
            if brokers.iter_mut().all(Kafka::serves) {
                return Self { brokers };
            }
        }
        panic!("no broker could be started: another program took its ports {STARTS} times");
    }

    /// The brokers.
    pub fn brokers(&self) -> &[Kafka] {
        &self.brokers
    }

    /// The brokers' addresses, `127.0.0.1:PORT`, separated by commas.
    pub fn addresses(&self) -> String {
        self.brokers.iter().map(Kafka::address).collect::<Vec<_>>().join(",")
    }

    /// The brokers' addresses on a [route](Options::routes), counted from 0.
    ///
    /// # Panics
    /// When there are fewer routes.
    pub fn route(&self, route: usize) -> String {
        self.brokers.iter().map(|broker| broker.proxy(route).address()).collect::<Vec<_>>().join(",")
    }

    /// An operator of it.
    pub fn admin(&self) -> Admin {
        Admin::new(self.addresses())
    }
}

impl Index<usize> for KafkaCluster {
    type Output = Kafka;

    fn index(&self, at: usize) -> &Kafka {
        &self.brokers[at]
    }
}

impl IndexMut<usize> for KafkaCluster {
    fn index_mut(&mut self, at: usize) -> &mut Kafka {
        &mut self.brokers[at]
    }
}
