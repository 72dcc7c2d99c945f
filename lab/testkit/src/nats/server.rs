//! One nats-server process.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use rustix::process::Signal;
use tempfile::TempDir;

use super::{Backlog, Options, monitor};
use crate::port::Port;
use crate::process::{self, ChildGuard};
use crate::{tools, wait};

/// The longest time that a server may take to serve, on a machine that also runs other tests.
const STARTUP: Duration = Duration::from_secs(60);
/// The most attempts to start: if another process takes a port first, the next attempt uses new ports.
const STARTS: usize = 5;
/// The number of lines of a server's log that a failing test shows.
const LOG_LINES: usize = 40;

/// A running nats-server with JetStream. Dropping this value kills the server and removes its folder.
#[derive(Debug)]
pub struct NatsServer {
    name: String,
    program: PathBuf,
    client: Port,
    monitor: Port,
    cluster: String,
    config: String,
    is_synced: bool,
    // Declared before the folder, so that the process is dropped before the folder that it writes to.
    child: Option<ChildGuard>,
    folder: TempDir,
}

impl NatsServer {
    /// Starts a server, and waits until it serves.
    ///
    /// # Panics
    /// When the program of that version is missing or does not start; the message gives the reason.
    #[track_caller]
    pub fn start(options: Options) -> Self {
        for _ in 0..STARTS {
            let mut server = Self::prepare("n1", &options, String::new());
            if server.launch() {
                return server;
            }
        }
        panic!("no nats-server could be started: another program took its ports {STARTS} times");
    }

    /// Prepares a server with ports and a folder of its own, without starting it.
    #[track_caller]
    pub(super) fn prepare(name: &str, options: &Options, cluster: String) -> Self {
        let program = tools::nats_server(options.version).unwrap_or_else(|error| panic!("{error}"));
        let folder = tempfile::Builder::new().prefix("incumbent-nats-").tempdir();
        Self {
            name: name.into(),
            program,
            client: Port::free(),
            monitor: Port::free(),
            cluster,
            config: options.config.clone(),
            is_synced: options.is_synced,
            child: None,
            folder: folder.unwrap_or_else(|error| panic!("no temporary folder: {error}")),
        }
    }

    /// The server's name: `n1`, or `n1` to `n3` in a cluster.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The URL for clients, without credentials: `nats://127.0.0.1:PORT`.
    pub fn url(&self) -> String {
        format!("nats://{}", self.address())
    }

    /// The address for clients: `127.0.0.1:PORT`.
    pub fn address(&self) -> String {
        format!("127.0.0.1:{}", self.client.number())
    }

    /// The port for clients.
    pub fn port(&self) -> u16 {
        self.client.number()
    }

    /// Returns an answer of the server's monitoring endpoint (`/varz`, `/jsz?…`, `/connz`, …), or `None` if there is no
    /// answer.
    pub fn monitoring(&self, path: &str) -> Option<serde_json::Value> {
        monitor::get(self.monitor.number(), path)
    }

    /// The number of records in a bucket, if the server answers.
    pub fn records(&self, bucket: &str) -> Option<u64> {
        monitor::messages(self.monitor.number(), &format!("KV_{bucket}"))
    }

    /// Returns what the server has not sent yet to the watchers of a bucket, and the bytes that it has not sent yet to
    /// any client; `None` if it does not answer.
    pub fn backlog(&self, bucket: &str) -> Option<Backlog> {
        monitor::backlog(self.monitor.number(), &format!("KV_{bucket}"))
    }

    pub(super) fn monitor_port(&self) -> u16 {
        self.monitor.number()
    }

