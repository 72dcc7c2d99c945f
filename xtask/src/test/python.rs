//! The Python package: its wheel is built and installed, and tried on every CPython there is.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result};
use incumbent_testkit::tools::{NATS_SERVER, NatsVersion, nats_server};

use super::Part;
use super::tally::{Report, Tally};
use crate::python::{self, Interpreter, Profile};
use crate::shell;

/// Where the tests find the command line.
const CLI: &str = "INCUMBENT_CLI";
/// Where they find the program that has the hand on stores and networks for the conformance scenarios.
const STAGE: &str = "INCUMBENT_STAGE";

/// What is tried on every other interpreter: all that needs nothing but the wheel and pytest.
const SMOKE: [&str; 6] = [
    "tests/test_term.py",
    "tests/test_left_elsewhere.py",
    "tests/test_candidate.py",
    "tests/test_sync.py",
    "tests/test_errors.py",
    "tests/test_fork.py::test_children_that_are_forked_while_the_engine_logs_do_not_hang",
];

pub(super) fn run(report: &mut Report) -> Result<()> {
    let interpreters = match python::interpreters() {
        Ok(interpreters) => interpreters,
        Err(error) => {
            report.check(Part::Python, &format!("{error:#}"), false);
            return Ok(());
        }
    };
    let (usual, others) = interpreters.split_first().context("no interpreter")?;
    shell::progress("build the wheel, the command line, and the stage of the scenarios");
    let wheel = python::wheel(usual, Profile::Dev)?;
    shell::run(shell::cargo().args(["build", "--quiet", "--package", "incumbent-cli"]))?;
    let stage = ["build", "--quiet", "--package", "incumbent-conformance", "--bin", "incumbent-stage"];
    shell::run(shell::cargo().args(stage))?;

    everything(usual, &wheel, report)?;
    for interpreter in others {
        smoke(interpreter, &wheel, report)?;
    }
    let alone = alone(usual, &wheel)?;
    report.check(Part::Python, "the wheel alone, copied elsewhere", alone);
    let from_source = from_source(usual)?;
    report.check(Part::Python, "pip install ./python, from another folder", from_source);
    Ok(())
}

/// All tests, on the interpreter that is tried most.
fn everything(interpreter: &Interpreter, wheel: &Path, report: &mut Report) -> Result<()> {
    shell::progress(format!("pytest on CPython {}", interpreter.name()));
    let environment = interpreter.fresh("all")?;
    environment.install(&["--requirement", python::text(&python::requirements())?])?;
    environment.install(&["--no-deps", python::text(wheel)?])?;
    let mut pytest = environment.python();
    pytest.args(["-m", "pytest", "--quiet"]);
    if let Ok(server) = nats_server(NatsVersion::Newest) {
        pytest.env(NATS_SERVER, server);
    }
    count(&mut pytest, &format!("CPython {}", interpreter.name()), report)
}

/// What every interpreter must do.
fn smoke(interpreter: &Interpreter, wheel: &Path, report: &mut Report) -> Result<()> {
    let name = format!("CPython {}", interpreter.name());
    shell::progress(format!("pytest on {name}"));
    let environment = interpreter.fresh(&format!("smoke-{}", interpreter.name()))?;
    let list = fs::read_to_string(python::requirements())?;
    let pytest: Vec<&str> = list.lines().filter(|line| line.starts_with("pytest")).collect();
    environment.install(&pytest)?;
    environment.install(&["--no-deps", python::text(wheel)?])?;
    let mut pytest = environment.python();
    pytest.args(["-m", "pytest", "--quiet"]).args(SMOKE);
    count(&mut pytest, &name, report)
}

/// What an installed package is tried with: an election.
const TRY: &str = "import incumbent.sync, sys; assert 'site-packages' in incumbent.__file__
with incumbent.sync.connect('sqlite:alone.db') as store, store.campaign('jobs', preset='fast', lease=1, splay=0) as candidate:
    with candidate.next_term(60) as term: assert candidate.is_leader and term.token.sequence
assert not candidate.is_leader";

