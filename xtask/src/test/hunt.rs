//! A short `cargo xtask hunt` with fresh seeds, in the processor time that other steps do not need.
//!
//! A failing seed fails no test, because it may have nothing to do with the change at hand. The end of the run names
//! it, with the command that repeats it. A seed that is filed in `lab/sim/red/` does fail a test, `lab/sim/tests/red.rs`.

use anyhow::Result;

use super::Part;
use super::tally::Report;
use crate::hunt;
use crate::shell::{self, say};

/// The number of runs: as many as one processor makes in three minutes.
const RUNS: u64 = 8_000;

/// The time after which the hunt ends in any case, even if other steps leave it little processor time.
const TIME: &str = "15m";

/// Builds the program.
pub(super) fn build(_: &mut Report) -> Result<()> {
    shell::progress("build the hunt");
    hunt::build().map(drop)
}

pub(super) fn run(report: &mut Report) -> Result<()> {
    shell::progress("hunt on fresh seeds");
    let red = shell::target().join("red");
    let mut command = shell::command(hunt::program());
    command.args(["--seeds", &RUNS.to_string(), "--for", TIME, "--jobs", "1", "--red"]).arg(&red);
    let mut lines = Lines::default();
    shell::lines(&mut command, |line| {
        say!("{line}");
        lines.read(line);
    })?;
    report.check(Part::Sim, "the hunt did not end with its summary", lines.ended);
    for found in lines.found {
        report.note(Part::Sim, format!("a fresh seed fails, which fails no test: {found}"));
    }
    Ok(())
}

/// The output of the program.
#[derive(Debug, Default)]
struct Lines {
    /// The first line of each run that fails, and its command.
    found: Vec<String>,
    last_fails: bool,
    ended: bool,
}

impl Lines {
    fn read(&mut self, line: &str) {
        // The line about a run that fails is followed by the invariant's statement and by the command.
        if line.starts_with("seed ") && line.contains(" fails: ") {
            self.found.push(line.to_owned());
            self.last_fails = true;
        } else if let Some(command) = line.trim().strip_prefix("cargo sim ") {
            if let Some(found) = self.found.last_mut().filter(|_| self.last_fails) {
                *found += &format!("; cargo sim {command}");
            }
            self.last_fails = false;
        }
        self.ended |= line.contains(" runs from seed ");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_that_fails_is_read_with_its_command_and_the_shorter_one_is_not_read_again() {
        let printed = "\
seed 54 on kafka fails: I15 at 858.861067 s: no candidate has led
  I15: With the store healthy and a candidate running, a candidate leads within the worst fail-over.
  cargo sim --seed 54 --seeds 1 --candidates 2 --store kafka
nats: 100 runs, 45 simulated hours, 10969 faults, 1372 terms
300 runs from seed 40 in 32 s (9 a second): 1 run failed

seed 54 on kafka, shrunk: I15 at 858.860809 s: no candidate has led
  I15: With the store healthy and a candidate running, a candidate leads within the worst fail-over.
  cargo sim --seed 54 --seeds 1 --candidates 2 --store kafka --keep 3
filed: target/red/kafka-i15-54.toml
";
        let mut lines = Lines::default();
        printed.lines().for_each(|line| lines.read(line));
        let expected = "seed 54 on kafka fails: I15 at 858.861067 s: no candidate has led; \
            cargo sim --seed 54 --seeds 1 --candidates 2 --store kafka";
        assert_eq!((lines.found, lines.ended), (vec![expected.to_owned()], true));
    }
}
