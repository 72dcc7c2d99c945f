//! Candidates of other software in an etcd election: the programs of `lab/interop/etcd` on the official Go client,
//! and `etcdctl elect`. `lab/interop/README.md` describes what the programs print.

use std::io::Write;
use std::process::{ChildStdin, Command, Stdio};
use std::time::Duration;

use serde_json::Value;

use crate::json::JsonProgram;
use crate::process::ChildGuard;
use crate::{tools, wait};

/// A candidate or an observer on the official Go client.
#[derive(Debug)]
pub struct GoClient {
    name: String,
    program: JsonProgram,
    commands: ChildStdin,
}

impl GoClient {
    /// Starts a candidate whose session has a lease of `ttl`, in whole seconds. `endpoints` are addresses,
    /// `127.0.0.1:PORT`, separated by commas; `election` is the prefix of its keys, without the slash.
    ///
    /// # Panics
    /// When the program is not built; the message names the remedy.
    #[track_caller]
    pub fn campaign(endpoints: &str, election: &str, name: &str, ttl: Duration) -> Self {
        let ttl = ttl.as_secs().to_string();
        Self::start(endpoints, election, name, &["-ttl", &ttl])
    }

    /// Starts an observer, and waits until it is observing.
    ///
    /// # Panics
    /// Like [`campaign`](Self::campaign).
    #[track_caller]
    pub fn observe(endpoints: &str, election: &str) -> Self {
        let observer = Self::start(endpoints, election, "observer", &["-observe"]);
        observer.program.await_event("observing", wait::GENEROUS);
        observer
    }

    #[track_caller]
    fn start(endpoints: &str, election: &str, name: &str, arguments: &[&str]) -> Self {
        let program = tools::go_etcd_program("candidate").unwrap_or_else(|error| panic!("{error}"));
        let mut command = Command::new(program);
        command.args(["-endpoints", endpoints, "-prefix", election, "-name", name]).args(arguments);
        command.stdin(Stdio::piped());
        let mut program = JsonProgram::on_stdout(command);
        let Some(commands) = program.child().take_stdin() else { panic!("{name} has no standard input") };
        Self { name: name.into(), program, commands }
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

    /// Returns true if the candidate leads, by its own report.
    pub fn leads(&self) -> bool {
        self.lines().iter().rfind(|line| is_turn(line)).is_some_and(|line| line["event"] == "elected")
    }

    /// Waits until the candidate leads, and returns the create revision of its key.
    #[track_caller]
    pub fn elected(&self) -> u64 {
        let what = format!("the election of {}", self.name);
        wait::until(&what, wait::GENEROUS * 2, || self.leads());
        let line = self.lines().into_iter().rfind(|line| line["event"] == "elected").unwrap_or_default();
        line["revision"].as_u64().unwrap_or_default()
    }

    /// Waits for the n-th line with this event, counted from 1.
    #[track_caller]
    pub fn nth(&self, event: &str, n: usize) -> Value {
        let what = format!("{event} number {n} of {}: {:?}", self.name, self.lines());
        let find = || self.lines().into_iter().filter(|line| line["event"] == event).nth(n - 1);
        wait::until_some(&what, wait::GENEROUS * 2, find)
    }

    /// Waits until the observer has reported this leader.
    #[track_caller]
    pub fn observed(&self, leader: &str) -> Value {
        let is_it = |line: &Value| line["event"] == "observed" && line["leader"] == leader;
        self.program.await_line(&format!("{leader} to be observed"), wait::GENEROUS * 2, is_it)
    }

    /// Returns the client's present answer to `Leader`: the leader's name.
    ///
    /// # Errors
    /// The client's error message: `election: no leader` if the election is vacant.
    #[track_caller]
    pub fn leader(&mut self) -> Result<String, String> {
        let answers = || self.lines().into_iter().filter(|line| line["event"] == "leader").count();
        let before = answers();
        self.order("leader");
        let line = self.nth("leader", before + 1);
        match (&line["leader"], &line["error"]) {
            (Value::String(name), _) => Ok(name.clone()),
            (_, Value::String(error)) => Err(error.clone()),
            _ => panic!("no answer: {line}"),
        }
    }

    /// Sends a command: `resign`, `campaign`, `proclaim NAME`, `close`.
    #[track_caller]
    pub fn order(&mut self, command: &str) {
        if let Err(error) = writeln!(self.commands, "{command}") {
            panic!("{} takes no command {command:?}: {error}; it printed {:?}", self.name, self.lines());
        }
    }

    /// Makes the candidate revoke its lease and end.
    #[track_caller]
    pub fn close(&mut self) {
        self.order("close");
        let status = self.program.wait(wait::GENEROUS);
        assert!(status.success(), "{} ended with {status}: {:?}", self.name, self.lines());
    }

    /// Returns the terms that the candidate reported: begin and end in nanoseconds of the machine's clock, and the
    /// create revision of its key. A term without a reported end ends at `gone`: the time at which the candidate was
    /// killed or stopped, or now.
    pub fn terms(&self, gone: u64) -> Vec<(u64, u64, u64)> {
        let mut terms = Vec::new();
        let mut open = None;
        for line in self.lines().iter().filter(|line| is_turn(line)) {
            let at = line["t"].as_u64().unwrap_or_default();
            match &line["event"] {
                event if *event == "elected" => {
                    open = Some((at, line["revision"].as_u64().unwrap_or_default()))
                }
                _ => terms.extend(open.take().map(|(from, revision)| (from, at.min(gone), revision))),
            }
        }
        terms.extend(open.map(|(from, revision)| (from, gone, revision)));
        // A win that had not been printed when the candidate was killed may have come after `gone`.
        terms.retain(|(from, _, _)| *from < gone);
        terms
    }
}

impl Drop for GoClient {
    fn drop(&mut self) {
        if std::thread::panicking() {
            let printed: String = self.lines().iter().map(|line| format!("{line}\n")).collect();
            eprintln!("--- {}\n{printed}---", self.name);
        }
    }
}

/// Returns true if a line begins or ends a term.
fn is_turn(line: &Value) -> bool {
    ["elected", "resigning", "closing", "session lost"].iter().any(|event| line["event"] == *event)
}

/// A candidate that is `etcdctl elect`. Its session has etcd's default lease of 60 s.
#[derive(Debug)]
pub struct Etcdctl {
    program: JsonProgram,
}

impl Etcdctl {
    /// Starts a candidate.
    ///
    /// # Panics
    /// When there is no etcdctl; the message names the remedy.
    #[track_caller]
    pub fn elect(endpoints: &str, election: &str, name: &str) -> Self {
        Self::start(endpoints, &["elect", election, name])
    }

