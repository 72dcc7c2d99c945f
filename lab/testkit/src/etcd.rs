//! An etcd server, or a cluster of three, that lives as long as its test, and other software's [candidates](elect).

pub mod elect;
mod peers;

use std::fs::{self, File};
use std::io::Write;
use std::ops::{Deref, DerefMut, Index, IndexMut};
use std::path::PathBuf;
use std::process::{Command, ExitStatus, Stdio};
use std::time::Duration;

use serde_json::Value;
use tempfile::TempDir;

use crate::port::Port;
use crate::process::{self, ChildGuard};
use crate::tools::{self, EtcdVersion};
use crate::wait;
use peers::Peers;

/// The longest time that a server may take to serve, on a machine that also runs other tests.
const STARTUP: Duration = Duration::from_secs(60);
/// The most attempts to start: if another process takes a port first, the next attempt uses new ports.
const STARTS: usize = 5;
/// The number of lines of a server's log that a failing test shows.
const LOG_LINES: usize = 40;

/// The options of a server.
#[derive(Clone, Debug, Default)]
pub struct Options {
    version: EtcdVersion,
    arguments: Vec<String>,
    https: bool,
}

impl Options {
    /// Options for the newest server, without authentication and TLS.
    pub fn new() -> Self {
        Self::default()
    }

    /// Another version of the server.
    #[must_use]
    pub fn version(mut self, version: EtcdVersion) -> Self {
        self.version = version;
        self
    }

    /// Adds arguments, such as `--quota-backend-bytes=…` or `--cert-file=…`. A server with a certificate serves clients
    /// only over `https`; the test kit then checks on a second port whether the server is up.
    #[must_use]
    pub fn arguments<A: Into<String>>(mut self, arguments: impl IntoIterator<Item = A>) -> Self {
        self.arguments.extend(arguments.into_iter().map(Into::into));
        self.https = self.arguments.iter().any(|argument| argument.starts_with("--cert-file"));
        self
    }
}

/// A running etcd member. Dropping this value kills the member and removes its folder.
#[derive(Debug)]
pub struct EtcdServer {
    name: String,
    program: PathBuf,
    client: Port,
    peer: Port,
    /// The port that serves metrics and health without TLS.
    metrics: Port,
    options: Options,
    /// The address that other members dial.
    advertised: String,
    /// `name=advertised address` of all members.
    cluster: String,
    // Declared before the folder, so that the process is dropped before the folder that it writes to.
    child: Option<ChildGuard>,
    folder: TempDir,
}

impl EtcdServer {
    /// Starts a single member, and waits until it serves.
    ///
    /// # Panics
    /// When the program of that version is missing or does not start; the message gives the reason.
    #[track_caller]
    pub fn start(options: Options) -> Self {
        let mut alone = EtcdCluster::start_with(1, options);
        alone.members.remove(0)
    }

    #[track_caller]
    fn prepare(number: usize, options: &Options) -> Self {
        let program = tools::etcd(options.version).unwrap_or_else(|error| panic!("{error}"));
        let folder = tempfile::Builder::new().prefix("incumbent-etcd-").tempdir();
        let peer = Port::free();
        Self {
            name: format!("e{number}"),
            program,
            client: Port::free(),
            advertised: format!("http://127.0.0.1:{}", peer.number()),
            peer,
            metrics: Port::free(),
            options: options.clone(),
            cluster: String::new(),
            child: None,
            folder: folder.unwrap_or_else(|error| panic!("no temporary folder: {error}")),
        }
    }

    /// Adds a learner to this member's cluster: a member that replicates but has no vote. Waits until both members
    /// serve.
    ///
    /// # Panics
    /// When it cannot be added, or does not start.
    #[track_caller]
    pub fn with_learner(self) -> (Self, Self) {
        for _ in 0..STARTS {
            let mut learner = Self::prepare(2, &self.options);
            let peers = format!("--peer-urls={}", learner.advertised);
            self.ctl(&["member", "add", &learner.name, "--learner", &peers]);
            learner.cluster = format!("{},{}={}", self.cluster, learner.name, learner.advertised);
            learner.options.arguments.push("--initial-cluster-state=existing".into());
            learner.spawn();
            if learner.becomes_healthy() {
                return (self, learner);
            }
            self.remove(&learner);
        }
        panic!("no learner could be started: another program took its ports {STARTS} times");
    }