/// The wheel needs nothing of this folder, nor anything else that is not in it.
fn alone(interpreter: &Interpreter, wheel: &Path) -> Result<bool> {
    shell::progress("the wheel alone");
    let elsewhere = tempfile::tempdir().context("no temporary folder")?;
    let copy = elsewhere.path().join(wheel.file_name().context("the wheel has no name")?);
    fs::copy(wheel, &copy).context("cannot copy the wheel")?;
    let environment = interpreter.fresh("alone")?;
    environment.install(&["--no-index", python::text(&copy)?])?;
    shell::succeeds(environment.python().args(["-W", "error", "-c", TRY]).current_dir(elsewhere.path()))
}

/// `pip install ./python` with nothing but Rust at hand: pip fetches what builds. What was compiled before is used again,
/// which is all that differs from a fresh machine.
fn from_source(interpreter: &Interpreter) -> Result<bool> {
    shell::progress("pip install ./python");
    let elsewhere = tempfile::tempdir().context("no temporary folder")?;
    let environment = interpreter.fresh("source")?;
    let mut pip = environment.python();
    pip.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check"]);
    pip.arg(shell::root().join("python")).current_dir(elsewhere.path());
    pip.env("CARGO_TARGET_DIR", shell::target()).env("MATURIN_PEP517_ARGS", "--profile dev");
    if !shell::succeeds(&mut pip)? {
        return Ok(false);
    }
    shell::succeeds(environment.python().args(["-W", "error", "-c", TRY]).current_dir(elsewhere.path()))
}

/// Runs pytest and counts what it says it did.
fn count(pytest: &mut std::process::Command, name: &str, report: &mut Report) -> Result<()> {
    let results = python::folder().join("junit.xml");
    if results.exists() {
        fs::remove_file(&results).with_context(|| format!("cannot remove {}", results.display()))?;
    }
    pytest.env(CLI, shell::target().join("debug/incumbent"));
    pytest.env(STAGE, shell::target().join("debug/incumbent-stage"));
    pytest.arg(format!("--junitxml={}", results.display())).current_dir(shell::root().join("python"));
    let succeeded = shell::succeeds(pytest)?;
    let mut total = Tally::default();
    if let Ok(junit) = fs::read_to_string(&results) {
        for (case, passed) in cases(&junit)? {
            total += Tally::one(passed);
            report.check(Part::Python, &format!("{name}: {case}"), passed);
        }
    }
    // A runner that crashes, or finds nothing, counts nothing.
    if total.passed == 0 || (!succeeded && total.failed == 0) {
        report.check(Part::Python, &format!("{name}: pytest failed, no test did"), false);
    }
    Ok(())
}

/// The tests of a JUnit file that ran, and whether each passed; those that were skipped did not run.
pub(super) fn cases(junit: &str) -> Result<Vec<(String, bool)>> {
    let document = roxmltree::Document::parse(junit).context("pytest wrote a JUnit file that is not XML")?;
    let cases = document.descendants().filter(|node| node.has_tag_name("testcase"));
    let ran = cases.filter(|case| !case.children().any(|node| node.has_tag_name("skipped")));
    let outcome = |case: roxmltree::Node<'_, '_>| {
        let failed = case.children().any(|node| node.has_tag_name("failure") || node.has_tag_name("error"));
        let name = |attribute| case.attribute(attribute).unwrap_or_default();
        (format!("{} {}", name("classname"), name("name")), !failed)
    };
    Ok(ran.map(outcome).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_skipped_did_not_run_and_errors_count_as_failed() {
        let junit = r#"<testsuites><testsuite name="pytest" tests="4">
            <testcase classname="tests.a" name="one"/>
            <testcase classname="tests.a" name="two"><failure message="no"/></testcase>
            <testcase classname="tests.b" name="three"><error message="no"/></testcase>
            <testcase classname="tests.b" name="four"><skipped message="not here"/></testcase>
        </testsuite></testsuites>"#;
        let cases = cases(junit).unwrap();
        let expected = [("tests.a one", true), ("tests.a two", false), ("tests.b three", false)];
        assert_eq!(cases, expected.map(|(name, passed)| (name.to_owned(), passed)));
    }
}
