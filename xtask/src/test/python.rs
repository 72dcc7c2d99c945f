//! The Python package: its wheel is built and installed, and tested on every CPython of this machine.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use anyhow::{Context, Result};
use incumbent_testkit::kafka::Kafka;
use incumbent_testkit::tools::{EtcdVersion, KafkaVersion, NATS_SERVER, NatsVersion, etcd, nats_server};

use super::junit::{Case, cases};
use super::schedule::Lane::{Compute, Wait};
use super::schedule::{Step, Work};
use super::tally::{Report, Tally};
use super::{PROGRAMS, Part, WHEEL};
use crate::python::{self, Interpreter, Profile};
use crate::shell;

/// The variable with the path of the command line.
const CLI: &str = "INCUMBENT_CLI";
/// The variable with the path of `incumbent-harness`, for the conformance scenarios.
const HARNESS: &str = "INCUMBENT_HARNESS";
/// The variable with the stores on which the scenarios are played.
pub(super) const STORES: &str = "INCUMBENT_STORES";

/// The variable with the address of the Kafka broker that the scenarios share: a broker takes longer to start than most
/// scenarios take.
pub(super) const BROKER: &str = "INCUMBENT_KAFKA";

/// Returns the stores of the scenarios if some must be left out: a machine without Go, on purpose, cannot build etcd's
/// server.
pub(super) fn stores() -> Option<&'static str> {
    etcd(EtcdVersion::Newest).is_err().then_some("memory,sqlite,nats,kafka")
}

/// The tests on every other interpreter: all that need only the wheel, the command line and the packages in
/// [`SMOKE_NEEDS`].
const SMOKE: [&str; 10] = [
    "tests/test_term.py",
    "tests/test_left_elsewhere.py",
    "tests/test_unclosed.py",
    "tests/test_candidate.py",
    "tests/test_sync.py",
    "tests/test_errors.py",
    "tests/test_start.py",
    "tests/test_current_term.py",
    "tests/test_exit.py",
    "tests/test_fork.py::test_children_that_are_forked_while_the_engine_logs_do_not_hang",
];

/// Those tests need the requirements that begin with these words: pytest and its plugins, and a web framework that
/// enters and leaves terms in threads of its own.
const SMOKE_NEEDS: [&str; 3] = ["pytest", "fastapi", "httpx"];

/// The tests that play the scenarios.
const SCENARIOS: &str = "tests/conformance";

/// The longest tests. Each of these files runs in its own process; all other files share one more process.
const LONG: [&str; 3] = [SCENARIOS, "tests/test_types.py", "tests/test_hanging.py"];

/// The package, shared by the steps of a run.
#[derive(Default)]
pub(super) struct Python {
    built: OnceLock<(Vec<Interpreter>, PathBuf)>,
}

impl Python {
    /// Builds the wheel, with the first interpreter.
    pub(super) fn build(&self) -> Result<()> {
        let interpreters = python::interpreters()?;
        let usual = interpreters.first().context("no interpreter")?;
        shell::progress("build the wheel");
        let wheel = python::wheel(usual, Profile::Dev)?;
        let _ = self.built.set((interpreters, wheel));
        Ok(())
    }

    /// Returns all interpreters, beginning with the interpreter that runs all tests, and the wheel.
    fn built(&self) -> Result<(&[Interpreter], &Path)> {
        let (interpreters, wheel) = self.built.get().context("the wheel is not built")?;
        Ok((interpreters, wheel))
    }

    fn usual(&self) -> Result<(&Interpreter, &Path)> {
        let (interpreters, wheel) = self.built()?;
        Ok((interpreters.first().context("no interpreter")?, wheel))
    }

    /// Makes an environment of that name with only the package installed, and returns the path of its Python.
    pub(super) fn environment(&self, name: &str) -> Result<OsString> {
        let (usual, wheel) = self.usual()?;
        let environment = usual.fresh(name)?;
        environment.install(&["--no-deps", "--no-index", python::text(wheel)?])?;
        Ok(environment.program("python").into())
    }

    /// The steps of [`Part::Python`].
    pub(super) fn steps<'a>(&'a self) -> Vec<Step<'a>> {
        const ENVIRONMENT: &str = "pytest: environment";
        let step = |name: String, lane, work: Work<'a>| {
            Step::new(Part::Python, name, lane, work).after(WHEEL).after(PROGRAMS)
        };
        let mut steps = vec![step(ENVIRONMENT.into(), Wait, Box::new(|_| self.install()))];
        let all = std::iter::once(None).chain(LONG.into_iter().map(Some));
        for file in all {
            let name = file.map_or_else(|| "pytest".to_owned(), |file| format!("pytest {file}"));
            steps.push(
                step(name, Wait, Box::new(move |report| self.everything(file, report))).after(ENVIRONMENT),
            );
        }
        steps.push(step("pytest: other interpreters".into(), Wait, Box::new(|report| self.others(report))));
        steps.push(step(
            "the wheel alone".into(),
            Wait,
            Box::new(|report| {
                let (usual, wheel) = self.usual()?;
                let alone = alone(usual, wheel)?;
                report.check(Part::Python, "the wheel alone, copied elsewhere", alone);
                Ok(())
            }),
        ));
        steps.push(step(
            "pip install ./python".into(),
            Compute,
            Box::new(|report| {
                let from_source = from_source(self.usual()?.0)?;
                report.check(Part::Python, "pip install ./python, from another folder", from_source);
                Ok(())
            }),
        ));
        steps
    }

    /// Installs the tests' requirements into their environment.
    fn install(&self) -> Result<()> {
        let (interpreter, wheel) = self.usual()?;
        let environment = interpreter.fresh("all")?;
        environment.install(&["--requirement", python::text(&python::requirements())?])?;
        environment.install(&["--no-deps", python::text(wheel)?])
    }

    /// Runs one of the long test files, or all other files, on the interpreter that runs all tests.
    fn everything(&self, file: Option<&str>, report: &mut Report) -> Result<()> {
        let interpreter = self.usual()?.0;
        let name = format!("CPython {}", interpreter.name());
        shell::progress(format!("pytest on {name}"));
        let mut pytest = interpreter.made("all").python();
        pytest.args(["-m", "pytest", "--quiet"]);
        match file {
            Some(file) => drop(pytest.arg(file)),
            None => drop(pytest.args(LONG.map(|file| format!("--ignore={file}")))),
        }
        if let Ok(server) = nats_server(NatsVersion::Newest) {
            pytest.env(NATS_SERVER, server);
        }
        pytest.envs(stores().map(|stores| (STORES, stores)));
        let broker = (file == Some(SCENARIOS)).then(|| Kafka::start(KafkaVersion::Newest));
        pytest.envs(broker.as_ref().map(|broker| (BROKER, broker.address())));
        let results = file.unwrap_or("rest").replace(['/', '.'], "-");
        count(&mut pytest, &name, &results, report)
    }

    /// Runs the tests that are for every other interpreter.
    fn others(&self, report: &mut Report) -> Result<()> {
        let (interpreters, wheel) = self.built()?;
        for interpreter in interpreters.iter().skip(1) {
            smoke(interpreter, wheel, report)?;
        }
        Ok(())
    }
}