    /// Removes another member from the cluster.
    #[track_caller]
    fn remove(&self, other: &Self) {
        let members = self.ctl(&["member", "list"]);
        let line = members.lines().find(|line| line.contains(&other.advertised));
        let id = line.and_then(|line| line.split(',').next());
        let id = id.unwrap_or_else(|| panic!("{} is not a member: {members}", other.advertised));
        self.ctl(&["member", "remove", id]);
    }

    /// The address for clients: `127.0.0.1:PORT`.
    pub fn address(&self) -> String {
        format!("127.0.0.1:{}", self.client.number())
    }

    /// The server's process id.
    ///
    /// # Panics
    /// When it does not run.
    #[track_caller]
    pub fn pid(&self) -> u32 {
        match &self.child {
            Some(child) => child.pid(),
            None => panic!("etcd {} does not run", self.name),
        }
    }

    /// Stops the server (`SIGSTOP`): its connections stay open, and it answers nothing.
    #[track_caller]
    pub fn pause(&self) {
        process::pause(self.pid());
    }

    /// Resumes it (`SIGCONT`).
    #[track_caller]
    pub fn resume(&self) {
        process::resume(self.pid());
    }

    /// Kills the server (`SIGKILL`). Its ports stay reserved, and its store stays as it is.
    pub fn kill(&mut self) {
        if let Some(mut child) = self.child.take() {
            child.kill();
        }
    }

    /// Kills the server and removes everything that it stored.
    ///
    /// # Panics
    /// When its folder cannot be removed.
    #[track_caller]
    pub fn wipe(&mut self) {
        self.kill();
        if let Err(error) = fs::remove_dir_all(self.folder.path().join("data")) {
            panic!("cannot wipe etcd {}: {error}", self.name);
        }
    }

    /// Restarts the server and keeps a copy of its store for [`restore`](Self::restore).
    ///
    /// # Panics
    /// When the folder cannot be copied, or it does not start again.
    #[track_caller]
    pub fn keep(&mut self) {
        self.kill();
        self.copy("data", "kept");
        self.restart();
    }

    /// Replaces the server's store with the copy that was [kept](Self::keep), and starts the server again.
    ///
    /// # Panics
    /// When no copy was kept, or it does not start.
    #[track_caller]
    pub fn restore(&mut self) {
        self.wipe();
        self.copy("kept", "data");
        self.restart();
    }

    #[track_caller]
    fn copy(&self, from: &str, to: &str) {
        let (from, to) = (self.folder.path().join(from), self.folder.path().join(to));
        let copied = Command::new("cp").arg("-R").arg(&from).arg(&to).status();
        assert!(copied.as_ref().is_ok_and(ExitStatus::success), "cannot copy {}: {copied:?}", from.display());
    }

    /// Starts the server again on the same ports and store, and waits until it serves. A server that still runs is
    /// killed first.
    ///
    /// # Panics
    /// When it does not start.
    #[track_caller]
    pub fn restart(&mut self) {
        self.kill();
        self.spawn();
        assert!(self.becomes_healthy(), "another program took a port of etcd {}", self.name);
    }

    /// Runs `etcdctl` against the server, and returns what `etcdctl` prints.
    ///
    /// # Panics
    /// When there is no etcdctl, or it fails.
    #[track_caller]
    pub fn ctl(&self, arguments: &[&str]) -> String {
        self.try_ctl(arguments).unwrap_or_else(|error| panic!("etcdctl {arguments:.200?}: {error}"))
    }

    /// Runs `etcdctl` against the server, for a command that may fail.
    ///
    /// # Errors
    /// What `etcdctl` prints about the failure.
    ///
    /// # Panics
    /// When there is no etcdctl.
    #[track_caller]
    pub fn try_ctl(&self, arguments: &[&str]) -> Result<String, String> {
        ctl(&self.address(), arguments, "")
    }

