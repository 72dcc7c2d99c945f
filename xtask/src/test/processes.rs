//! Components, the command line, Python and Node in one election: the wheel and the npm package are built first, so that
//! nobody is missing.

use std::ffi::OsString;

use anyhow::{Context, Result};

use super::tally::Report;
use super::{Part, nextest, node};
use crate::python::{self, Profile};
use crate::shell;
use crate::tools::Without;

const BINARY: &str = "incumbent-wasmtime::nats_component";
const TEST: &str = "processes::components_the_command_line_python_and_node_never_lead_together";

pub(super) fn run(without: &[Without], parts: &[Part], report: &mut Report) -> Result<()> {
    shell::progress("components, the command line, Python and Node in one election");
    let python = match without.contains(&Without::Python) {
        true => Ok(left_out("Python")),
        false => with_the_wheel(),
    };
    let node = match without.contains(&Without::Node) {
        true => Ok(left_out("Node")),
        false => with_the_package(),
    };
    let succeeds = match (python, node) {
        (Ok(python), Ok(node)) => {
            let environment = [("INCUMBENT_PYTHON", python), ("INCUMBENT_NODE", node)];
            nextest::run_ignored(parts, BINARY, TEST, &environment)?
        }
        (Err(error), _) | (_, Err(error)) => {
            report.check(Part::Component, &format!("{TEST}: {error:#}"), false);
            return Ok(());
        }
    };
    report.check(Part::Component, TEST, succeeds);
    Ok(())
}

/// What the test takes for nobody of that kind.
fn left_out(whom: &str) -> OsString {
    println!("{whom} takes no part, as asked");
    OsString::new()
}

/// The Python of an environment that has the wheel.
fn with_the_wheel() -> Result<OsString> {
    let interpreters = python::interpreters()?;
    let interpreter = interpreters.first().context("no interpreter")?;
    let wheel = python::wheel(interpreter, Profile::Dev)?;
    let environment = interpreter.fresh("processes")?;
    environment.install(&["--no-deps", python::text(&wheel)?])?;
    Ok(environment.program("python").into())
}

/// The folder of the npm package, built.
fn with_the_package() -> Result<OsString> {
    node::there_is_node()?;
    node::build(&["build:addon", "build:js"])?;
    Ok(node::folder().into())
}
