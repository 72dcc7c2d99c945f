//! A candidate that is a process, and its records.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use incumbent_rig::check::Leadership;
use incumbent_testkit::json::JsonProgram;
use serde_json::Value;

use super::roles;
use crate::shared::command_line;

const KEY: &str = "jobs.processes";
/// The number of records after which a leader is replaced.
const ENOUGH: usize = 20;

/// The Python of an environment with the package; empty: the test runs without Python.
const PYTHON: &str = "INCUMBENT_PYTHON";
/// The folder of the built npm package; empty: the test runs without Node.
const NODE: &str = "INCUMBENT_NODE";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// A campaigner in Wasmtime.
    Component,
    /// `incumbent run`, whose command writes as long as it runs.
    CommandLine,
    Python,
    Node,
}

/// How a candidate leaves.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Exit {
    Killed,
    Terminated,
}

pub(crate) struct Contender {
    name: String,
    program: JsonProgram,
}

impl Kind {
    /// Returns all kinds except those that the caller excludes.
    pub(crate) fn at_hand() -> Vec<Self> {
        let mut kinds = vec![Self::Component, Self::CommandLine];
        kinds.extend(named(PYTHON).map(|_| Self::Python));
        kinds.extend(named(NODE).map(|_| Self::Node));
        kinds
    }

    fn command(self, url: &str, name: &str) -> Command {
        let programs = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/nats_component/programs");
        match self {
            Self::Component => roles::command("component_that_campaigns", &[url, KEY, name]),
            Self::CommandLine => {
                let mut command = Command::new(command_line());
                command.args(["run", "--store", url, "--key", KEY, "--name", name, "--preset", "fast", "--"]);
                let child = roles::command("work_that_continues_while_it_lives", &[]);
                command.arg(child.get_program()).args(child.get_args());
                command.envs(child.get_envs().filter_map(|(name, value)| Some((name, value?))));
                command
            }
            Self::Python => {
                let mut command = Command::new(named(PYTHON).unwrap());
                command.arg(programs.join("contender.py")).args([url, KEY, name]);
                command
            }
            Self::Node => {
                let mut command = Command::new("node");
                command.arg(programs.join("contender.mjs")).arg(named(NODE).unwrap()).args([url, KEY, name]);
                command
            }
        }
    }
}

/// Returns the value of a variable as a path; `None` if it is empty.
fn named(variable: &str) -> Option<PathBuf> {
    let value = std::env::var_os(variable);
    let value = value.unwrap_or_else(|| panic!("{variable} is not set; run `cargo xtask test component`"));
    Some(value).filter(|value| !value.is_empty()).map(PathBuf::from)
}

impl Contender {
    pub(crate) fn start(kind: Kind, exit: Exit, url: &str) -> Self {
        let name = format!("{kind:?}-{exit:?}");
        let mut command = kind.command(url, &name);
        command.env_remove("INCUMBENT_LOG").env_remove("NATS_CONTEXT").stdin(Stdio::null());
        let program = JsonProgram::on_stdout(command);
        Self { name, program }
    }

    /// Waits until it campaigns; the command line's command writes nothing before it leads.
    pub(crate) fn await_ready(&self, limit: Duration) {
        if !self.name.starts_with("CommandLine") {
            self.program.await_event("ready", limit);
        }
    }

    /// Returns the token of its newest term, once it has led in it for a while.
    pub(crate) fn leads(&self) -> Option<String> {
        let views = self.views();
        let newest = views.last()?.token.clone();
        (views.iter().filter(|view| view.token == newest).count() >= ENOUGH).then_some(newest)
    }

    pub(crate) fn leave(&mut self, exit: Exit, limit: Duration) {
        match exit {
            Exit::Killed => self.program.child().kill(),
            Exit::Terminated => self.program.child().terminate(),
        }
        let status = self.program.wait(limit);
        let in_order = matches!(exit, Exit::Killed) || status.success();
        assert!(in_order, "{} ended with {status}", self.name);
    }

    /// Returns the tokens of its terms, in order.
    pub(crate) fn tokens(&self) -> Vec<String> {
        let mut tokens: Vec<_> = self.views().into_iter().map(|view| view.token).collect();
        tokens.dedup();
        tokens
    }

    /// Returns the times at which it certainly led: from its first answer in a term to its last.
    pub(crate) fn leaderships(&self) -> Vec<Leadership<String>> {
        let views = self.views();
        let of = |token: String| {
            let mut terms = views.iter().filter(|view| view.token == token);
            let first = terms.next()?;
            let until = terms.next_back().unwrap_or(first).before;
            Some(Leadership { who: self.name.clone(), from: first.after, until, token })
        };
        self.tokens().into_iter().filter_map(of).collect()
    }

    fn views(&self) -> Vec<View> {
        self.program.lines().iter().filter_map(View::of).collect()
    }
}

/// An answer that it leads, between two readings of the clock in nanoseconds.
struct View {
    token: String,
    before: u64,
    after: u64,
}

impl View {
    fn of(line: &Value) -> Option<Self> {
        if line["event"] != "leads" {
            return None;
        }
        let at = |name: &str| line[name].as_u64().unwrap_or_else(|| panic!("no time: {line}"));
        let token = line["token"].as_str().unwrap_or_else(|| panic!("no token: {line}"));
        Some(Self { token: token.to_owned(), before: at("before"), after: at("after") })
    }
}