    /// The revision of the server's store.
    ///
    /// # Panics
    /// When it does not answer.
    #[track_caller]
    pub fn revision(&self) -> u64 {
        let answer = self.ctl(&["get", "nothing", "--write-out", "json"]);
        let answer: Value = serde_json::from_str(&answer).unwrap_or_default();
        answer["header"]["revision"].as_u64().unwrap_or_else(|| panic!("no revision: {answer}"))
    }

    /// Returns the value of one of the server's counters for a gRPC method, summed over all outcomes of its calls.
    ///
    /// # Panics
    /// When it does not answer.
    #[track_caller]
    pub fn metric(&self, counter: &str, method: &str) -> u64 {
        let text = self.http("metrics").unwrap_or_else(|| panic!("etcd {} shows no metrics", self.name));
        let method = format!("grpc_method=\"{method}\"");
        let of_it = |line: &&str| line.strip_prefix(counter).is_some_and(|rest| rest.contains(&method));
        let value = |line: &str| line.rsplit(' ').next()?.parse::<f64>().ok();
        text.lines().filter(of_it).filter_map(value).sum::<f64>() as u64
    }

    /// Returns one of the server's metrics without labels.
    ///
    /// # Panics
    /// When it does not answer, or has no such metric.
    #[track_caller]
    pub fn gauge(&self, name: &str) -> u64 {
        let text = self.http("metrics").unwrap_or_else(|| panic!("etcd {} shows no metrics", self.name));
        let value =
            text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' ')?.parse::<f64>().ok());
        value.unwrap_or_else(|| panic!("etcd {} has no {name}", self.name)) as u64
    }

    /// The last lines of its log.
    pub fn log_tail(&self) -> String {
        let log = fs::read_to_string(self.folder.path().join("log")).unwrap_or_default();
        let lines: Vec<&str> = log.lines().collect();
        lines[lines.len().saturating_sub(LOG_LINES)..].join("\n")
    }

    #[track_caller]
    fn spawn(&mut self) {
        let log = File::options().create(true).append(true).open(self.folder.path().join("log"));
        let log = log.unwrap_or_else(|error| panic!("no log: {error}"));
        let again = log.try_clone().unwrap_or_else(|error| panic!("no log: {error}"));
        let scheme = if self.options.https { "https" } else { "http" };
        let clients = format!("{scheme}://{}", self.address());
        let mut command = Command::new(&self.program);
        command.args(["--name", &self.name, "--initial-cluster", &self.cluster]);
        command.arg("--data-dir").arg(self.folder.path().join("data"));
        command.args(["--listen-client-urls", &clients, "--advertise-client-urls", &clients]);
        command.args(["--listen-peer-urls", &format!("http://127.0.0.1:{}", self.peer.number())]);
        command.args(["--initial-advertise-peer-urls", &self.advertised]).current_dir(self.folder.path());
        command.args(["--listen-metrics-urls", &format!("http://127.0.0.1:{}", self.metrics.number())]);
        command.args(&self.options.arguments).stdout(log).stderr(again);
        match ChildGuard::spawn(command) {
            Ok(child) => self.child = Some(child),
            Err(error) => panic!("cannot start {}: {error}", self.program.display()),
        }
    }

    /// Waits until it serves; false if it ended because a port is taken.
    #[track_caller]
    fn becomes_healthy(&mut self) -> bool {
        let mut ended = None;
        let what = format!("etcd {} to serve (log in {})", self.name, self.folder.path().display());
        wait::until(&what, STARTUP, || {
            ended = self.child.as_mut().and_then(ChildGuard::try_wait);
            ended.is_some() || self.is_healthy()
        });
        let Some(status) = ended else { return true };
        let log = self.log_tail();
        assert!(log.contains("address already in use"), "etcd ended, {status}:\n{log}");
        false
    }

    /// Returns true if the server serves clients and knows a leader.
    pub fn is_healthy(&self) -> bool {
        let health: Option<Value> = self.http("health").and_then(|text| serde_json::from_str(&text).ok());
        health.is_some_and(|health| health["health"] == "true")
    }

    /// Reads a page of the server's metrics port.
    fn http(&self, page: &str) -> Option<String> {
        let agent =
            ureq::Agent::config_builder().proxy(None).timeout_global(Some(Duration::from_secs(2))).build();
        let url = format!("http://127.0.0.1:{}/{page}", self.metrics.number());
        let mut answer = agent.new_agent().get(url).call().ok()?;
        answer.body_mut().read_to_string().ok()
    }
}

