//! `cargo xtask test quick`: finds within minutes what a change broke.

use std::time::Instant;

use anyhow::Result;

use super::schedule::Lane::{Compute, Wait};
use super::schedule::{self, Step};
use super::tally::Report;
use super::{Part, lint, nextest, tools, words};
use crate::shell;
use crate::tools::NEXTEST;

/// The text about it in `cargo xtask test --help`.
pub(super) const HELP: &str = "\
`cargo xtask test quick` takes a few minutes if cargo has built before, and runs:
- the words and the format, in seconds;
- all tests of the core, the simulator and the model, since every rule of an election is in them. The model's large \
worlds and the mutants, which keep all processors busy for minutes, are left out;
- the runtime on stores in memory, in a file and with faults, with the scenarios that every language plays, and what \
the bindings share. Tests of a crowd of candidates in one file, which wait for many leases, are left out;
- the command line's units, settings, errors, help and reports, and short elections. Its demo, handlers, child \
processes and terminals, which wait or draw, are left out;
- clippy on libraries and programs. On tests, which costs as much again, it is left out.
Servers, components, Python, Node, other people's libraries, chaos and documentation are for `cargo xtask test`.";

/// The integration tests, by target name, that run with the unit tests of all packages.
const TARGETS: [&str; 21] = [
    // The core, the simulator and the model.
    "campaign",
    "properties",
    "reconcile",
    "digests",
    "red",
    "seeds",
    "sabotage",
    "worlds",
    // The runtime, and the scenarios; the simulator's have the same name.
    "api",
    "scenarios",
    "store_faulty",
    "store_memory",
    "store_sqlite",
    "corpora",
    // The shared tests of the bindings.
    "elections",
    "fork",
    "settings",
    // The command line, and the tasks.
    "cli",
    "fault_table",
    "links",
    "wall_clock",
];

/// The filter of nextest for those tests: all except the slowest, which were found by measurement.
const CHOSEN: &str = "all() - (binary_id(incumbent-sqlite::store_sqlite) & test(/^(crowd|one_file)::/)) \
    - (binary_id(incumbent-cli::cli) - test(/^(bad_input|console|help|reports|run|settings|snapshot)::/))";

pub(super) fn run(begin: Instant) -> Result<bool> {
    shell::progress("tools");
    tools::all(&Part::Quick.tools(&[]), &[])?;
    let mut report = Report::new(&[Part::Lint, Part::Core, Part::Sim, Part::Model, Part::Runtime, Part::Cli]);
    schedule::run(steps(), 1, &mut report);
    Ok(report.close(begin.elapsed()))
}

fn steps<'env>() -> Vec<Step<'env>> {
    vec![
        Step::new(Part::Lint, "words", Compute, words::run),
        Step::new(Part::Lint, "format", Compute, |report| lint::check("format", &mut lint::format(), report)),
        Step::new(Part::Core, "tests", Wait, |report| {
            let mut command = NEXTEST.command()?;
            command.arg("run").args(nextest::PROFILE).args(["--no-tests", "fail"]).args(selection());
            command.arg("--filterset").arg(format!("({CHOSEN}) - ({})", nextest::elsewhere()));
            nextest::perform(&mut command, Part::Core, report)
        }),
        Step::new(Part::Lint, "clippy", Compute, |report| {
            let mut command = shell::cargo();
            // A small test is checked, too, so that cargo chooses the same features as for tests, and can reuse the
            // full lint's builds.
            command.args(["clippy", "--workspace", "--all-features", "--lib", "--bins"]);
            command.args(["--test", "wall_clock", "--", "-Dwarnings"]);
            lint::check("clippy", &mut command, report)
        })
        .after("tests"),
    ]
}

/// Cargo's options that select targets from all packages, so that the full run's builds can be reused.
fn selection() -> Vec<&'static str> {
    let mut words = vec!["--workspace", "--all-features", "--lib", "--bins"];
    words.extend(TARGETS.iter().flat_map(|target| ["--test", *target]));
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_target_is_a_test_of_a_package() {
        let text = |path: &str| std::fs::read_to_string(shell::root().join(path)).unwrap();
        let workspace = toml::from_str::<toml::Table>(&text("Cargo.toml")).unwrap();
        let members = workspace["workspace"]["members"].as_array().unwrap();
        for target in TARGETS {
            let is_there = members.iter().any(|member| {
                let tests = shell::root().join(member.as_str().unwrap()).join("tests");
                tests.join(format!("{target}.rs")).exists() || tests.join(target).join("main.rs").exists()
            });
            assert!(is_there, "no package has a test `{target}`");
        }
    }
}
