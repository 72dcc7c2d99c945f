//! The Kotlin library: the jar is built, a project outside of this one tries it, and Maven runs the tests of Kotlin and
//! Java.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use incumbent_testkit::kafka::Kafka;
use incumbent_testkit::tools::{KafkaVersion, NATS_SERVER, NatsVersion, nats_server};

use super::junit::{Case, cases};
use super::python::{BROKER, Python, STORES, stores};
use super::schedule::Lane::{Compute, Wait};
use super::schedule::Step;
use super::tally::{Report, Tally};
use super::{ADDON, PROGRAMS, Part, WHEEL, node, swift};
use crate::kotlin::{self, Profile};
use crate::shell;

/// The steps of [`Part::Kotlin`]. Candidates in Python, Node and Swift take part in an election with Kotlin if their
/// packages are built.
pub(super) fn steps<'a>(python: Option<&'a Python>, with_node: bool, with_swift: bool) -> Vec<Step<'a>> {
    let run = move |report: &mut Report| {
        let python = python.map(|python| python.environment("with-kotlin")).transpose()?;
        let swift = with_swift.then(|| crate::swift::script("programs")).transpose()?;
        junit(python.unwrap_or_default(), with_node, swift.unwrap_or_default(), report)
    };
    let trial = |report: &mut Report| {
        shell::progress("the jar in a project outside");
        let works = shell::succeeds(&mut kotlin::trial(&kotlin::target().join("published"))?)?;
        report.check(Part::Kotlin, "the jar in a project outside", works);
        for (name, mut consumer) in kotlin::consumers(&kotlin::target().join("published"))? {
            shell::progress(&name);
            report.check(Part::Kotlin, &name, shell::succeeds(&mut consumer)?);
        }
        Ok(())
    };
    vec![
        Step::new(Part::Kotlin, "JUnit", Wait, run)
            .after(JAR)
            .after(WHEEL)
            .after(ADDON)
            .after(swift::PACKAGE),
        Step::new(Part::Kotlin, "the jar alone", Wait, trial).after(JAR),
    ]
}

/// The name of the step that builds the jar.
pub(super) const JAR: &str = "build the jar";

/// Builds the jar, and publishes it in a repository of its own.
pub(super) fn jar(part: Part) -> Step<'static> {
    let build = |_: &mut Report| {
        kotlin::build(Profile::Dev)?;
        shell::progress("mvn package");
        shell::run(kotlin::maven().args(["-DskipTests", "package"]))?;
        kotlin::publish(&kotlin::target().join("published"))
    };
    Step::new(part, JAR, Compute, build).after(PROGRAMS)
}

/// Runs all tests, and counts them.
fn junit(python: OsString, with_node: bool, swift: PathBuf, report: &mut Report) -> Result<()> {
    shell::progress("mvn surefire:test");
    let results = kotlin::target().join("maven/surefire-reports");
    if results.exists() {
        fs::remove_dir_all(&results).with_context(|| format!("cannot remove {}", results.display()))?;
    }
    let mut maven = kotlin::maven();
    maven.arg("surefire:test");
    maven.env("INCUMBENT_CLI", shell::built("incumbent"));
    maven.env("INCUMBENT_HARNESS", shell::built("incumbent-harness"));
    maven.env("INCUMBENT_PYTHON", python);
    maven.env("INCUMBENT_NODE", if with_node { node::folder().into() } else { OsString::new() });
    maven.env("INCUMBENT_SWIFT", swift);
    maven.envs(stores().map(|stores| (STORES, stores)));
    let broker = Kafka::start(KafkaVersion::Newest);
    maven.env(BROKER, broker.address());
    if let Ok(server) = nats_server(NatsVersion::Newest) {
        maven.env(NATS_SERVER, server);
    }
    let succeeded = shell::succeeds(&mut maven)?;
    let mut total = Tally::default();
    for Case { name, failure, took, .. } in all(&results)? {
        total += Tally::one(failure.is_none());
        report.test(Part::Kotlin, &name, failure.as_deref(), Some(took));
    }
    // If the runner crashes, or finds no tests, no test counts as failed, so the step fails here.
    if total.passed == 0 || (!succeeded && total.failed == 0) {
        report.check(Part::Kotlin, "Maven failed, but no test did", false);
    }
    Ok(())
}

/// The tests in the JUnit files of a folder, one file for each class.
fn all(results: &Path) -> Result<Vec<Case>> {
    let mut found = Vec::new();
    if results.is_dir() {
        for file in fs::read_dir(results)? {
            let path = file?.path();
            if path.extension().is_some_and(|end| end == "xml") {
                found.extend(cases(&fs::read_to_string(path)?)?);
            }
        }
    }
    Ok(found)
}
