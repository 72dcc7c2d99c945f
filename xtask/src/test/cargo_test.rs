//! The tests that `cargo test` runs and nextest does not: examples in the documentation, and a release build.

use anyhow::Result;

use super::tally::{Report, Tally};
use super::{COMPONENT, Part};
use crate::shell::{self, say};

/// Runs the examples in the documentation.
pub(super) fn documentation(part: Part, report: &mut Report) -> Result<()> {
    let mut packages = match part {
        Part::Core => vec!["--package", "incumbent-core"],
        Part::Component => vec!["--package", "incumbent-wasmtime"],
        _ => vec!["--workspace", "--exclude", "incumbent-core"],
    };
    if part == Part::Runtime {
        COMPONENT.iter().for_each(|package| packages.extend(["--exclude", package]));
    }
    shell::progress(format!("doc tests of {}", part.name()));
    let mut command = shell::cargo();
    command.args(["test", "--doc", "--all-features", "--no-fail-fast", "--quiet"]).args(packages);
    let mut total = Tally::default();
    let succeeded = shell::lines(&mut command, |line| {
        say!("{line}");
        total += count(line).unwrap_or_default();
    })?;
    report.add(part, total);
    if total.failed > 0 {
        report.name_failure(part, "doc tests");
    } else if !succeeded {
        report.check(part, "the doc tests did not run", false);
    }
    Ok(())
}

/// `test result: ok. 3 passed; 1 failed; 0 ignored; …`
fn count(line: &str) -> Option<Tally> {
    let (_, counts) = line.strip_prefix("test result: ")?.split_once(". ")?;
    let number = |what: &str| {
        let words = counts.split("; ").filter_map(|part| part.split_once(' '));
        words.into_iter().find(|(_, word)| *word == what)?.0.parse().ok()
    };
    Some(Tally { passed: number("passed")?, failed: number("failed")? })
}

/// Runs the simulator as users run it, optimised and without assertions: its runs are the same as in any other build.
pub(super) fn release(report: &mut Report) -> Result<()> {
    shell::progress("the runs of sim in a release build");
    let mut command = shell::cargo();
    command.args(["test", "--release", "--package", "incumbent-sim", "--test", "digests", "--quiet"]);
    let mut total = Tally::default();
    let succeeded = shell::lines(&mut command, |line| {
        say!("{line}");
        total += count(line).unwrap_or_default();
    })?;
    report.add(Part::Sim, total);
    if total.failed > 0 {
        report.name_failure(Part::Sim, "a release build runs otherwise");
    } else if !succeeded || total == Tally::default() {
        report.check(Part::Sim, "the tests of a release build did not run", false);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_result_line_is_counted_and_others_are_not() {
        let line = "test result: FAILED. 3 passed; 1 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.10s";
        assert_eq!(count(line), Some(Tally { passed: 3, failed: 1 }));
        assert_eq!(count("test core/src/lib.rs - (line 3) ... ok"), None);
    }
}