    /// The server's working folder, which is removed with the server.
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// The server's process id.
    ///
    /// # Panics
    /// When it does not run.
    #[track_caller]
    pub fn pid(&self) -> u32 {
        match &self.child {
            Some(child) => child.pid(),
            None => panic!("nats-server {} does not run", self.name),
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

    /// Asks the server to end (`SIGTERM`), and waits until it has ended.
    #[track_caller]
    pub fn stop(&mut self) {
        if let Some(mut child) = self.child.take() {
            child.terminate();
            child.wait(STARTUP);
        }
    }

    /// Starts the server again on the same ports and store, and waits until it serves. A server that still runs is
    /// killed first.
    ///
    /// # Panics
    /// When it does not start.
    #[track_caller]
    pub fn restart(&mut self) {
        self.respawn();
        assert!(self.becomes_healthy(), "another program took a port of nats-server {}", self.name);
    }

    /// Starts the server again like [`restart`](Self::restart), but does not wait until it serves.
    #[track_caller]
    pub fn respawn(&mut self) {
        self.kill();
        self.spawn();
    }

    /// Replaces the text of [`Options::config`] while the server runs, and waits until the new text has taken effect.
    ///
    /// # Panics
    /// When the server refuses the new configuration.
    #[track_caller]
    pub fn reconfigure(&mut self, config: impl Into<String>) {
        let loaded_at =
            |server: &Self| server.monitoring("/varz").map(|varz| varz["config_load_time"].clone());
        let before = loaded_at(self);
        self.config = config.into();
        self.write_config();
        process::send(self.pid(), Signal::HUP);
        let what = format!("nats-server {} to take its new configuration\n{}", self.name, self.log_tail());
        wait::until(&what, wait::GENEROUS, || loaded_at(self).is_some_and(|now| Some(now) != before));
    }

    /// The last lines of its log.
    pub fn log_tail(&self) -> String {
        let log = fs::read_to_string(self.log_path()).unwrap_or_default();
        let lines: Vec<&str> = log.lines().collect();
        lines[lines.len().saturating_sub(LOG_LINES)..].join("\n")
    }

    /// Starts the process and waits until it serves; false if a port is taken.
    #[track_caller]
    pub(super) fn launch(&mut self) -> bool {
        self.spawn();
        self.becomes_healthy()
    }

    #[track_caller]
    pub(super) fn spawn(&mut self) {
        self.write_config();
        let log = File::options().create(true).append(true).open(self.log_path());
        let log = log.unwrap_or_else(|error| panic!("no log: {error}"));
        let again = log.try_clone().unwrap_or_else(|error| panic!("no log: {error}"));
        let mut command = Command::new(&self.program);
        command.arg("--config").arg(self.config_path()).stdout(log).stderr(again);
        match ChildGuard::spawn(command) {
            Ok(child) => self.child = Some(child),
            Err(error) => panic!("cannot start {}: {error}", self.program.display()),
        }
    }

    /// Waits until the server serves. Returns false if it ended because a port is taken.
    #[track_caller]
    pub(super) fn becomes_healthy(&mut self) -> bool {
        let mut ended = None;
        let what = format!("nats-server {} to serve (log in {})", self.name, self.log_path().display());
        let monitor = self.monitor.number();
        wait::until(&what, STARTUP, || {
            ended = self.child.as_mut().and_then(ChildGuard::try_wait);
            ended.is_some() || monitor::is_healthy(monitor)
        });
        let Some(status) = ended else { return true };
        let log = self.log_tail();
        assert!(log.contains("address already in use"), "nats-server ended, {status}:\n{log}");
        false
    }

    #[track_caller]
    fn write_config(&self) {
        let text = format!(
            "server_name: {name}\nlisten: \"127.0.0.1:{client}\"\nhttp: \"127.0.0.1:{monitor}\"\n\
             jetstream {{ store_dir: \"{store}\", max_memory_store: 256MB, max_file_store: 1GB{sync} }}\n\
             {cluster}\n{config}\n",
            sync = if self.is_synced { ", sync_interval: always" } else { "" },
            name = self.name,
            client = self.client.number(),
            monitor = self.monitor.number(),
            store = self.folder.path().join("store").display(),
            cluster = self.cluster,
            config = self.config,
        );
        if let Err(error) = fs::write(self.config_path(), text) {
            panic!("cannot write {}: {error}", self.config_path().display());
        }
    }

    fn config_path(&self) -> PathBuf {
        self.folder.path().join("nats.conf")
    }

    fn log_path(&self) -> PathBuf {
        self.folder.path().join("log")
    }
}

impl Drop for NatsServer {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("--- nats-server {}, end of its log\n{}\n---", self.name, self.log_tail());
        }
    }
}
