//! The model checker. Each small world counts as one test.

use std::time::Duration;

use anyhow::{Context, Result};
use serde::Deserialize;

use super::Part;
use super::tally::Report;
use crate::shell::{self, say};

/// The output of `incumbent-model --json` for a world.
#[derive(Debug, Deserialize)]
struct Found {
    world: String,
    bounds: String,
    states: u64,
    unique: u64,
    depth: u64,
    secs: f64,
    held: Vec<String>,
    violation: Option<Violation>,
}

#[derive(Debug, Deserialize)]
struct Violation {
    property: String,
    path: String,
}

pub(super) fn run(report: &mut Report) -> Result<()> {
    shell::progress("explore the small worlds");
    let mut command = shell::command(shell::built("incumbent-model"));
    command.arg("--json");
    say!(
        "{:<13} {:>10} {:>10} {:>6} {:>8}  bounds, and what held",
        "world",
        "states",
        "unique",
        "depth",
        "time"
    );
    let (mut unique, mut failed, mut unread) = (0, false, None);
    let succeeded = shell::lines(&mut command, |line| match serde_json::from_str::<Found>(line) {
        Ok(found) => {
            unique += found.unique;
            failed |= found.violation.is_some();
            let took = Duration::from_secs_f64(found.secs.max(0.0));
            report.test(
                Part::Model,
                &found.says(),
                found.violation.as_ref().map(|_| "see its trace above"),
                Some(took),
            );
        }
        Err(error) => unread = Some(error),
    })?;
    say!("{unique} different states in total");
    if let Some(error) = unread {
        return Err(error).context("cannot read the output of incumbent-model");
    }
    if !succeeded && !failed {
        report.check(Part::Model, "incumbent-model did not run to its end", false);
    }
    Ok(())
}

impl Found {
    /// Prints a row of the table. Returns the world's name for the list of failures.
    fn says(&self) -> String {
        let Self { world, bounds, states, unique, depth, secs, held, .. } = self;
        say!("{world:<13} {states:>10} {unique:>10} {depth:>6} {secs:>6.1} s  {bounds}");
        match &self.violation {
            None => {
                say!("{:<53}  {}", "", held.join(" "));
                world.clone()
            }
            Some(Violation { property, path }) => {
                say!("{property} does not hold:\n{path}");
                format!("{world}: {property} does not hold")
            }
        }
    }
}
