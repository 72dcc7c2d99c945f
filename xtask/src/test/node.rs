//! The npm package: it is built, and tested by vitest, which also packs it and installs it elsewhere. Other releases of
//! Node, which npm installs as packages, then run the tests that depend on the release.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};
use incumbent_testkit::kafka::Kafka;
use incumbent_testkit::tools::{KafkaVersion, NATS_SERVER, NatsVersion, nats_server};

use super::junit::{Case, cases};
use super::python::{BROKER, Python, STORES, stores};
use super::schedule::Lane::Wait;
use super::schedule::{Step, Work};
use super::tally::{Report, Tally};
use super::{ADDON, PROGRAMS, Part, WHEEL};
use crate::python;
use crate::shell::{self, say};

/// The oldest Node that the package supports.
const OLDEST: u32 = 20;

/// Releases of Node that are tested in addition to the one on this machine.
pub(crate) const OTHERS: [u32; 3] = [20, 22, 24];

/// The tests on those releases: the package in both module systems, its packed contents, an event loop that is
/// blocked, processes, threads, and the scenarios on one store.
const REPRESENTATIVE: [&str; 7] =
    ["package", "candidate", "handlers", "blocked", "processes", "threads", "conformance"];

/// The value by which the tests know that there is no Python for a common election.
const NO_PYTHON: &str = "none";

/// A test file that packs the package in the package's own folder, so it must not run twice at the same time.
const PACKS: &str = "package";

/// The steps of [`Part::Node`]; without `python`, Node does not take turns with Python.
pub(super) fn steps<'a>(python: Option<&'a Python>) -> Vec<Step<'a>> {
    const PYTHON: &str = "vitest: with Python";
    const HERE: &str = "vitest";
    let other_python = move || -> Result<OsString> {
        match python {
            Some(_) => Ok(python::folder().join("with-node/bin/python").into()),
            None => Ok(NO_PYTHON.into()),
        }
    };
    let step = |name: String, work: Work<'a>| {
        Step::new(Part::Node, name, Wait, work).after(ADDON).after(PROGRAMS).after(PYTHON)
    };
    let mut steps = Vec::new();
    match python {
        Some(python) => {
            let install = |_: &mut Report| python.environment("with-node").map(drop);
            steps.push(Step::new(Part::Node, PYTHON, Wait, install).after(WHEEL));
        }
        None => say!("Node and Python are not tried together, as asked (--without python)"),
    }
    steps.push(step(HERE.into(), Box::new(move |report| vitest(None, &[], &other_python()?, report))));
    let mut before = HERE.to_owned();
    for release in OTHERS {
        // The release on this machine has its own step.
        let on = move |files: &[&str], report: &mut Report| match major()? == Some(release) {
            true => Ok(()),
            false => vitest(Some((release, &release_of(release)?)), files, &other_python()?, report),
        };
        let name = format!("vitest on Node {release}");
        let rest = REPRESENTATIVE.into_iter().filter(|file| *file != PACKS).collect::<Vec<_>>();
        steps.push(step(name.clone(), Box::new(move |report| on(&rest, report))));
        let packed = format!("{name}: {PACKS}");
        steps.push(
            step(packed.clone(), Box::new(move |report| on(&[PACKS], report))).after(name).after(before),
        );
        before = packed;
    }
    steps
}

