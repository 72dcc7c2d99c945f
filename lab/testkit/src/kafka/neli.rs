//! Candidates by the rules that goNELI publishes: the program `candidate` of `lab/interop/kafka` on Confluent's Go
//! client. `lab/interop/README.md` describes what it prints.

use std::io::Write;
use std::process::{ChildStdin, Command, Stdio};
use std::time::Duration;

use serde_json::Value;

use crate::json::JsonProgram;
use crate::process::ChildGuard;
use crate::tools::KafkaVersion;
use crate::{tools, wait};

/// A candidate in a group of NELI.
#[derive(Debug)]
pub struct GoNeli {
    name: String,
    program: JsonProgram,
    orders: ChildStdin,
}

impl GoNeli {
    /// Starts a candidate on the newest client that serves this version of the broker: 1.8.2, or goNELI's own 1.4.0,
    /// which cannot fetch from Kafka 4. `brokers` are addresses, separated by commas; If the candidate receives no
    /// heartbeat for `timeout`, it gives up leadership; its session timeout is three times as long. `settings` are
    /// further client settings, each `NAME=VALUE`. The topic is the group's name followed by `.neli`.
    ///
    /// # Panics
    /// When the program is not built; the message names the remedy.
    #[track_caller]
    pub fn start(
        version: KafkaVersion,
        brokers: &str,
        group: &str,
        name: &str,
        timeout: Duration,
        settings: &[&str],
    ) -> Self {
        let program = match version {
            KafkaVersion::Newest => "candidate-1.8",
            KafkaVersion::V3_9 => "candidate-1.4",
        };
        let program = tools::go_kafka_program(program).unwrap_or_else(|error| panic!("{error}"));
        let mut command = Command::new(program);
        command.args(["-servers", brokers, "-group", group, "-name", name]);
        command.arg("-timeout").arg(format!("{}ms", timeout.as_millis()));
        for setting in settings {
            command.args(["-set", setting]);
        }
        command.stdin(Stdio::piped());
        let mut program = JsonProgram::on_stdout(command);
        let Some(orders) = program.child().take_stdin() else { panic!("{name} has no standard input") };
        Self { name: name.into(), program, orders }
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Its process.
    pub fn child(&mut self) -> &mut ChildGuard {
        self.program.child()
    }

    /// Everything that the program has printed so far.
    pub fn lines(&self) -> Vec<Value> {
        self.program.lines()
    }

    /// Returns true if the candidate counts as the leader, by its own report.
    pub fn leads(&self) -> bool {
        self.lines().iter().rfind(|line| is_turn(line)).is_some_and(|line| line["event"] == "acquired")
    }

    /// Waits until the candidate counts as the leader *and* has received a heartbeat since then, because an assignment
    /// alone proves nothing.
    #[track_caller]
    pub fn received(&self) {
        let confirmed = || {
            let lines = self.lines();
            let last = lines.iter().rfind(|line| is_turn(line) || line["event"] == "received");
            last.is_some_and(|line| line["event"] == "received")
        };
        wait::until(
            &format!("{} to lead, and to receive a heartbeat", self.name),
            wait::GENEROUS * 3,
            confirmed,
        );
    }

    /// Waits for the n-th line with this event, counted from 1.
    #[track_caller]
    pub fn nth(&self, event: &str, n: usize) -> Value {
        let find = || self.lines().into_iter().filter(|line| line["event"] == event).nth(n - 1);
        wait::until_some(&format!("{event} number {n} of {}", self.name), wait::GENEROUS * 3, find)
    }

    /// Blocks the candidate's task, and so its polls; waits until the task is blocked.
    #[track_caller]
    pub fn block(&mut self) {
        let before = self.lines().iter().filter(|line| line["event"] == "busy").count();
        self.order("busy");
        self.nth("busy", before + 1);
    }

    /// Lets its task end.
    #[track_caller]
    pub fn unblock(&mut self) {
        self.order("idle");
    }

    #[track_caller]
    fn order(&mut self, order: &str) {
        if let Err(error) = writeln!(self.orders, "{order}") {
            panic!("{} takes no order {order:?}: {error}; it printed {:?}", self.name, self.lines());
        }
    }

    /// Closes the candidate: it leaves the group, and its process ends.
    #[track_caller]
    pub fn close(&mut self) {
        self.order("close");
        let status = self.program.wait(wait::GENEROUS);
        assert!(status.success(), "{} ended with {status}: {:?}", self.name, self.lines());
    }

    /// Returns the terms that the candidate reported: begin and end in nanoseconds of the machine's clock. A term
    /// without a reported end ends at `gone`: the time at which the candidate was killed or stopped, or now.
    pub fn terms(&self, gone: u64) -> Vec<(u64, u64)> {
        let mut terms = Vec::new();
        let mut open = None;
        for line in self.lines().iter().filter(|line| is_turn(line)) {
            let at = line["t"].as_u64().unwrap_or_default();
            if line["event"] == "acquired" {
                open.get_or_insert(at);
            } else {
                terms.extend(open.take().map(|from| (from, at.min(gone))));
            }
        }
        terms.extend(open.map(|from| (from, gone)));
        // A term that began while the candidate was being killed may begin after `gone`.
        terms.retain(|(from, until)| from < until);
        terms
    }
}

impl Drop for GoNeli {
    fn drop(&mut self) {
        if std::thread::panicking() {
            let printed: String = self.lines().iter().map(|line| format!("{line}\n")).collect();
            eprintln!("--- {}\n{printed}---", self.name);
        }
    }
}

/// Returns true if the line reports the begin or the end of a term.
fn is_turn(line: &Value) -> bool {
    ["acquired", "revoked", "fenced", "closing", "failed"].iter().any(|event| line["event"] == *event)
}
