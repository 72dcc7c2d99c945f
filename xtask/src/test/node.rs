//! The npm package: it is built, and tried by vitest; among its tests it is packed, and installed elsewhere.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, Result};
use incumbent_testkit::tools::{NATS_SERVER, NatsVersion, nats_server};

use super::Part;
use super::python::cases;
use super::tally::{Report, Tally};
use crate::shell;

/// The oldest Node that the package is for.
const OLDEST: u32 = 20;

pub(super) fn run(report: &mut Report) -> Result<()> {
    if let Err(error) = there_is_node() {
        report.check(Part::Node, &format!("{error:#}"), false);
        return Ok(());
    }
    build(&["build:addon", "build:js"])?;
    shell::progress("build the command line, and the stage of the conformance scenarios");
    let packages = ["--package", "incumbent-cli", "--package", "incumbent-conformance"];
    shell::run(shell::cargo().args(["build", "--quiet", "--bins"]).args(packages))?;

    shell::progress("vitest");
    let results = shell::target().join("node/junit.xml");
    if results.exists() {
        fs::remove_file(&results).with_context(|| format!("cannot remove {}", results.display()))?;
    }
    let mut vitest = npm(&["exec", "--", "vitest", "run", "--reporter=dot", "--reporter=junit"]);
    vitest.arg(format!("--outputFile.junit={}", results.display()));
    vitest.env("INCUMBENT_CLI", shell::target().join("debug/incumbent"));
    vitest.env("INCUMBENT_STAGE", shell::target().join("debug/incumbent-stage"));
    if let Ok(server) = nats_server(NatsVersion::Newest) {
        vitest.env(NATS_SERVER, server);
    }
    let succeeded = shell::succeeds(&mut vitest)?;
    let mut total = Tally::default();
    if let Ok(junit) = fs::read_to_string(&results) {
        for (case, passed) in cases(&junit)? {
            total += Tally::one(passed);
            report.check(Part::Node, &case, passed);
        }
    }
    // A runner that crashes, or finds nothing, counts nothing.
    if total.passed == 0 || (!succeeded && total.failed == 0) {
        report.check(Part::Node, "vitest failed, no test did", false);
    }
    Ok(())
}

pub(super) fn there_is_node() -> Result<()> {
    let remedy = format!("install Node {OLDEST} or newer with npm, or say `--without node`");
    let version = shell::output(shell::command("node").arg("--version")).context(remedy.clone())?;
    let major = version.trim().trim_start_matches('v').split('.').next().and_then(|one| one.parse().ok());
    anyhow::ensure!(major >= Some(OLDEST), "Node {} is too old: {remedy}", version.trim());
    shell::output(&mut npm(&["--version"])).context(remedy).map(drop)
}

/// Runs scripts of the package, once what they need is installed.
pub(crate) fn build(scripts: &[&str]) -> Result<()> {
    let modified = |name: &str| fs::metadata(folder().join(name)).and_then(|file| file.modified()).ok();
    if modified("node_modules/.package-lock.json") < modified("package-lock.json") {
        shell::progress("npm ci");
        // Not `npm ci`: npm 11 leaves packages of other platforms out of the lock, and then misses them there.
        shell::run(&mut npm(&["install", "--no-save", "--no-audit", "--no-fund"]))?;
    }
    for script in scripts {
        shell::progress(format!("npm run {script}"));
        shell::run(&mut npm(&["run", "--silent", script]))?;
    }
    Ok(())
}

/// npm, in the package's folder.
fn npm(arguments: &[&str]) -> Command {
    let mut command = shell::command("npm");
    command.args(arguments).current_dir(folder());
    command
}

pub(super) fn folder() -> PathBuf {
    shell::root().join("node")
}