/// Runs the test files whose names contain one of `files`, or all files if `files` is empty. They run on the Node
/// `other`, or on the Node on the path.
fn vitest(other: Option<(u32, &Path)>, files: &[&str], python: &OsStr, report: &mut Report) -> Result<()> {
    let name = other.map_or_else(String::new, |(release, _)| format!("Node {release}: "));
    shell::progress(format!("{name}vitest {}", files.join(" ")));
    let file = other.map_or_else(|| "here".into(), |(release, _)| format!("{release}-{}", files.len()));
    let results = shell::target().join(format!("node/junit-{file}.xml"));
    if results.exists() {
        fs::remove_file(&results).with_context(|| format!("cannot remove {}", results.display()))?;
    }
    let mut vitest = shell::command(other.map_or(Path::new("node"), |(_, node)| node));
    vitest.current_dir(folder()).arg("node_modules/vitest/vitest.mjs").arg("run").args(files);
    vitest.args(["--reporter=dot", "--reporter=junit"]);
    vitest.arg(format!("--outputFile.junit={}", results.display()));
    vitest.env("INCUMBENT_CLI", shell::built("incumbent"));
    vitest.env("INCUMBENT_HARNESS", shell::built("incumbent-harness"));
    vitest.env("INCUMBENT_PYTHON", python);
    if other.is_some() {
        // Leaves out the test of the types, because the type compiler runs on the Node on the path, whatever the
        // release.
        vitest.args(["--testNamePattern", "^(?!the types are strict)"]);
    }
    // Other releases use only the memory store, because stores behave the same on every release of Node.
    vitest.envs(other.map_or_else(stores, |_| Some("memory")).map(|stores| (STORES, stores)));
    let broker = other.is_none().then(|| Kafka::start(KafkaVersion::Newest));
    vitest.envs(broker.as_ref().map(|broker| (BROKER, broker.address())));
    if let Ok(server) = nats_server(NatsVersion::Newest) {
        vitest.env(NATS_SERVER, server);
    }
    let succeeded = shell::succeeds(&mut vitest)?;
    let mut total = Tally::default();
    if let Ok(junit) = fs::read_to_string(&results) {
        for Case { name: case, failure, took, .. } in cases(&junit)? {
            total += Tally::one(failure.is_none());
            report.test(Part::Node, &format!("{name}{case}"), failure.as_deref(), Some(took));
        }
    }
    // If the runner crashes, or finds no tests, no test counts as failed, so the step fails here.
    if total.passed == 0 || (!succeeded && total.failed == 0) {
        report.check(Part::Node, &format!("{name}vitest failed, but no test did"), false);
    }
    Ok(())
}

/// Returns a Node of that release, from npm, which is kept from one run to the next.
pub(crate) fn release_of(release: u32) -> Result<PathBuf> {
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

pub(crate) fn there_is_node() -> Result<()> {
    let remedy = format!("install Node {OLDEST} or newer with npm, or pass `--without node`");
    let major = major().context(remedy.clone())?;
    anyhow::ensure!(major >= Some(OLDEST), "Node is older than {OLDEST}: {remedy}");
    shell::output(&mut npm(&["--version"])).context(remedy).map(drop)
}

/// The release of the Node on the path, if it reports one.
fn major() -> Result<Option<u32>> {
    let version = shell::output(shell::command("node").arg("--version"))?;
    Ok(version.trim().trim_start_matches('v').split('.').next().and_then(|one| one.parse().ok()))
}

/// Installs the dependencies of the package, and then runs these of its scripts.
pub(crate) fn build(scripts: &[&str]) -> Result<()> {
    let modified = |name: &str| fs::metadata(folder().join(name)).and_then(|file| file.modified()).ok();
    if modified("node_modules/.package-lock.json") < modified("package-lock.json") {
        shell::progress("npm ci");
        shell::run(&mut npm(&["ci", "--no-audit", "--no-fund"]))?;
    }
    for script in scripts {
        shell::progress(format!("npm run {script}"));
        let mut run = npm(&["run", "--silent", script]);
        if *script == "build:addon" {
            // The options after the second `--` are for cargo.
            let options = python::with_kafka()?;
            let (features, cargo) = options.split_at(2);
            run.arg("--").args(features).arg("--").args(cargo);
        }
        shell::run(&mut run)?;
    }
    Ok(())
}

/// npm, in the package's folder.
fn npm(arguments: &[&str]) -> Command {
    let mut command = shell::command("npm");
    command.args(arguments).current_dir(folder());
    command
}

pub(crate) fn folder() -> PathBuf {
    shell::root().join("node")
}