impl Drop for EtcdServer {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("--- etcd {}, end of its log\n{}\n---", self.name, self.log_tail());
        }
    }
}

/// Runs `etcdctl` against the members at these addresses, separated by commas, and returns what it prints. `input` is a
/// transaction for its standard input.
///
/// # Errors
/// What `etcdctl` prints about the failure.
///
/// # Panics
/// When there is no etcdctl.
#[track_caller]
pub fn ctl(endpoints: &str, arguments: &[&str], input: &str) -> Result<String, String> {
    let program = tools::etcdctl().unwrap_or_else(|error| panic!("{error}"));
    let mut command = Command::new(&program);
    command.env("ETCDCTL_API", "3").args(["--endpoints", endpoints]).args(arguments);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let output = command.spawn().and_then(|mut child| {
        if let Some(mut stdin) = child.stdin.take() {
            // A command that does not read its input may have ended already.
            let _ = stdin.write_all(input.as_bytes());
        }
        child.wait_with_output()
    });
    let output = output.unwrap_or_else(|error| panic!("{}: {error}", program.display()));
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    Err(format!("{}: {}", output.status, String::from_utf8_lossy(&output.stderr)))
}

/// Returns true if the member at `address` accepts a write of the key `pulse` within `limit`.
pub fn takes_a_write(address: &str, limit: Duration) -> bool {
    // Key and value are in base64, as etcd's JSON requires for bytes.
    const PULSE: &str = r#"{"key":"cHVsc2U=","value":"cHVsc2U="}"#;
    let agent = ureq::Agent::config_builder().proxy(None).timeout_global(Some(limit)).build().new_agent();
    agent.post(format!("http://{address}/v3/kv/put")).send(PULSE).is_ok()
}

/// The members of a cluster.
#[derive(Debug)]
pub struct EtcdCluster {
    members: Vec<EtcdServer>,
    /// The network between the members, if it can be cut.
    peers: Option<Peers>,
}

impl EtcdCluster {
    /// Starts `size` members of the newest version, and waits until they serve.
    ///
    /// # Panics
    /// When they do not start; the message gives the reason.
    #[track_caller]
    pub fn start(size: usize) -> Self {
        Self::start_with(size, Options::new())
    }

    /// Starts members of a cluster with options.
    ///
    /// # Panics
    /// Like [`start`](Self::start).
    #[track_caller]
    pub fn start_with(size: usize, options: Options) -> Self {
        Self::try_often(size, &options, |_| None)
    }

    /// Starts members of a cluster with a network between the members that can be cut: see [`isolate`](Self::isolate).
    ///
    /// # Panics
    /// Like [`start`](Self::start).
    #[track_caller]
    pub fn start_partitionable(size: usize, options: Options) -> Self {
        Self::try_often(size, &options, |members| {
            members.iter_mut().for_each(|member| member.advertised = peers::url(&member.name));
            let known = members.iter().map(|member| peers::Member {
                name: &member.name,
                folder: member.folder.path(),
                address: format!("127.0.0.1:{}", member.peer.number()),
            });
            Some(Peers::between(&known.collect::<Vec<_>>()))
        })
    }

    #[track_caller]
    fn try_often(
        size: usize,
        options: &Options,
        connect: impl Fn(&mut [EtcdServer]) -> Option<Peers>,
    ) -> Self {
        for _ in 0..STARTS {
            let mut members: Vec<_> = (1..=size).map(|number| EtcdServer::prepare(number, options)).collect();
            let peers = connect(&mut members);
            let named = |member: &EtcdServer| format!("{}={}", member.name, member.advertised);
            let urls: Vec<_> = members.iter().map(named).collect();
            for member in &mut members {
                member.cluster = urls.join(",");
                member.spawn();
            }
            if members.iter_mut().all(EtcdServer::becomes_healthy) {
                return Self { members, peers };
            }
        }
        panic!("no etcd could be started: another program took its ports {STARTS} times");
    }

