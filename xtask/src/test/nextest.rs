//! The Rust tests of all parts, in one run of cargo-nextest.

use std::fs;

use anyhow::{Context, Result};
use incumbent_testkit::tools::WITHOUT_GO;

use super::Part;
use super::tally::{Report, Tally};
use crate::shell;
use crate::tools::NEXTEST;

/// What nextest writes for machines; the name is set in `.config/nextest.toml`.
const JUNIT: &str = "nextest/default/junit.xml";

struct Scope {
    packages: &'static [&'static str],
    filter: &'static str,
}

impl Part {
    /// Which Rust tests belong to a part.
    fn scope(self) -> Option<Scope> {
        let (packages, filter): (&'static [&'static str], _) = match self {
            Self::Core => (&["incumbent-core"], "package(=incumbent-core)"),
            Self::Runtime => (
                &["incumbent", "incumbent-testkit", "xtask"],
                "(package(=incumbent) - binary(/^nats_/)) + package(=incumbent-testkit) + package(=xtask)",
            ),
            Self::Nats => (&["incumbent"], "package(=incumbent) & binary(/^nats_/)"),
            Self::Cli => (&["incumbent-cli"], "package(=incumbent-cli) - binary(/^interop_/)"),
            Self::Interop => (&["incumbent-cli"], "package(=incumbent-cli) & binary(/^interop_/)"),
            Self::Lint => return None,
        };
        Some(Scope { packages, filter })
    }

    /// To which part the tests of a binary belong; `incumbent::nats_store` is an integration test of
    /// the package `incumbent`, `incumbent` its unit tests.
    fn of_binary(id: &str) -> Option<Self> {
        let (package, binary) = id.split_once("::").unwrap_or((id, ""));
        Some(match package {
            "incumbent-core" => Self::Core,
            "incumbent" if binary.starts_with("nats_") => Self::Nats,
            "incumbent" | "incumbent-testkit" | "xtask" => Self::Runtime,
            "incumbent-cli" if binary.starts_with("interop_") => Self::Interop,
            "incumbent-cli" => Self::Cli,
            _ => return None,
        })
    }
}

/// Runs the Rust tests of `parts`.
pub(super) fn run(parts: &[Part], without_go: bool, report: &mut Report) -> Result<()> {
    // Rust's interop tests have Go on the other side.
    let left_out = |part: &Part| without_go && *part == Part::Interop;
    let scopes: Vec<(Part, Scope)> =
        parts.iter().filter(|part| !left_out(part)).filter_map(|part| Some((*part, part.scope()?))).collect();
    if scopes.is_empty() {
        return Ok(());
    }
    let mut packages: Vec<&str> = scopes.iter().flat_map(|(_, scope)| scope.packages).copied().collect();
    packages.sort_unstable();
    packages.dedup();
    let filter: Vec<String> = scopes.iter().map(|(_, scope)| format!("({})", scope.filter)).collect();

    let results = shell::target().join(JUNIT);
    if results.exists() {
        fs::remove_file(&results).with_context(|| format!("cannot remove {}", results.display()))?;
    }
    let names: Vec<&str> = scopes.iter().map(|(part, _)| part.name()).collect();
    shell::progress(format!("nextest: {}", names.join(", ")));
    let mut command = NEXTEST.command()?;
    command.args(["run", "--all-features", "--no-tests", "pass", "--filterset", &filter.join(" + ")]);
    for package in packages {
        command.args(["--package", package]);
    }
    if without_go {
        command.env(WITHOUT_GO, "1");
    }
    let succeeded = shell::succeeds(&mut command)?;

    let counted = match fs::read_to_string(&results) {
        Ok(junit) => count(&junit, report)?,
        Err(_) => Tally::default(),
    };
    // A build that fails, or a runner that crashes, counts nothing.
    if !succeeded && counted.failed == 0 {
        report.check(scopes[0].0, "cargo nextest run failed before it ran the tests", false);
    }
    Ok(())
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
            ("incumbent", Some(Part::Runtime)),
            ("incumbent::store_contract", Some(Part::Runtime)),
            ("incumbent::nats_faults", Some(Part::Nats)),
            ("incumbent-testkit::nats_server", Some(Part::Runtime)),
            ("xtask::bin/xtask", Some(Part::Runtime)),
            ("incumbent-cli::bin/incumbent", Some(Part::Cli)),
            ("incumbent-cli::interop_go", Some(Part::Interop)),
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
