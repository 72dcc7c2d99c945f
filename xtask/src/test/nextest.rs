//! The Rust tests of all parts, in one run of cargo-nextest.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;

use anyhow::{Context, Result};
use incumbent_testkit::tools::WITHOUT_GO;
use serde::Deserialize;

use super::tally::{Report, Tally};
use super::{COMPONENT, Part};
use crate::shell;
use crate::tools::NEXTEST;

/// What nextest writes for machines; the name is set in `.config/nextest.toml`.
const JUNIT: &str = "nextest/default/junit.xml";

impl Part {
    /// To which part the tests of a binary belong; `incumbent::nats_store` is an integration test of
    /// the package `incumbent`, `incumbent` its unit tests.
    fn of_binary(id: &str) -> Option<Self> {
        let (package, binary) = id.split_once("::").unwrap_or((id, ""));
        Some(match package {
            _ if binary.starts_with("interop_") => Self::Interop,
            "incumbent-core" => Self::Core,
            "incumbent-sim" | "incumbent-mutants" => Self::Sim,
            "incumbent-model" => Self::Model,
            "incumbent-chaos" => Self::Chaos,
            "incumbent" | "incumbent-conformance" if binary.starts_with("nats_") => Self::Nats,
            "incumbent"
            | "incumbent-conformance"
            | "incumbent-examples"
            | "incumbent-ffi"
            | "incumbent-fuzz"
            | "incumbent-testkit"
            | "xtask" => Self::Runtime,
            "incumbent-cli" => Self::Cli,
            _ if COMPONENT.contains(&package) => Self::Component,
            _ => return None,
        })
    }
}

/// Runs the Rust tests of `parts`.
pub(super) fn run(parts: &[Part], without_go: bool, report: &mut Report) -> Result<()> {
    let parts = with_tests(parts);
    let Some(&first) = parts.first() else { return Ok(()) };
    let packages = packages(&parts);
    let packages = packages.as_slice();

    shell::progress(format!("build the tests of {}", names(&parts)));
    let Some(binaries) = binaries(packages)? else {
        report.check(first, "the tests do not build", false);
        return Ok(());
    };
    let mut chosen = Vec::new();
    for id in binaries {
        let part =
            Part::of_binary(&id).with_context(|| format!("the test binary {id} belongs to no part"))?;
        if parts.contains(&part) {
            chosen.push(format!("binary_id(={id})"));
        }
    }
    if chosen.is_empty() {
        return Ok(());
    }

    let results = shell::target().join(JUNIT);
    if results.exists() {
        fs::remove_file(&results).with_context(|| format!("cannot remove {}", results.display()))?;
    }
    shell::progress(format!("run the tests of {}", names(&parts)));
    let mut command = NEXTEST.command()?;
    command.args(["run", "--all-features", "--no-tests", "pass"]).args(packages);
    command.arg("--filterset").arg(chosen.join(" + "));
    if without_go {
        command.env(WITHOUT_GO, "1");
    }
    let succeeded = shell::succeeds(&mut command)?;

    let counted = match fs::read_to_string(&results) {
        Ok(junit) => count(&junit, report)?,
        Err(_) => Tally::default(),
    };
    // A runner that crashes counts nothing.
    if !succeeded && counted.failed == 0 {
        report.check(first, "cargo nextest run failed, no test did", false);
    }
    Ok(())
}

/// Those parts that have Rust tests.
fn with_tests(parts: &[Part]) -> Vec<Part> {
    let has_tests = |part: &Part| !matches!(part, Part::Mutants | Part::Python | Part::Node | Part::Lint);
    parts.iter().copied().filter(has_tests).collect()
}

/// The packages whose tests are built for some parts: the core and the simulator alone build in seconds; for all else one
/// set of packages, so that one choice of features is built, whatever the parts.
fn packages(parts: &[Part]) -> Vec<&'static str> {
    match parts {
        [Part::Core] => vec!["--package", "incumbent-core"],
        [Part::Sim] => vec!["--package", "incumbent-sim"],
        [Part::Model] => vec!["--package", "incumbent-model"],
        [Part::Chaos] => vec!["--package", "incumbent-chaos"],
        // The command line takes part in the elections of components, and the stage in their scenarios.
        [Part::Component] => {
            let others = ["incumbent-cli", "incumbent-conformance"];
            COMPONENT.iter().chain(&others).flat_map(|package| ["--package", *package]).collect()
        }
        parts if parts.contains(&Part::Component) => vec!["--workspace"],
        _ => COMPONENT.iter().fold(vec!["--workspace"], |mut words, package| {
            words.extend(["--exclude", package]);
            words
        }),
    }
}

