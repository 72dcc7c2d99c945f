//! The Go programs of `lab/interop`, and the tests in its folder `go`, which run the official NATS client on real
//! servers.

use std::collections::BTreeSet;

use anyhow::{Context, Result};
use incumbent_testkit::tools::{NatsVersion, nats_server};
use serde::Deserialize;

use super::Part;
use super::tally::{Report, Tally};
use crate::shell::{self, say};

/// The variable with the servers for the Go tests: paths, separated as in `PATH`.
const SERVERS: &str = "INCUMBENT_NATS_SERVERS";

/// The modules of `lab/interop`; only the first has tests of its own.
const MODULES: [&str; 4] = ["go", "etcd", "kafka", "peers"];

/// One line of `go test -json` (`go doc cmd/test2json`).
#[derive(Debug, Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Event {
    action: String,
    #[serde(default)]
    package: String,
    test: Option<String>,
    #[serde(default)]
    output: String,
}

pub(super) fn run(report: &mut Report) -> Result<()> {
    let programs = shell::root().join("lab/interop");
    let go = shell::on_path("go").context("Go is not on the path")?;
    for module in MODULES {
        shell::progress(format!("go vet ./... in {module}"));
        let mut vet = shell::command(&go);
        let vetted = shell::succeeds(vet.args(["vet", "./..."]).current_dir(programs.join(module)))?;
        report.check(Part::Interop, &format!("go vet in {module}"), vetted);
    }

    shell::progress("go test ./...");
    let servers: Vec<_> =
        NatsVersion::ALL.into_iter().filter_map(|version| nats_server(version).ok()).collect();
    let mut outcome = Outcome::default();
    // More tests run at the same time than there are cores, because they mostly wait for leases to expire.
    let succeeded = shell::lines(
        shell::command(&go)
            .args(["test", "-json", "-count=1", "-timeout=10m", "-parallel=8", "./..."])
            .env(SERVERS, std::env::join_paths(servers)?)
            .current_dir(programs.join("go")),
        |line| outcome.take(line),
    )?;
    report.add(Part::Interop, outcome.tally());
    for failure in &outcome.failed {
        report.name_failure(Part::Interop, format!("go {failure}"));
    }
    if !succeeded && outcome.failed.is_empty() {
        report.check(Part::Interop, "go test failed before it ran the tests", false);
    }
    Ok(())
}

/// The results of Go's tests. Only tests without subtests are counted, because a test passes or fails with its
/// subtests.
#[derive(Debug, Default)]
struct Outcome {
    passed: BTreeSet<String>,
    failed: BTreeSet<String>,
}

impl Outcome {
    fn take(&mut self, line: &str) {
        let Ok(event) = serde_json::from_str::<Event>(line) else {
            say!("{line}");
            return;
        };
        let name = event.test.map(|test| format!("{} {test}", event.package));
        match (event.action.as_str(), name) {
            // Prints what tests print, without the lines in which Go announces a test.
            ("output", Some(_)) if !event.output.starts_with("===") => shell::print(&event.output),
            ("output" | "build-output", None) => shell::print(&event.output),
            ("pass", Some(name)) => drop(self.passed.insert(name)),
            ("fail", Some(name)) => drop(self.failed.insert(name)),
            _ => {}
        }
    }

    fn tally(&self) -> Tally {
        let leaves = |names: &BTreeSet<String>| {
            let is_leaf = |name: &&String| {
                let below = format!("{name}/");
                !self.passed.iter().chain(&self.failed).any(|other| other.starts_with(&below))
            };
            names.iter().filter(is_leaf).count() as u64
        };
        // A parent that fails although its subtests pass is still a failure.
        let failed = leaves(&self.failed).max(u64::from(!self.failed.is_empty()));
        Tally { passed: leaves(&self.passed), failed }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outcome(lines: &[&str]) -> Tally {
        let mut outcome = Outcome::default();
        for (action, test) in lines.iter().filter_map(|line| line.split_once(' ')) {
            outcome.take(&format!(r#"{{"Action":"{action}","Package":"p","Test":"{test}"}}"#));
        }
        outcome.tally()
    }

    #[test]
    fn leaves_are_counted() {
        let lines = ["pass TestA/2.10", "pass TestA/2.15", "pass TestA", "pass TestB"];
        assert_eq!(outcome(&lines), Tally { passed: 3, failed: 0 });
    }

    #[test]
    fn a_failed_subtest_counts_once() {
        let lines = ["pass TestA/2.10", "fail TestA/2.15", "fail TestA"];
        assert_eq!(outcome(&lines), Tally { passed: 1, failed: 1 });
    }

    #[test]
    fn a_parent_that_fails_alone_counts() {
        assert_eq!(outcome(&["pass TestA/2.10", "fail TestA"]), Tally { passed: 1, failed: 1 });
    }
}
