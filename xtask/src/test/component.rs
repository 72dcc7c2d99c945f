//! The components together with other languages: the examples of the engine in Node and in Python, and one election
//! with candidates of all kinds.

use std::ffi::OsString;
use std::fs;

use anyhow::{Context, Result, bail};

use super::python::Python;
use super::tally::Report;
use super::{Part, nextest, node};
use crate::budgets::{self, Made};
use crate::package;
use crate::python;
use crate::shell::{self, say};
use crate::tools::Without;

/// Compares the sizes of the components with their budgets.
pub(super) fn weigh(report: &mut Report) -> Result<()> {
    for (component, file) in package::released_components()? {
        let checked = budgets::check(component, Made::Released, &file);
        let name = checked.as_ref().err().map_or_else(
            || format!("the {} is within its budget of bytes", component.name()),
            ToString::to_string,
        );
        report.check(Part::Component, &name, checked.is_ok());
    }
    Ok(())
}

/// Its folder in the source.
const NODE_EXAMPLE: &str = "examples/wasm/node";

/// Runs the example in Node, on JavaScript that jco makes from the engine component.
pub(super) fn in_node(without: &[Without], report: &mut Report) {
    if without.contains(&Without::Node) {
        say!("the engine component in Node is left out, as Node is");
        return;
    }
    shell::progress("the engine component in Node");
    match node_example() {
        Ok(succeeds) => report.check(Part::Component, "the engine component in Node", succeeds),
        Err(error) => {
            report.check(Part::Component, &format!("the engine component in Node: {error:#}"), false)
        }
    }
}

/// Runs the example from a copy, so that npm installs the packages in the copy. Returns true if the example succeeds.
fn node_example() -> Result<bool> {
    if shell::on_path("npm").is_none() {
        bail!("there is no npm; install Node 20 or newer (https://nodejs.org)");
    }
    let components = shell::target().join("components");
    let folder = components.join("node");
    fs::create_dir_all(&folder).with_context(|| format!("cannot make {}", folder.display()))?;
    for file in ["package.json", "transpile.mjs", "election.mjs"] {
        let from = shell::root().join(NODE_EXAMPLE).join(file);
        fs::copy(&from, folder.join(file)).with_context(|| format!("cannot copy {}", from.display()))?;
    }
    let run = |program: &str, words: &[&str]| {
        let mut command = shell::command(program);
        command.current_dir(&folder).args(words);
        command
    };
    if !folder.join("node_modules/@bytecodealliance/jco-transpile").is_dir() {
        shell::run(&mut run("npm", &["install", "--no-audit", "--no-fund", "--silent"]))?;
    }
    let engine = components.join("incumbent-engine.wasm");
    shell::run(run("node", &["transpile.mjs"]).arg(engine).arg("transpiled"))?;
    shell::succeeds(&mut run("node", &["election.mjs", "transpiled"]))
}

/// Its folder in the source.
const PYTHON_EXAMPLE: &str = "examples/wasm/python";

/// Runs the example in Python, on the package `wasmtime`.
pub(super) fn in_python(without: &[Without], report: &mut Report) {
    if without.contains(&Without::Python) {
        say!("the engine component in Python is left out, as Python is");
        return;
    }
    shell::progress("the engine component in Python");
    match python_example() {
        Ok(succeeds) => report.check(Part::Component, "the engine component in Python", succeeds),
        Err(error) => {
            report.check(Part::Component, &format!("the engine component in Python: {error:#}"), false)
        }
    }
}

/// Runs the example in a virtual environment of its own. Returns true if the example succeeds.
fn python_example() -> Result<bool> {
    let interpreters = python::interpreters()?;
    let environment = interpreters.first().context("no interpreter")?.fresh("component")?;
    let example = shell::root().join(PYTHON_EXAMPLE);
    environment.install(&["--requirement", python::text(&example.join("requirements.txt"))?])?;
    let engine = shell::target().join("components/incumbent-engine.wasm");
    shell::succeeds(environment.python().arg(example.join("election.py")).arg(engine))
}

const BINARY: &str = "incumbent-wasmtime::nats_component";
const TEST: &str = "processes::components_the_command_line_python_and_node_never_lead_together";

/// Runs an election with candidates of all kinds: components, the command line, Python and Node. The wheel and the npm
/// package must have been built before.
pub(super) fn with_processes(without: &[Without], python: &Python, report: &mut Report) -> Result<()> {
    shell::progress("components, the command line, Python and Node in one election");
    let python = match without.contains(&Without::Python) {
        true => left_out("Python"),
        false => python.environment("processes")?,
    };
    let node = match without.contains(&Without::Node) {
        true => left_out("Node"),
        false => node::folder().into(),
    };
    let environment = [("INCUMBENT_PYTHON", python), ("INCUMBENT_NODE", node)];
    let succeeds = nextest::run_ignored(BINARY, TEST, &environment)?;
    report.check(Part::Component, TEST, succeeds);
    Ok(())
}

/// The value of the variable that makes the test leave out a kind of candidate.
fn left_out(whom: &str) -> OsString {
    say!("{whom} is left out, as asked");
    OsString::new()
}