/// Runs one test that a run of everything leaves out, because of what has to be built for it; whether it passed.
pub(super) fn run_ignored(
    parts: &[Part],
    binary: &str,
    test: &str,
    environment: &[(&str, OsString)],
) -> Result<bool> {
    let mut command = NEXTEST.command()?;
    command
        .args(["run", "--all-features", "--run-ignored", "only", "--no-tests", "fail"])
        .args(packages(&with_tests(parts)));
    command.arg("--filterset").arg(format!("binary_id(={binary}) & test(={test})"));
    command.envs(environment.iter().map(|(name, value)| (name, value)));
    shell::succeeds(&mut command)
}

/// Builds the tests of some packages; the ids of the binaries, or none where that fails.
fn binaries(packages: &[&str]) -> Result<Option<Vec<String>>> {
    let mut command = NEXTEST.command()?;
    command.args(["list", "--all-features", "--list-type", "binaries-only", "--message-format", "json"]);
    let mut json = String::new();
    if !shell::lines(command.args(packages), |line| json.push_str(line))? {
        return Ok(None);
    }
    let list: BinaryList = serde_json::from_str(&json).context("cannot read nextest's list of binaries")?;
    Ok(Some(list.rust_binaries.into_keys().collect()))
}

/// What `cargo nextest list --list-type binaries-only` prints.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "kebab-case")]
struct BinaryList {
    rust_binaries: BTreeMap<String, serde_json::Value>,
}

fn names(parts: &[Part]) -> String {
    parts.iter().map(|part| part.name()).collect::<Vec<_>>().join(", ")
}

/// Counts the tests in a JUnit file, in which each test binary is one suite.
fn count(junit: &str, report: &mut Report) -> Result<Tally> {
    let document = roxmltree::Document::parse(junit).context("nextest wrote a JUnit file that is not XML")?;
    let mut total = Tally::default();
    for suite in document.descendants().filter(|node| node.has_tag_name("testsuite")) {
        let id = suite.attribute("name").unwrap_or_default();
        let part = Part::of_binary(id).with_context(|| format!("the test binary {id} belongs to no part"))?;
        for case in suite.children().filter(|node| node.has_tag_name("testcase")) {
            let failed =
                case.children().any(|node| node.has_tag_name("failure") || node.has_tag_name("error"));
            total += Tally::one(!failed);
            report.check(part, &format!("{id} {}", case.attribute("name").unwrap_or_default()), !failed);
        }
    }
    Ok(total)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn binaries_belong_to_the_part_their_name_says() {
        let cases = [
            ("incumbent-core", Some(Part::Core)),
            ("incumbent-core::campaign", Some(Part::Core)),
            ("incumbent-sim::seeds", Some(Part::Sim)),
            ("incumbent-sim", Some(Part::Sim)),
            ("incumbent-chaos::bin/incumbent-chaos", Some(Part::Chaos)),
            ("incumbent-model::sabotage", Some(Part::Model)),
            ("incumbent-mutants::bin/incumbent-mutants", Some(Part::Sim)),
            ("incumbent", Some(Part::Runtime)),
            ("incumbent::store_contract", Some(Part::Runtime)),
            ("incumbent::nats_faults", Some(Part::Nats)),
            ("incumbent-ffi::fork", Some(Part::Runtime)),
            ("incumbent-testkit::nats_server", Some(Part::Runtime)),
            ("incumbent-conformance::scenarios", Some(Part::Runtime)),
            ("incumbent-conformance::nats_scenarios", Some(Part::Nats)),
            ("incumbent-conformance::bin/incumbent-stage", Some(Part::Runtime)),
            ("xtask::bin/xtask", Some(Part::Runtime)),
            ("incumbent-fuzz::corpora", Some(Part::Runtime)),
            ("incumbent-cli::bin/incumbent", Some(Part::Cli)),
            ("incumbent-wasmtime::nats_component", Some(Part::Component)),
            ("incumbent-componentise::built", Some(Part::Component)),
            ("incumbent-cli::interop_go", Some(Part::Interop)),
            ("incumbent-testkit::interop_go_programs", Some(Part::Interop)),
            ("unknown", None),
        ];
        for (id, part) in cases {
            assert_eq!(Part::of_binary(id), part, "{id}");
        }
    }

    #[test]
    fn failures_and_errors_count_as_failed() {
        let junit = r#"<testsuites name="nextest-run" tests="3" failures="1" errors="1">
            <testsuite name="incumbent-core" tests="2" failures="1">
                <testcase name="a"/><testcase name="b"><failure message="no"/></testcase>
            </testsuite>
            <testsuite name="incumbent::nats_store" tests="1" errors="1">
                <testcase name="c"><error type="timeout"/></testcase>
            </testsuite>
        </testsuites>"#;
        let mut report = Report::new(&[]);
        assert_eq!(count(junit, &mut report).unwrap(), Tally { passed: 1, failed: 2 });
    }
}
