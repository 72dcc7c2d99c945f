//! The engine component in Node: the example, on JavaScript that jco makes of the component.

use std::fs;

use anyhow::{Context, Result, bail};

use super::Part;
use super::tally::Report;
use crate::shell::{self, say};
use crate::tools::Without;

/// Its folder in the source.
const EXAMPLE: &str = "examples/wasm/node";

pub(super) fn run(without: &[Without], report: &mut Report) {
    if without.contains(&Without::Node) {
        say!("the engine component in Node is left out, as Node is");
        return;
    }
    shell::progress("the engine component in Node");
    match example() {
        Ok(succeeds) => report.check(Part::Component, "the engine component in Node", succeeds),
        Err(error) => {
            report.check(Part::Component, &format!("the engine component in Node: {error:#}"), false)
        }
    }
}

/// Runs the example from a copy, so that npm installs its packages there. Returns whether it succeeds.
fn example() -> Result<bool> {
    if shell::on_path("npm").is_none() {
        bail!("there is no npm; install Node 20 or newer (https://nodejs.org)");
    }
    let components = shell::target().join("components");
    let folder = components.join("node");
    fs::create_dir_all(&folder).with_context(|| format!("cannot make {}", folder.display()))?;
    for file in ["package.json", "transpile.mjs", "election.mjs"] {
        let from = shell::root().join(EXAMPLE).join(file);
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
