//! Components, the command line, Python and Node in one election: the wheel and the npm package are built first, so that
//! no kind is missing.

use std::ffi::OsString;

use anyhow::Result;

use super::python::Python;
use super::tally::Report;
use super::{Part, nextest, node};
use crate::shell::{self, say};
use crate::tools::Without;

const BINARY: &str = "incumbent-wasmtime::nats_component";
const TEST: &str = "processes::components_the_command_line_python_and_node_never_lead_together";

pub(super) fn run(without: &[Without], python: &Python, report: &mut Report) -> Result<()> {
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

/// The value by which the test leaves this kind out.
fn left_out(whom: &str) -> OsString {
    say!("{whom} takes no part, as asked");
    OsString::new()
}
