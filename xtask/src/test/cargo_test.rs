//! The tests that `cargo test` runs and nextest does not: examples in the documentation, and a release build.

use anyhow::Result;

use super::tally::{Report, Tally};
use super::{Part, nextest};
use crate::shell::{self, say};

/// The folders of the packages of [`COMPONENT`](super::COMPONENT).
const COMPONENT: [&str; 3] = ["bindings/componentise/", "bindings/wasm-guest/", "bindings/wasmtime-host/"];

/// The parts that have examples in their documentation.
pub(super) const DOCUMENTED: [Part; 3] = [Part::Core, Part::Runtime, Part::Component];

/// Runs the examples in the documentation of some parts. The packages are those of the parts' tests, because for others
/// cargo would choose other features and compile everything again.
pub(super) fn documentation(parts: &[Part], report: &mut Report) -> Result<()> {
    shell::progress("doc tests");
    let mut command = shell::cargo();
    command.args(["test", "--doc", "--all-features", "--no-fail-fast"]).args(nextest::packages(parts));
    let (mut ran, mut failed) = (false, false);
    let succeeded = shell::lines(&mut command, |line| {
        say!("{line}");
        let Some((part, name, passed)) = example(line) else { return };
        ran = true;
        failed |= !passed;
        if parts.contains(&part) {
            report.test(part, name, (!passed).then_some("see its output above"), None);
        }
    })?;
    if !ran || (!succeeded && !failed) {
        let part = DOCUMENTED.into_iter().find(|part| parts.contains(part)).unwrap_or(Part::Runtime);
        report.check(part, "the doc tests did not run", false);
    }
    Ok(())
}

/// Parses `test core/src/lib.rs - Readme (line 170) ... ok` into the part to which the file belongs, the test, and true
/// if the test passed.
fn example(line: &str) -> Option<(Part, &str, bool)> {
    let (name, outcome) = line.strip_prefix("test ")?.rsplit_once(" ... ")?;
    let passed = match outcome {
        "ok" => true,
        "FAILED" => false,
        _ => return None,
    };
    let part = match name {
        _ if name.starts_with("core/") => Part::Core,
        _ if COMPONENT.iter().any(|folder| name.starts_with(folder)) => Part::Component,
        _ => Part::Runtime,
    };
    Some((part, name, passed))
}

/// Parses `test result: ok. 3 passed; 1 failed; 0 ignored; …`
fn count(line: &str) -> Option<Tally> {
    let (_, counts) = line.strip_prefix("test result: ")?.split_once(". ")?;
    let number = |what: &str| {
        let words = counts.split("; ").filter_map(|part| part.split_once(' '));
        words.into_iter().find(|(_, word)| *word == what)?.0.parse().ok()
    };
    Some(Tally { passed: number("passed")?, failed: number("failed")? })
}

/// Runs the simulator as users run it, optimised and without assertions: its runs must be the same as in any other
/// build.
pub(super) fn release(report: &mut Report) -> Result<()> {
    shell::progress("the runs of sim in a release build");
    let mut command = shell::cargo();
    command.args(["test", "--release", "--package", "incumbent-sim", "--test", "digests", "--quiet"]);
    // Optimisation across crates is off: it would change no result, and take longer than the runs.
    command.env("CARGO_PROFILE_RELEASE_LTO", "off").env("CARGO_PROFILE_RELEASE_CODEGEN_UNITS", "16");
    let mut total = Tally::default();
    let succeeded = shell::lines(&mut command, |line| {
        say!("{line}");
        total += count(line).unwrap_or_default();
    })?;
    report.add(Part::Sim, total);
    if total.failed > 0 {
        report.name_failure(Part::Sim, "a release build behaves differently");
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

    #[test]
    fn an_example_belongs_to_the_part_of_its_file() {
        let of = |line| example(line).map(|(part, _, passed)| (part, passed));
        assert_eq!(of("test core/src/lib.rs - (line 21) ... ok"), Some((Part::Core, true)));
        assert_eq!(of("test runtime/src/lib.rs - Readme (line 5) ... FAILED"), Some((Part::Runtime, false)));
        let hosted = "test bindings/wasmtime-host/src/lib.rs - (line 3) - compile ... ok";
        assert_eq!(of(hosted), Some((Part::Component, true)));
        assert_eq!(of("test core/src/lib.rs - (line 21) ... ignored"), None);
        assert_eq!(of("test result: ok. 2 passed; 0 failed; 0 ignored; finished in 0.00s"), None);
    }
}
