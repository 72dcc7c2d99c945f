//! The instructions of a session's steps, counted by callgrind. They are the same in every run, so a budget shows a
//! change that a clock would not.

use std::fs;

use anyhow::{Context, Result};

use super::Part;
use super::tally::Report;
use crate::shell::{self, say};
use crate::tools::valgrind;

/// The steps of `core/tests/budgets/steps.rs`, each with its budget: the instructions that were counted when the budget
/// was set, in the tests' build, which checks for overflows. Lower a budget when its step needs fewer instructions.
const BUDGETS: [(&str, u64); 3] = [("win", 39_900), ("renewal", 20_940), ("watched", 3_250)];

/// The percentage of its budget that a count may reach, because compilers and allocators differ.
const ALLOWED: u64 = 115;

/// The program that makes the steps. Below is the function whose instructions count.
const PROGRAM: &str = "steps";
const COUNTED: &str = "*counted_by_callgrind*";

/// Counts each step, and compares it with its budget.
pub(super) fn run(report: &mut Report) -> Result<()> {
    shell::progress("count instructions");
    let (valgrind, _) = valgrind::provide()?;
    let mut build = shell::cargo();
    build.args(["build", "--quiet", "--package", "incumbent-core", "--all-features", "--example", PROGRAM]);
    shell::run(&mut build)?;
    let folder = tempfile::tempdir().context("no temporary folder")?;
    for (step, budget) in BUDGETS {
        let file = folder.path().join(step);
        let mut callgrind = shell::command(&valgrind);
        callgrind.args(["--quiet", "--tool=callgrind"]).arg(format!("--toggle-collect={COUNTED}"));
        callgrind.arg(format!("--callgrind-out-file={}", file.display()));
        callgrind.arg(shell::target().join("debug/examples").join(PROGRAM)).arg(step);
        shell::run(&mut callgrind)?;
        let counts = fs::read_to_string(&file).with_context(|| format!("cannot read {}", file.display()))?;
        let count = total(&counts).with_context(|| format!("callgrind has counted nothing of `{step}`"))?;
        say!("{step:<10} {count:>9} instructions, of {budget} and {} % more", ALLOWED - 100);
        let name = format!("the budget of `{step}` is {budget} instructions, and {count} were counted");
        report.check(Part::Core, &name, count * 100 <= budget * ALLOWED);
    }
    Ok(())
}

/// Reads the number of instructions from a file that callgrind wrote; `None` if it counted none.
fn total(file: &str) -> Option<u64> {
    let total = file.lines().find_map(|line| line.strip_prefix("totals: "))?;
    total.trim().parse().ok().filter(|count| *count > 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_of_callgrind_has_a_total_and_none_is_no_count() {
        assert_eq!(total("events: Ir\nsummary: 12\n\nfn=(1) f\n1 12\n\ntotals: 12\n"), Some(12));
        assert_eq!(total("events: Ir\n\ntotals: 0\n"), None);
        assert_eq!(total("events: Ir\n"), None);
    }
}
