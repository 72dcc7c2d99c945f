//! The result of a benchmark in `target/bench`: its figures, and where and when they were measured.

use std::fs;
use std::path::PathBuf;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use incumbent_testkit::figure::Figure;
use serde::{Deserialize, Serialize};

use crate::shell;

/// The kernel's unit of processor time in `/proc/stat`, USER_HZ of proc(5): a hundredth of a second on all common
/// platforms.
const TICK_MILLIS: u64 = 10;

/// A benchmark's figures, and where and when they were measured.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Stored {
    /// The name of the benchmark.
    pub(super) bench: String,
    /// The day, in UTC.
    pub(super) date: String,
    /// The commit, followed by `+` if the working tree had changes.
    pub(super) commit: String,
    pub(super) machine: Machine,
    /// The versions of the servers and tools.
    pub(super) versions: Vec<String>,
    /// The time that the benchmark and its build took, in seconds.
    pub(super) seconds: f64,
    /// The share of the machine's processor time that other programs used during the benchmark; `None` if the system
    /// does not report it.
    pub(super) others: Option<f64>,
    pub(super) figures: Vec<Figure>,
}

/// The machine of a benchmark.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Machine {
    pub(super) processor: String,
    pub(super) cores: usize,
    pub(super) kernel: String,
}

impl Machine {
    pub(super) fn here() -> Self {
        let cpuinfo = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
        let model = cpuinfo.lines().find_map(|line| line.strip_prefix("model name")?.split_once(": "));
        let uname = shell::output(shell::command("uname").arg("-sr")).unwrap_or_default();
        Self {
            processor: model.map_or(std::env::consts::ARCH, |(_, model)| model).trim().to_owned(),
            cores: thread::available_parallelism().map_or(1, usize::from),
            kernel: uname.trim().to_owned(),
        }
    }
}

/// The present commit.
pub(super) fn commit() -> Result<String> {
    let git = |words: &[&str]| shell::output(shell::command("git").args(words));
    let hash = git(&["rev-parse", "--short=12", "HEAD"])?;
    // Changes of the page do not count, because every measurement changes it.
    let changed = git(&["status", "--porcelain", "--", ":!docs/performance", ":!docs/performance.md"])?;
    Ok(format!("{}{}", hash.trim(), if changed.is_empty() { "" } else { "+" }))
}

/// Today in UTC.
pub(super) fn today() -> Result<String> {
    Ok(shell::output(shell::command("date").args(["-u", "+%F"]))?.trim().to_owned())
}

/// A measurement in progress: its start, and the processor time that the machine and this task's programs had used
/// before.
pub(super) struct Meter {
    began: Instant,
    busy: Option<Duration>,
    ours: Duration,
}

impl Meter {
    pub(super) fn start() -> Self {
        Self { began: Instant::now(), busy: busy(), ours: shell::cpu_time() }
    }

    /// The seconds since the start, and the share of the machine's processor time that other programs have used.
    pub(super) fn read(&self) -> (f64, Option<f64>) {
        let elapsed = self.began.elapsed();
        let cores = thread::available_parallelism().map_or(1, usize::from);
        let others = self.busy.zip(busy()).map(|(before, after)| {
            let ours = shell::cpu_time().saturating_sub(self.ours);
            let others = after.saturating_sub(before).saturating_sub(ours);
            others.as_secs_f64() / (elapsed.as_secs_f64() * cores as f64)
        });
        (elapsed.as_secs_f64(), others)
    }
}

/// The processor time that the machine has used since its start.
fn busy() -> Option<Duration> {
    let stat = fs::read_to_string("/proc/stat").ok()?;
    busy_in(&stat)
}

/// Reads the machine's used processor time from the text of `/proc/stat`: the sum of the first line without `idle` and
/// `iowait`, and without `guest`, which `user` includes.
fn busy_in(stat: &str) -> Option<Duration> {
    let fields: Vec<u64> =
        stat.lines().next()?.strip_prefix("cpu ")?.split_whitespace().flat_map(str::parse).collect();
    let [user, nice, system, _idle, _iowait, irq, softirq, steal, ..] = fields[..] else { return None };
    Some(Duration::from_millis(TICK_MILLIS * (user + nice + system + irq + softirq + steal)))
}

/// The file of a benchmark.
fn file(bench: &str) -> PathBuf {
    shell::target().join("bench").join(format!("{bench}.json"))
}

impl Stored {
    pub(super) fn write(&self) -> Result<()> {
        let file = file(&self.bench);
        let folder = file.parent().unwrap_or(&file);
        fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))?;
        let json = serde_json::to_string_pretty(self)? + "\n";
        fs::write(&file, json).with_context(|| format!("cannot write {}", file.display()))?;
        shell::progress(format!("figures and samples are in {}", file.display()));
        Ok(())
    }

    /// Reads the result of a benchmark; `None` if the benchmark has not been measured.
    pub(super) fn read(bench: &str) -> Result<Option<Self>> {
        let file = file(bench);
        if !file.exists() {
            return Ok(None);
        }
        let json = fs::read_to_string(&file).with_context(|| format!("cannot read {}", file.display()))?;
        serde_json::from_str(&json)
            .with_context(|| format!("{} is not a result of a benchmark", file.display()))
            .map(Some)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_processor_time_of_a_machine_is_all_but_idle_and_waiting() {
        let stat = "cpu  100 20 30 4000 500 6 7 8 90 0\ncpu0 1 2 3 4 5 6 7 8 9 0\n";
        assert_eq!(busy_in(stat), Some(Duration::from_millis(1710)));
        assert_eq!(busy_in("intr 1 2 3"), None);
    }
}
