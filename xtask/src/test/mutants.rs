//! Breaks the rules of the core one at a time. Each broken rule that no check notices shows a gap in the checks.
//!
//! The hunt builds a breakable copy of the core in its own target folder, so it disturbs no other build.

use std::process::Command;

use anyhow::{Context, Result};
use serde::Deserialize;

use super::tally::Report;
use super::{Part, nextest};
use crate::shell::{self, say};

/// The page that lists the mutants.
const PAGE: &str = "docs/internals/mutants.md";

/// The program that hunts.
const HUNT: &str = "incumbent-mutants";

/// The output of `incumbent-mutants --json` for each mutant.
#[derive(Debug, Deserialize)]
struct Finding {
    name: String,
    caught: bool,
    by: String,
    at: String,
    runs: u64,
    model: String,
}

impl Finding {
    /// Returns true if the finding is as expected: a mutant is caught, and the control is not.
    fn is_well(&self) -> bool {
        self.caught != (self.name == "none")
    }
}

pub(super) fn run(report: &mut Report) -> Result<()> {
    nextest::programs(&[HUNT])?;
    // If the page is out of date, the part fails and names the rows. The hunt runs anyway, and shows everything else
    // that is wrong.
    let listed = shell::output(hunt().args(["--check-page", PAGE]));
    let differs = listed.err().map(|error| error.to_string());
    report.test(Part::Mutants, &format!("{PAGE} lists the mutants"), differs.as_deref(), None);

    shell::progress("break one rule after the other");
    let mut unread = None;
    let succeeded =
        shell::lines(hunt().args(["--json", "--until-noticed"]), |line| {
            match serde_json::from_str::<Finding>(line) {
                Ok(finding) => {
                    let Finding { name, by, at, runs, model, .. } = &finding;
                    let well = finding.is_well();
                    let mark = if well { "" } else { "NOT AS IT SHOULD BE: " };
                    let simulated = if at.is_empty() { by.clone() } else { format!("{by}, {at}") };
                    say!("{name:<32} {runs:>6} runs  {mark}{simulated:<40}  {model}");
                    report.check(Part::Mutants, &format!("{name}: {by}; {model}"), well);
                }
                Err(error) => unread = Some((line.to_owned(), error)),
            }
        })?;
    if let Some((line, error)) = unread {
        return Err(error).with_context(|| format!("cannot read the output of incumbent-mutants: {line}"));
    }
    if !succeeded && report.is_well(Part::Mutants) {
        report.check(Part::Mutants, "the hunt stopped early", false);
    }
    Ok(())
}

/// The command of the hunt, which also builds the broken copy.
fn hunt() -> Command {
    shell::command(shell::built(HUNT))
}