    /// Cuts a member off from all others, like a network that drops all packets; clients still reach all members.
    ///
    /// # Panics
    /// When the cluster was not started as [partitionable](Self::start_partitionable).
    #[track_caller]
    pub fn isolate(&self, member: usize) {
        self.peers().cut(|one, _| one == member);
    }

    /// Cuts two members off from each other; all others still reach both.
    ///
    /// # Panics
    /// Like [`isolate`](Self::isolate).
    #[track_caller]
    pub fn separate(&self, one: usize, other: usize) {
        self.peers().cut(|from, to| (from, to) == (one, other));
    }

    /// Ends every cut between members. What they sent during the cut then arrives.
    ///
    /// # Panics
    /// Like [`isolate`](Self::isolate).
    #[track_caller]
    pub fn heal(&self) {
        self.peers().heal();
    }

    #[track_caller]
    fn peers(&self) -> &Peers {
        let Some(peers) = &self.peers else { panic!("this cluster was not started as partitionable") };
        peers
    }

    /// The members' addresses, `127.0.0.1:PORT`, separated by commas.
    pub fn addresses(&self) -> String {
        self.members.iter().map(EtcdServer::address).collect::<Vec<_>>().join(",")
    }

    /// Starts these members again at the same time, because a single member of three cannot serve until another one
    /// runs.
    ///
    /// # Panics
    /// When one does not start.
    #[track_caller]
    pub fn restart(&mut self, which: &[usize]) {
        for at in which {
            self.members[*at].kill();
            self.members[*at].spawn();
        }
        for at in which {
            let started = self.members[*at].becomes_healthy();
            assert!(started, "another program took a port of etcd {}", self.members[*at].name);
        }
    }

    /// Waits for the leader, and returns its member.
    ///
    /// # Panics
    /// When there is none for a long time.
    #[track_caller]
    pub fn leader(&self) -> usize {
        wait::until_some("a leader of the etcd cluster", STARTUP, || {
            (0..self.members.len()).find(|number| self.leads(*number))
        })
    }

    /// Makes a voting member the leader: the current leader hands over to it, without an election timeout.
    ///
    /// # Panics
    /// When that member does not become the leader.
    #[track_caller]
    pub fn move_leader(&self, to: usize) {
        let leader = self.leader();
        if leader == to {
            return;
        }
        let id = self.status(to)["header"]["member_id"].as_u64();
        let id = id.unwrap_or_else(|| panic!("etcd {} has no number", self.members[to].name));
        self.members[leader].ctl(&["move-leader", &format!("{id:x}")]);
        wait::until("the member to lead", STARTUP, || self.leads(to));
    }

    fn leads(&self, number: usize) -> bool {
        let member = &self.members[number];
        if member.child.is_none() || !member.is_healthy() {
            return false;
        }
        let status = self.status(number);
        status["leader"].is_u64() && status["leader"] == status["header"]["member_id"]
    }

    /// A member's status, as it reports it.
    fn status(&self, number: usize) -> Value {
        let status = self.members[number].ctl(&["endpoint", "status", "--write-out", "json"]);
        let mut status: Value = serde_json::from_str(&status).unwrap_or_default();
        status[0]["Status"].take()
    }
}

impl Deref for EtcdCluster {
    type Target = [EtcdServer];

    fn deref(&self) -> &[EtcdServer] {
        &self.members
    }
}

impl DerefMut for EtcdCluster {
    fn deref_mut(&mut self) -> &mut [EtcdServer] {
        &mut self.members
    }
}

impl Index<usize> for EtcdCluster {
    type Output = EtcdServer;

    fn index(&self, number: usize) -> &EtcdServer {
        &self.members[number]
    }
}

impl IndexMut<usize> for EtcdCluster {
    fn index_mut(&mut self, number: usize) -> &mut EtcdServer {
        &mut self.members[number]
    }
}
