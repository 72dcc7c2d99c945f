//! The npm package: it is built, and tried by vitest; among its tests it is packed, and installed elsewhere. Newer
//! releases of Node, which npm installs as packages, then try what depends on them.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};
use incumbent_testkit::tools::{NATS_SERVER, NatsVersion, nats_server};

use super::Part;
use super::python::cases;
use super::tally::{Report, Tally};
use crate::python::{self, Profile};
use crate::shell;

/// The oldest Node that the package is for.
const OLDEST: u32 = 20;

/// Releases that are tried besides the one of this machine.
const OTHERS: [u32; 3] = [20, 22, 24];

/// What is tried on those: the package in both module systems, what is packed into it, an event loop that is blocked,
/// processes, threads, and the scenarios on one store.
const REPRESENTATIVE: [&str; 7] =
    ["package", "candidate", "handlers", "blocked", "processes", "threads", "conformance"];

/// Says to the tests that there is no Python to take turns with.
const NO_PYTHON: &str = "none";

/// `with_python`: whether Python is there to elect leaders with.
pub(super) fn run(with_python: bool, report: &mut Report) -> Result<()> {
    if let Err(error) = there_is_node() {
        report.check(Part::Node, &format!("{error:#}"), false);
        return Ok(());
    }
    build(&["build:addon", "build:js", "docs"])?;
    shell::progress("build the command line, and the stage of the conformance scenarios");
    let packages = ["--package", "incumbent-cli", "--package", "incumbent-conformance"];
    shell::run(shell::cargo().args(["build", "--quiet", "--bins"]).args(packages))?;

    let python = if with_python { python_with_the_package()? } else { NO_PYTHON.into() };
    if !with_python {
        println!("Node and Python are not tried together, as asked (--without python)");
    }

    let here = major()?;
    vitest(None, &[], &python, report)?;
    for release in OTHERS.into_iter().filter(|release| Some(*release) != here) {
        let node = release_of(release)?;
        vitest(Some((release, &node)), &REPRESENTATIVE, &python, report)?;
    }
    Ok(())
}

/// Runs the test files whose names contain one of `files`, all where there are none, on a Node of its own or the one
/// that is on the path.
fn vitest(other: Option<(u32, &Path)>, files: &[&str], python: &OsStr, report: &mut Report) -> Result<()> {
    let name = other.map_or_else(String::new, |(release, _)| format!("Node {release}: "));
    shell::progress(format!("{name}vitest"));
    let results = shell::target().join("node/junit.xml");
    if results.exists() {
        fs::remove_file(&results).with_context(|| format!("cannot remove {}", results.display()))?;
    }
    let mut vitest = shell::command(other.map_or(Path::new("node"), |(_, node)| node));
    vitest.current_dir(folder()).arg("node_modules/vitest/vitest.mjs").arg("run").args(files);
    vitest.args(["--reporter=dot", "--reporter=junit"]);
    vitest.arg(format!("--outputFile.junit={}", results.display()));
    vitest.env("INCUMBENT_CLI", shell::target().join("debug/incumbent"));
    vitest.env("INCUMBENT_STAGE", shell::target().join("debug/incumbent-stage"));
    vitest.env("INCUMBENT_PYTHON", python);
    if other.is_some() {
        // The others are no different there.
        vitest.env("INCUMBENT_STORES", "memory");
    }
    if let Ok(server) = nats_server(NatsVersion::Newest) {
        vitest.env(NATS_SERVER, server);
    }
    let succeeded = shell::succeeds(&mut vitest)?;
    let mut total = Tally::default();
    if let Ok(junit) = fs::read_to_string(&results) {
        for (case, passed) in cases(&junit)? {
            total += Tally::one(passed);
            report.check(Part::Node, &format!("{name}{case}"), passed);
        }
    }
    // A runner that crashes, or finds nothing, counts nothing.
    if total.passed == 0 || (!succeeded && total.failed == 0) {
        report.check(Part::Node, &format!("{name}vitest failed, no test did"), false);
    }
    Ok(())
}

/// A Node of that release, from npm; kept from one run to the next.
fn release_of(release: u32) -> Result<PathBuf> {
    let home = shell::target().join(format!("node/{release}"));
    let program = home.join("node_modules/node/bin/node");
    if !shell::output(shell::command(&program).arg("--version")).is_ok_and(|version| version.starts_with('v'))
    {
        shell::progress(format!("npm install node@{release}"));
        fs::create_dir_all(&home).with_context(|| format!("cannot make {}", home.display()))?;
        fs::write(home.join("package.json"), "{ \"private\": true }\n")
            .context("cannot write a package.json")?;
        let package = format!("node@{release}");
        let mut install = shell::command("npm");
        install.current_dir(&home).args(["install", "--silent", "--no-audit", "--no-fund", &package]);
        shell::run(&mut install)?;
    }
    Ok(program)
}

/// A Python in which the package is installed, built now.
fn python_with_the_package() -> Result<OsString> {
    let interpreters = python::interpreters()?;
    let usual = interpreters.first().context("no interpreter")?;
    shell::progress("build the wheel, to elect leaders among Node and Python");
    let wheel = python::wheel(usual, Profile::Dev)?;
    let environment = usual.fresh("with-node")?;
    environment.install(&["--no-deps", "--no-index", python::text(&wheel)?])?;
    Ok(environment.program("python").into())
}

pub(super) fn there_is_node() -> Result<()> {
    let remedy = format!("install Node {OLDEST} or newer with npm, or say `--without node`");
    let major = major().context(remedy.clone())?;
    anyhow::ensure!(major >= Some(OLDEST), "Node is older than {OLDEST}: {remedy}");
    shell::output(&mut npm(&["--version"])).context(remedy).map(drop)
}

/// The release of the Node on the path, where it says one.
fn major() -> Result<Option<u32>> {
    let version = shell::output(shell::command("node").arg("--version"))?;
    Ok(version.trim().trim_start_matches('v').split('.').next().and_then(|one| one.parse().ok()))
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
