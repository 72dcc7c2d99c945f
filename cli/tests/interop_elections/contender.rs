//! A candidate of either side, as a process.

use std::process::Command;
use std::time::Duration;

use incumbent::Clock;
use incumbent::store::NatsSettings;
use incumbent::store::nats::{InitOptions, init};
use incumbent_testkit::go;
use incumbent_testkit::json::JsonProgram;
use incumbent_testkit::nats::NatsServer;
use incumbent_testkit::wait::GENEROUS;
use serde_json::Value;

use crate::candidate;
use crate::history::{self, Leadership, Side, leaderships};

pub(crate) const BUCKET: &str = "elections";

pub(crate) fn store_url(server: &NatsServer) -> String {
    format!("{}/{BUCKET}", server.url())
}

/// Creates the bucket as `incumbent init --new` does.
pub(crate) async fn make_bucket(server: &NatsServer, options: InitOptions) {
    let settings = NatsSettings::new(&server.url(), BUCKET).unwrap();
    init(&settings, &options.never_used(true)).await.unwrap();
}

/// A running candidate, or the record of a candidate that is gone.
pub(crate) struct Contender {
    pub(crate) side: Side,
    pub(crate) name: String,
    program: JsonProgram,
    lease: Duration,
    /// The time just before the candidate was killed.
    killed: Option<u64>,
    is_gone: bool,
}

impl Contender {
    /// Starts a candidate with the Go library's rules. Its lease is the bucket's TTL.
    pub(crate) fn go(server: &NatsServer, key: &str, name: &str, lease: Duration) -> Self {
        let program = go::candidate(&server.url(), BUCKET, key, name, None);
        Self::new(Side::Go, name, program, lease)
    }

    /// Ours, on the library.
    pub(crate) fn ours(server: &NatsServer, key: &str, name: &str, lease: Duration) -> Self {
        Self::new(Side::Ours, name, candidate::start(&store_url(server), key, name), lease)
    }

    /// Starts a candidate of ours: `incumbent run` with the preset for such elections.
    pub(crate) fn run(server: &NatsServer, key: &str, name: &str, lease: Duration) -> Self {
        let mut command = Command::new(env!("CARGO_BIN_EXE_incumbent"));
        command.args(["run", "--json", "--preset", "go-compatible", "--store", &store_url(server)]);
        command.args(["--key", key, "--name", name, "--", "sleep", "1000"]);
        command.env_remove("INCUMBENT_LOG").env_remove("NATS_CONTEXT");
        Self::new(Side::Ours, name, JsonProgram::on_stderr(command), lease)
    }

    fn new(side: Side, name: &str, program: JsonProgram, lease: Duration) -> Self {
        Self { side, name: name.into(), program, lease, killed: None, is_gone: false }
    }

    /// Waits until the candidate has printed something. After that it leaves cleanly when it is asked to.
    #[track_caller]
    pub(crate) fn await_first_word(&self) {
        self.program.await_line(&format!("a word of {}", self.name), GENEROUS, Value::is_object);
    }

    pub(crate) fn is_gone(&self) -> bool {
        self.is_gone
    }

    /// Returns true if the candidate has reported that it leads, but not yet that it no longer does.
    pub(crate) fn leads(&self) -> bool {
        self.last_turn().is_some_and(|line| line["event"] == "won")
    }

    /// Returns true if the candidate leads, and has led for longer than a lease.
    pub(crate) fn leads_for_long(&self) -> bool {
        let long_ago = now().saturating_sub(u64::try_from(self.lease.as_nanos()).unwrap());
        self.last_turn().is_some_and(|line| line["event"] == "won" && history::at(&line) < long_ago)
    }

    fn last_turn(&self) -> Option<Value> {
        let turns = ["won", "lost", "exited"];
        let is_turn = |line: &Value| line["event"].as_str().is_some_and(|event| turns.contains(&event));
        self.program.lines().into_iter().rfind(is_turn).filter(|_| !self.is_gone)
    }

    /// Kills it (`SIGKILL`).
    pub(crate) fn kill(&mut self) {
        self.killed = Some(now());
        self.program.child().kill();
        self.program.wait(GENEROUS);
        self.is_gone = true;
    }

    /// Makes it leave cleanly (`SIGTERM`).
    pub(crate) fn stop(&mut self) {
        self.program.child().terminate();
        let status = self.program.wait(GENEROUS);
        assert!(status.success(), "{} ended with {status}: {:?}", self.name, self.program.lines());
        self.is_gone = true;
    }

    /// Its terms so far.
    pub(crate) fn leaderships(&self) -> Vec<Leadership> {
        let gone = self.killed.unwrap_or_else(now);
        leaderships(self.side, &self.name, &self.program.lines(), gone, self.lease)
    }
}

impl Drop for Contender {
    fn drop(&mut self) {
        if std::thread::panicking() {
            let reported: String = self.program.lines().iter().map(|line| format!("{line}\n")).collect();
            eprintln!("--- {}\n{reported}---", self.name);
        }
    }
}

fn now() -> u64 {
    Clock::system().now().as_nanos()
}
