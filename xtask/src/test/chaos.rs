//! Elections of real processes on real servers, under faults. Each run counts as one test.

use std::time::Duration;

use anyhow::Result;
use serde::Deserialize;

use super::Part;
use super::tally::Report;
use crate::shell::{self, say};

/// The default duration of the faults on etcd, in minutes. In this time every fault occurs one or two times.
const ETCD_MINUTES: f64 = 3.0;

/// The part of the chaos suite's report on a run that this step needs.
#[derive(Debug, Deserialize)]
struct Run {
    scenario: String,
    seed: u64,
    passed: bool,
    #[serde(default)]
    minutes: f64,
}

/// The runs on nats-servers.
pub(super) fn nats(minutes: Option<f64>, seed: Option<u64>, report: &mut Report) -> Result<()> {
    run("nats", minutes, seed, report)
}

/// The run on etcd.
pub(super) fn etcd(minutes: Option<f64>, seed: Option<u64>, report: &mut Report) -> Result<()> {
    run("etcd", minutes.or(Some(ETCD_MINUTES)), seed, report)
}

fn run(store: &str, minutes: Option<f64>, seed: Option<u64>, report: &mut Report) -> Result<()> {
    shell::progress(format!("chaos on {store}: processes and servers under faults"));
    let mut command = shell::command(shell::built("incumbent-chaos"));
    command.args(["--json", "--store", store]);
    if let Some(minutes) = minutes {
        command.arg("--minutes").arg(minutes.to_string());
    }
    if let Some(seed) = seed {
        command.arg("--seed").arg(seed.to_string());
    }
    let mut runs = Vec::new();
    let succeeded = shell::lines(&mut command, |line| match read(line) {
        Some(read) => runs.extend(read),
        None => say!("{line}"),
    })?;
    for run in &runs {
        let name = format!("{} with seed {}", run.scenario, run.seed);
        let took = Duration::from_secs_f64(run.minutes.max(0.0) * 60.0);
        report.test(Part::Chaos, &name, (!run.passed).then_some("see its report above"), Some(took));
    }
    // The suite may end before it reports on a run.
    if !succeeded && runs.iter().all(|run| run.passed) {
        report.check(Part::Chaos, &format!("the chaos suite on {store} did not run to its end"), false);
    }
    Ok(())
}

fn read(line: &str) -> Option<Vec<Run>> {
    serde_json::from_str(line).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_are_read_from_a_line_and_other_lines_are_none() {
        let line = r#"[{"scenario":"cluster","seed":7,"passed":false,"minutes":3.0}]"#;
        let runs = read(line).unwrap();
        assert_eq!((runs[0].scenario.as_str(), runs[0].seed, runs[0].passed), ("cluster", 7, false));
        assert!(read("error: interrupted").is_none());
    }
}
