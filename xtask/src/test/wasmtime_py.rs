//! The engine component in Python: the example, on the package `wasmtime`.

use anyhow::{Context, Result};

use super::Part;
use super::tally::Report;
use crate::python;
use crate::shell::{self, say};
use crate::tools::Without;

/// Its folder in the source.
const EXAMPLE: &str = "examples/wasm/python";

pub(super) fn run(without: &[Without], report: &mut Report) {
    if without.contains(&Without::Python) {
        say!("the engine component in Python is left out, as Python is");
        return;
    }
    shell::progress("the engine component in Python");
    match example() {
        Ok(succeeds) => report.check(Part::Component, "the engine component in Python", succeeds),
        Err(error) => {
            report.check(Part::Component, &format!("the engine component in Python: {error:#}"), false)
        }
    }
}

/// Runs the example in a virtual environment of its own. Returns whether it succeeds.
fn example() -> Result<bool> {
    let interpreters = python::interpreters()?;
    let environment = interpreters.first().context("no interpreter")?.fresh("component")?;
    let example = shell::root().join(EXAMPLE);
    environment.install(&["--requirement", python::text(&example.join("requirements.txt"))?])?;
    let engine = shell::target().join("components/incumbent-engine.wasm");
    shell::succeeds(environment.python().arg(example.join("election.py")).arg(engine))
}
