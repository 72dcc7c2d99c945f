//! Applications on widely used frameworks, under faults. They are installed as users would install them, and
//! `incumbent-applications` runs them. Each counts as one test.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use serde::Deserialize;

use super::python::Python;
use super::schedule::Lane::Wait;
use super::schedule::Step;
use super::tally::Report;
use super::{ADDON, PROGRAMS, Part, WHEEL, kotlin, node};
use crate::kotlin as library;
use crate::python;
use crate::shell::{self, say};

/// The program that runs them.
pub(super) const PROGRAM: &str = "incumbent-applications";

/// The applications need those requirements of Python's tests that begin with these words. gunicorn's gevent worker
/// needs `packaging` without declaring it.
const PYTHON_NEEDS: [&str; 8] =
    ["apscheduler=", "celery=", "django=", "fastapi=", "gevent=", "gunicorn=", "packaging=", "uvicorn="];

/// The releases of Spring Boot.
const SPRING: [(&str, &str); 2] = [("3.5", "3.5.7"), ("4.0", "4.0.7")];

/// The steps of [`Part::Applications`], without the languages that are left out.
pub(super) fn steps<'a>(python: Option<&'a Python>, with_node: bool, with_java: bool) -> Vec<Step<'a>> {
    const PYTHON: &str = "applications: Python";
    const NODE: &str = "applications: Node";
    const SPRING: &str = "applications: Spring Boot";
    let step = |name, work: fn() -> Result<()>| Step::new(Part::Applications, name, Wait, move |_| work());
    let mut steps = Vec::new();
    if let Some(python) = python {
        let install = |_: &mut Report| install_python(python);
        steps.push(Step::new(Part::Applications, PYTHON, Wait, install).after(WHEEL));
    }
    if with_node {
        steps.push(step(NODE, install_node).after(ADDON));
    }
    if with_java {
        steps.push(step(SPRING, install_spring).after(kotlin::JAR));
    }
    let run = move |report: &mut Report| run(python.is_some(), with_node, with_java, report);
    let step = Step::new(Part::Applications, "applications", Wait, run);
    steps.push(step.after(PROGRAMS).after(PYTHON).after(NODE).after(SPRING));
    steps
}

fn folder() -> PathBuf {
    shell::target().join("applications")
}

/// The folder of a language's programs.
fn sources(language: &str) -> PathBuf {
    shell::root().join("lab/applications").join(language)
}

/// The name of the virtual environment.
const ENVIRONMENT: &str = "applications";

fn install_python(python: &Python) -> Result<()> {
    shell::progress("install Python's frameworks");
    let interpreter = python.environment(ENVIRONMENT)?;
    let list = fs::read_to_string(python::requirements()).context("cannot read what the tests install")?;
    let is_needed = |line: &&str| PYTHON_NEEDS.iter().any(|name| line.starts_with(name));
    let mut pip = shell::command(interpreter);
    pip.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check"]);
    shell::run(pip.args(list.lines().filter(is_needed)))
}

/// Copies the programs, and installs their frameworks and then the package. A link to the package would make it use
/// another copy of Nest.
fn install_node() -> Result<()> {
    shell::progress("install Node's frameworks");
    let home = folder().join("node");
    library::copy(&sources("node"), &home)?;
    let mut npm = shell::command("npm");
    npm.current_dir(&home).args(["install", "--silent", "--no-audit", "--no-fund", "--ignore-scripts"]);
    shell::run(&mut npm)?;
    let package = shell::fresh(&home.join("node_modules/incumbent"))?;
    for name in ["package.json", "dist", "bin"] {
        let from = node::folder().join(name);
        match from.is_dir() {
            true => library::copy(&from, &package.join(name))?,
            false => drop(fs::copy(&from, package.join(name))?),
        }
    }
    for file in fs::read_dir(node::folder())? {
        let path = file?.path();
        if path.extension().is_some_and(|end| end == "node") {
            fs::copy(&path, package.join(path.file_name().context("the addon has no name")?))?;
        }
    }
    shell::run(shell::command(home.join("node_modules/.bin/tsc")).current_dir(&home))
}

/// Compiles the application for each release of Spring Boot, and copies the libraries with which it runs.
fn install_spring() -> Result<()> {
    for (name, release) in SPRING {
        shell::progress(format!("an application of Spring Boot {release}"));
        let home = shell::fresh(&folder().join("spring").join(name))?;
        library::copy(&sources("spring"), &home)?;
        let mut maven = library::maven_online(&home)?;
        maven.arg("process-classes").arg(format!("-Dboot.version={release}"));
        shell::run(&mut maven)?;
    }
    Ok(())
}

/// What the program reports about an application.
#[derive(Debug, Deserialize)]
struct Outcome {
    name: String,
    #[serde(default)]
    seconds: f64,
    error: Option<String>,
}

fn run(with_python: bool, with_node: bool, with_java: bool, report: &mut Report) -> Result<()> {
    shell::progress("applications under faults");
    let mut command = shell::command(shell::built(PROGRAM));
    command.arg("--json").arg("--cli").arg(shell::built("incumbent"));
    let homes = [
        (with_python, "--python", python::folder().join(ENVIRONMENT)),
        (with_node, "--node", folder().join("node")),
        (with_java, "--spring", folder().join("spring")),
    ];
    for (_, option, home) in homes.iter().filter(|(is_installed, ..)| *is_installed) {
        command.arg(option).arg(Path::new(home));
    }
    ensure!(command.get_args().len() > 3, "every language is left out");
    let mut outcomes = Vec::new();
    let succeeded = shell::lines(&mut command, |line| match serde_json::from_str::<Outcome>(line) {
        Ok(outcome) => {
            match &outcome.error {
                Some(error) => say!("{} failed: {error}", outcome.name),
                None => say!("{} passed in {:.0} s", outcome.name, outcome.seconds),
            }
            outcomes.push(outcome);
        }
        Err(_) => say!("{line}"),
    })?;
    for Outcome { name, seconds, error } in &outcomes {
        let took = Duration::try_from_secs_f64(*seconds).unwrap_or_default();
        report.test(Part::Applications, name, error.as_deref(), Some(took));
    }
    // The program may end before it reports on each application.
    if outcomes.is_empty() || (!succeeded && outcomes.iter().all(|outcome| outcome.error.is_none())) {
        report.check(Part::Applications, "the applications did not run to their end", false);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_framework_of_python_is_pinned() {
        let list = fs::read_to_string(python::requirements()).unwrap();
        for name in PYTHON_NEEDS {
            assert!(list.lines().any(|line| line.starts_with(name)), "{name} is not pinned");
        }
    }

    #[test]
    fn outcomes_are_read_from_a_line() {
        let passed: Outcome = serde_json::from_str(r#"{"name":"django","seconds":41.5}"#).unwrap();
        assert_eq!((passed.name.as_str(), passed.seconds, passed.error), ("django", 41.5, None));
        let failed: Outcome = serde_json::from_str(r#"{"name":"nest","error":"two were at work"}"#).unwrap();
        assert_eq!(failed.error.as_deref(), Some("two were at work"));
    }
}