    /// Starts an observer of the election, which prints the key and the name of each leader.
    ///
    /// # Panics
    /// Like [`elect`](Self::elect).
    #[track_caller]
    pub fn listen(endpoints: &str, election: &str) -> Self {
        Self::start(endpoints, &["elect", "--listen", election])
    }

    #[track_caller]
    fn start(endpoints: &str, arguments: &[&str]) -> Self {
        let program = tools::etcdctl().unwrap_or_else(|error| panic!("{error}"));
        let mut command = Command::new(program);
        command.env("ETCDCTL_API", "3").args(["--endpoints", endpoints]).args(arguments);
        Self { program: JsonProgram::on_stdout(command) }
    }

    /// The process of etcdctl. On `SIGINT` it resigns and ends; after any other signal its key remains until the lease
    /// expires.
    pub fn child(&mut self) -> &mut ChildGuard {
        self.program.child()
    }

    /// The lines that etcdctl has printed: a leader's key, then the leader's name.
    pub fn lines(&self) -> Vec<String> {
        let text = |line: Value| line.as_str().map_or_else(|| line.to_string(), str::to_owned);
        self.program.lines().into_iter().map(text).collect()
    }

    /// Waits until etcdctl has printed this name. A candidate that prints its name leads.
    #[track_caller]
    pub fn prints(&self, name: &str) {
        let what = format!("etcdctl to print {name:?}");
        wait::until(&what, wait::GENEROUS * 2, || self.lines().iter().any(|line| line == name));
    }

    /// Makes it resign and end.
    #[track_caller]
    pub fn resign(&mut self) {
        self.child().interrupt();
        self.program.wait(wait::GENEROUS);
    }
}
