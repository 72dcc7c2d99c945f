//! The election playground: its world in virtual time, then the page in a browser.

use std::fs;

use anyhow::{Context, Result};

use super::Part;
use super::junit::{Case, cases};
use super::tally::{Report, Tally};
use crate::playground;
use crate::shell::{self, say};
use crate::tools::{Without, chromium};

pub(super) fn run(without: &[Without], report: &mut Report) {
    if without.contains(&Without::Node) {
        say!("the playground is left out, as Node is");
        return;
    }
    if let Err(error) = tests(report) {
        report.check(Part::Component, &format!("the playground: {error:#}"), false);
    }
}

fn tests(report: &mut Report) -> Result<()> {
    playground::build()?;
    let browser = chromium::provide()?;
    shell::progress("the election playground: world and page");
    let results = shell::target().join("playground.junit.xml");
    if results.exists() {
        fs::remove_file(&results).with_context(|| format!("cannot remove {}", results.display()))?;
    }
    let mut node = playground::command("node");
    node.arg("--test").args(["--test-reporter=dot", "--test-reporter-destination=stdout"]);
    node.arg("--test-reporter=junit").arg(format!("--test-reporter-destination={}", results.display()));
    node.args(files()?).env("PLAYGROUND", playground::site()).env("CHROMIUM", browser);
    let succeeded = shell::succeeds(&mut node)?;
    let mut total = Tally::default();
    let junit = fs::read_to_string(&results).context("node wrote no results")?;
    for Case { name, failure, took, .. } in cases(&junit)? {
        total += Tally::one(failure.is_none());
        report.test(Part::Component, &format!("the playground: {name}"), failure.as_deref(), Some(took));
    }
    // If the runner crashes, or finds no tests, no test counts as failed, so the step fails here.
    if total.passed == 0 || (!succeeded && total.failed == 0) {
        report.check(Part::Component, "the playground: node failed, but no test did", false);
    }
    Ok(())
}

/// Lists the files with tests by name, because not every Node accepts a folder.
fn files() -> Result<Vec<String>> {
    let folder = playground::folder().join("test");
    let entries = fs::read_dir(&folder).with_context(|| format!("cannot read {}", folder.display()))?;
    let names = entries.flatten().map(|entry| entry.file_name().to_string_lossy().into_owned());
    let mut files: Vec<_> =
        names.filter(|name| name.ends_with(".test.js")).map(|name| format!("test/{name}")).collect();
    files.sort();
    Ok(files)
}
