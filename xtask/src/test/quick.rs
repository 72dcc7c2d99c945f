//! `cargo xtask test quick`: what a change broke, within minutes.

use std::time::Instant;

use anyhow::Result;

use super::schedule::Lane::{Compute, Wait};
use super::schedule::{self, Step};
use super::tally::Report;
use super::{Part, lint, nextest, tools, words};
use crate::shell;
use crate::tools::NEXTEST;

/// What `cargo xtask test --help` says of it.
pub(super) const HELP: &str = "\
`cargo xtask test quick` takes a few minutes where cargo has built before, and runs:
  words, format           they take seconds
  clippy                  libraries and programs, without their tests: most of what it finds, at half the cost
  core, sim, model        all tests: they compute, in simulated time, and each rule of the core is in them;
                          the model checker's larger worlds and the mutants take minutes
  runtime                 on the store in memory, on the one with faults, and on SQLite but for what waits for a lease;
                          what the bindings share; the fault table
  cli                     unit tests, settings, the simulator's commands: what starts no election
It leaves to `cargo xtask test`: servers, components, other languages and libraries, chaos, documentation.";

/// The tests, by the name of their target: units of all packages, and these.
const TARGETS: [&str; 20] = [
    "campaign",
    "properties",
    "reconcile", // core
    "digests",
    "handlers",
    "scenarios",
    "seeds", // sim; the conformance scenarios have that name too
    "sabotage",
    "worlds", // model
    "api",
    "store_memory",
    "store_faulty",
    "store_sqlite", // runtime
    "elections",
    "fork",
    "settings",
    "corpora", // what the bindings share, and the fuzzers' findings
    "cli",
    "fault_table",
    "wall_clock", // the chores
];

/// Which of those tests run: all but what waits for leases to run out, and what starts processes.
const CHOSEN: &str = "all()";

pub(super) fn run(begin: Instant) -> Result<bool> {
    shell::progress("tools");
    tools::all(Part::Quick.tools(), &[])?;
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
            command.args(["--filterset", CHOSEN]);
            nextest::perform(&mut command, Part::Core, Part::of_binary, report)
        })
        .shared(),
        Step::new(Part::Lint, "clippy", Compute, |report| {
            let mut command = shell::cargo();
            // One small test, so that cargo chooses the features that it chooses for tests, and the full lint's builds serve.
            command.arg("clippy").args(nextest::workspace(&[])).args(["--all-features", "--lib", "--bins"]);
            command.args(["--test", "wall_clock", "--", "-Dwarnings"]);
            lint::check("clippy", &mut command, report)
        })
        .after("tests"),
    ]
}

/// What cargo builds: the targets of all packages but the components', with the features of the tests of everything.
fn selection() -> Vec<&'static str> {
    let mut words = nextest::workspace(&[]);
    words.extend(["--all-features", "--lib", "--bins"]);
    words.extend(TARGETS.iter().flat_map(|target| ["--test", *target]));
    words
}