/// The tests of every interpreter.
fn smoke(interpreter: &Interpreter, wheel: &Path, report: &mut Report) -> Result<()> {
    let name = format!("CPython {}", interpreter.name());
    shell::progress(format!("pytest on {name}"));
    let environment = interpreter.fresh(&format!("smoke-{}", interpreter.name()))?;
    let list = fs::read_to_string(python::requirements())?;
    let is_needed = |line: &&str| SMOKE_NEEDS.iter().any(|name| line.starts_with(name));
    environment.install(&list.lines().filter(is_needed).collect::<Vec<_>>())?;
    environment.install(&["--no-deps", python::text(wheel)?])?;
    let mut pytest = environment.python();
    pytest.args(["-m", "pytest", "--quiet"]).args(SMOKE);
    count(&mut pytest, &name, &interpreter.name(), report)
}

/// The program that tries an installed package with an election.
const TRY: &str = "import incumbent.sync, sys; assert 'site-packages' in incumbent.__file__
with incumbent.sync.connect('sqlite:alone.db') as store, store.campaign('jobs', lease=10, splay=0) as candidate:
    with candidate.next_term(60) as term: assert candidate.is_leader and term.token.sequence
assert not candidate.is_leader";

/// Shows that the wheel needs nothing outside of itself.
fn alone(interpreter: &Interpreter, wheel: &Path) -> Result<bool> {
    shell::progress("the wheel alone");
    let elsewhere = tempfile::tempdir().context("no temporary folder")?;
    let copy = elsewhere.path().join(wheel.file_name().context("the wheel has no name")?);
    fs::copy(wheel, &copy).context("cannot copy the wheel")?;
    let environment = interpreter.fresh("alone")?;
    environment.install(&["--no-index", python::text(&copy)?])?;
    shell::succeeds(environment.python().args(["-W", "error", "-c", TRY]).current_dir(elsewhere.path()))
}

/// Runs `pip install ./python` with nothing but Rust installed, so that pip fetches the build tools. The only
/// difference from a new machine is that the build reuses what was compiled earlier.
fn from_source(interpreter: &Interpreter) -> Result<bool> {
    shell::progress("pip install ./python");
    let elsewhere = tempfile::tempdir().context("no temporary folder")?;
    let environment = interpreter.fresh("source")?;
    let mut pip = environment.python();
    pip.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check"]);
    pip.arg(shell::root().join("python")).current_dir(elsewhere.path());
    let options = python::with_kafka()?.into_iter().map(|option| format!("\"{option}\""));
    let options = options.collect::<Vec<_>>().join(" ");
    pip.env("CARGO_TARGET_DIR", shell::target());
    pip.env("MATURIN_PEP517_ARGS", format!("--profile dev --target {} {options}", python::host()?));
    if !shell::succeeds(&mut pip)? {
        return Ok(false);
    }
    shell::succeeds(environment.python().args(["-W", "error", "-c", TRY]).current_dir(elsewhere.path()))
}

/// Runs pytest and counts the tests in its report, which is a separate file.
fn count(pytest: &mut std::process::Command, name: &str, file: &str, report: &mut Report) -> Result<()> {
    let results = python::folder().join(format!("junit-{file}.xml"));
    if results.exists() {
        fs::remove_file(&results).with_context(|| format!("cannot remove {}", results.display()))?;
    }
    pytest.env(CLI, shell::built("incumbent")).env(HARNESS, shell::built("incumbent-harness"));
    // Turns off pytest's cache, because other runs may use the same folder.
    pytest
        .args(["-p", "no:cacheprovider"])
        .arg(format!("--junitxml={}", results.display()))
        .current_dir(shell::root().join("python"));
    let succeeded = shell::succeeds(pytest)?;
    let mut total = Tally::default();
    if let Ok(junit) = fs::read_to_string(&results) {
        for Case { name: case, failure, took, .. } in cases(&junit)? {
            total += Tally::one(failure.is_none());
            report.test(Part::Python, &format!("{name}: {case}"), failure.as_deref(), Some(took));
        }
    }
    // If the runner crashes, or finds no tests, no test counts as failed, so the step fails here.
    if total.passed == 0 || (!succeeded && total.failed == 0) {
        report.check(Part::Python, &format!("{name}: pytest failed, but no test did"), false);
    }
    Ok(())
}
