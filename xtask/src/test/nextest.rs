//! The Rust tests of all parts, in one run of cargo-nextest.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::path::PathBuf;
use std::process::Command;
use std::sync::OnceLock;

use anyhow::{Context, Result};
use incumbent_testkit::kafka::Kafka;
use incumbent_testkit::kafka::shared::SHARED;
use incumbent_testkit::tools::{KafkaVersion, WITHOUT_GO};
use serde::Deserialize;

use super::junit::{Case, cases};
use super::tally::{Report, Tally};
use super::{COMPONENT, Part};
use crate::shell;
use crate::tools::NEXTEST;

/// The option that selects the settings in `.config/nextest.toml` for many tests at the same time.
pub(super) const PROFILE: [&str; 2] = ["--profile", "xtask"];

/// The path of nextest's JUnit report, which `.config/nextest.toml` sets.
const JUNIT: &str = "nextest/xtask/junit.xml";

/// The parts whose tests may be in binaries of other parts. A test belongs to such a part if its path contains a module
/// of that name.
const BY_MODULE: [(Part, &str); 2] = [(Part::Etcd, "etcd"), (Part::Kafka, "kafka")];

/// The filter of nextest for the tests with a module of that name in their path.
fn with_module(name: &str) -> String {
    format!("test(/(^|::){name}::/)")
}

/// The filter of nextest for the tests that [are in binaries of other parts](BY_MODULE).
pub(super) fn elsewhere() -> String {
    BY_MODULE.map(|(_, name)| with_module(name)).join(" + ")
}

impl Part {
    /// The part to which a test belongs, by the id of its binary and its path in the binary.
    pub(super) fn of_test(id: &str, test: &str) -> Option<Self> {
        let modules = test.rsplit_once("::").map_or("", |(modules, _)| modules);
        let named = |(_, name): &&(Self, &str)| modules.split("::").any(|module| module == *name);
        BY_MODULE.iter().find(named).map_or_else(|| Self::of_binary(id), |(part, _)| Some(*part))
    }

    /// The part to which the tests of a binary belong. The id `incumbent-nats::nats_store` is an integration test of
    /// the package `incumbent-nats`, and the id `incumbent-nats` is its unit tests.
    fn of_binary(id: &str) -> Option<Self> {
        let (package, binary) = id.split_once("::").unwrap_or((id, ""));
        Some(match package {
            "incumbent-sim" | "incumbent-mutants" => Self::Sim,
            "incumbent-etcd" => Self::Etcd,
            "incumbent-kafka" => Self::Kafka,
            "incumbent-neli" => Self::Runtime,
            _ if binary == "etcd" || binary.starts_with("etcd_") => Self::Etcd,
            _ if binary == "kafka" || binary.starts_with("kafka_") => Self::Kafka,
            _ if binary.starts_with("interop_") => Self::Interop,
            "incumbent-core" => Self::Core,
            "incumbent-model" => Self::Model,
            "incumbent-chaos" | "incumbent-rig" => Self::Chaos,
            "incumbent-nats" | "incumbent-conformance" if binary.starts_with("nats_") => Self::Nats,
            "incumbent"
            | "incumbent-applications"
            | "incumbent-conformance"
            | "incumbent-examples"
            | "incumbent-ffi"
            | "incumbent-memory"
            | "incumbent-nats"
            | "incumbent-sqlite"
            | "incumbent-store"
            | "incumbent-fuzz"
            | "incumbent-testkit"
            | "incumbent-uniffi"
            | "xtask" => Self::Runtime,
            "incumbent-cli" => Self::Cli,
            _ if COMPONENT.contains(&package) => Self::Component,
            _ => return None,
        })
    }
}

/// The Rust tests of some parts, which are built first and then run.
pub(super) struct Tests {
    parts: Vec<Part>,
    without_go: bool,
    /// The test binaries to run, as a filter of nextest. It is set once the tests are built.
    chosen: OnceLock<String>,
}

impl Tests {
    pub(super) fn of(parts: &[Part], without_go: bool) -> Self {
        Self { parts: with_tests(parts), without_go, chosen: OnceLock::new() }
    }

    /// The first part that has Rust tests.
    pub(super) fn first(&self) -> Option<Part> {
        self.parts.first().copied()
    }

    /// Builds the tests, and the programs that they run.
    pub(super) fn build(&self) -> Result<()> {
        shell::progress(format!("build the tests of {}", names(&self.parts)));
        let mut chosen = Vec::new();
        for id in binaries(&packages(&self.parts))?.rust_binaries.into_keys() {
            let part =
                Part::of_binary(&id).with_context(|| format!("the test binary {id} belongs to no part"))?;
            chosen.extend(self.of_binary(&id, part));
        }
        anyhow::ensure!(!chosen.is_empty(), "{} have no test binaries", names(&self.parts));
        let _ = self.chosen.set(chosen.join(" + "));
        Ok(())
    }

    /// Returns a filter of nextest for the tests of a binary that belong to the chosen parts.
    fn of_binary(&self, id: &str, part: Part) -> Option<String> {
        let own = self.parts.contains(&part);
        // These tests belong to a different part than the rest of their binary, so they are added or left out.
        let differ = BY_MODULE.iter().filter(|(other, _)| self.parts.contains(other) != own);
        let differ: Vec<_> = differ.map(|(_, name)| with_module(name)).collect();
        match (own, differ.join(" + ")) {
            (true, none) if none.is_empty() => Some(format!("binary_id(={id})")),
            (true, others) => Some(format!("(binary_id(={id}) - ({others}))")),
            (false, none) if none.is_empty() => None,
            (false, others) => Some(format!("(binary_id(={id}) & ({others}))")),
        }
    }

    /// Runs the built tests.
    pub(super) fn run(&self, report: &mut Report) -> Result<()> {
        let chosen = self.chosen.get().context("the tests are not built")?;
        shell::progress(format!("run the tests of {}", names(&self.parts)));
        let mut command = NEXTEST.command()?;
        command.arg("run").args(PROFILE).args(["--no-tests", "pass", "--filterset", chosen]).args(as_built());
        if self.without_go {
            command.env(WITHOUT_GO, "1");
        }
        // Ended when the tests have.
        let broker = self.parts.contains(&Part::Kafka).then(|| Kafka::start(KafkaVersion::default()));
        if let Some(broker) = &broker {
            command.env(SHARED, broker.address());
        }
        perform(&mut command, self.parts.first().copied().unwrap_or(Part::Runtime), report)
    }
}

/// Runs nextest, and counts each test for the part to which it belongs. An aborted run counts as a failure of `first`.
pub(super) fn perform(command: &mut Command, first: Part, report: &mut Report) -> Result<()> {
    let results = shell::target().join(JUNIT);
    if results.exists() {
        fs::remove_file(&results).with_context(|| format!("cannot remove {}", results.display()))?;
    }
    let succeeded = shell::succeeds(command)?;
    let counted = match fs::read_to_string(&results) {
        Ok(junit) => count(&junit, report)?,
        Err(_) => Tally::default(),
    };
    // If the runner crashes, no test counts as failed, so the step fails here.
    if !succeeded && counted.failed == 0 {
        report.check(first, "cargo nextest run failed, but no test did", false);
    }
    Ok(())
}

/// Builds some programs in the same way as the Rust tests, so that little is compiled again after these.
pub(super) fn programs(names: &[&str]) -> Result<()> {
    shell::progress(format!("build {}", names.join(", ")));
    let mut command = shell::cargo();
    command.args(["build", "--quiet", "--workspace", "--all-features"]);
    command.args(names.iter().flat_map(|name| ["--bin", *name]));
    // A small test is built with them, so that cargo chooses the same features as for tests.
    shell::run(command.args(["--test", "wall_clock"]))
}

/// The parts among `parts` that have Rust tests.
fn with_tests(parts: &[Part]) -> Vec<Part> {
    let has_tests = |part: &Part| {
        !matches!(
            part,
            Part::Mutants
                | Part::Python
                | Part::Node
                | Part::Kotlin
                | Part::Swift
                | Part::Lint
                | Part::Packages
                | Part::Applications
                | Part::Quick
        )
    };
    parts.iter().copied().filter(has_tests).collect()
}

/// The packages whose tests are built for some parts. A part with few packages, such as the core or the simulator,
/// builds in seconds by itself. Otherwise all parts share a set of packages, so that cargo always builds the same
/// features.
pub(super) fn packages(parts: &[Part]) -> Vec<&'static str> {
    match &with_tests(parts)[..] {
        [Part::Core] => vec!["--package", "incumbent-core"],
        [Part::Sim] => vec!["--package", "incumbent-sim"],
        [Part::Model] => vec!["--package", "incumbent-model"],
        [Part::Chaos] => vec!["--package", "incumbent-chaos"],
        // The command line takes part in the elections of components, and the harness in their scenarios.
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

/// Runs a single test that a full run leaves out because of its build. Returns true if it passed.
pub(super) fn run_ignored(binary: &str, test: &str, environment: &[(&str, OsString)]) -> Result<bool> {
    let mut command = NEXTEST.command()?;
    command.arg("run").args(PROFILE).args(["--run-ignored", "only", "--no-tests", "fail"]).args(as_built());
    command.arg("--filterset").arg(format!("binary_id(={binary}) & test(={test})"));
    command.envs(environment.iter().map(|(name, value)| (name, value)));
    shell::succeeds(&mut command)
}

/// The path of the list of test binaries.
fn list_of_binaries() -> PathBuf {
    shell::target().join("nextest/binaries.json")
}

/// Options that make nextest run the built tests without cargo, which may be busy with another build.
fn as_built() -> [OsString; 2] {
    ["--binaries-metadata".into(), list_of_binaries().into()]
}

/// Builds the tests of some packages, and writes the list of their binaries.
fn binaries(packages: &[&str]) -> Result<BinaryList> {
    let mut command = NEXTEST.command()?;
    command.args(["list", "--all-features", "--list-type", "binaries-only", "--message-format", "json"]);
    let mut json = String::new();
    if !shell::lines(command.args(packages), |line| json.push_str(line))? {
        anyhow::bail!("the tests do not build");
    }
    let file = list_of_binaries();
    fs::create_dir_all(file.parent().unwrap_or(&file))
        .with_context(|| format!("cannot make the folder of {}", file.display()))?;
    fs::write(&file, &json).with_context(|| format!("cannot write {}", file.display()))?;
    serde_json::from_str(&json).context("cannot read nextest's list of binaries")
}

/// The output of `cargo nextest list --list-type binaries-only`.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "kebab-case")]
struct BinaryList {
    rust_binaries: BTreeMap<String, serde_json::Value>,
}

fn names(parts: &[Part]) -> String {
    parts.iter().map(|part| part.name()).collect::<Vec<_>>().join(", ")
}

/// Counts the tests in nextest's JUnit file.
fn count(junit: &str, report: &mut Report) -> Result<Tally> {
    let mut total = Tally::default();
    for Case { name, failure, took, idle } in cases(junit)? {
        // The name begins with JUnit's class, which is the id of the test binary.
        let (id, test) = name.split_once(' ').unwrap_or((&name, ""));
        let part =
            Part::of_test(id, test).with_context(|| format!("the test binary {id} belongs to no part"))?;
        if let Some(reason) = idle.filter(|_| failure.is_none()) {
            report.note(part, format!("{name} was not run: {reason}"));
            continue;
        }
        total += Tally::one(failure.is_none());
        report.test(part, &name, failure.as_deref(), Some(took));
    }
    Ok(total)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn binaries_belong_to_the_part_in_their_name() {
        let cases = [
            ("incumbent-core", Some(Part::Core)),
            ("incumbent-core::campaign", Some(Part::Core)),
            ("incumbent-sim::seeds", Some(Part::Sim)),
            ("incumbent-sim", Some(Part::Sim)),
            ("incumbent-sim::kafka", Some(Part::Sim)),
            ("incumbent-chaos::bin/incumbent-chaos", Some(Part::Chaos)),
            ("incumbent-model::sabotage", Some(Part::Model)),
            ("incumbent-mutants::bin/incumbent-mutants", Some(Part::Sim)),
            ("incumbent", Some(Part::Runtime)),
            ("incumbent::store_contract", Some(Part::Runtime)),
            ("incumbent-nats::nats_faults", Some(Part::Nats)),
            ("incumbent-etcd::etcd", Some(Part::Etcd)),
            ("incumbent-etcd::etcd_scenarios", Some(Part::Etcd)),
            ("incumbent-testkit::etcd_servers", Some(Part::Etcd)),
            ("incumbent-kafka::kafka", Some(Part::Kafka)),
            ("incumbent-testkit::kafka_brokers", Some(Part::Kafka)),
            ("incumbent-etcd", Some(Part::Etcd)),
            ("incumbent-kafka", Some(Part::Kafka)),
            ("incumbent-nats", Some(Part::Runtime)),
            ("incumbent-store::request", Some(Part::Runtime)),
            ("incumbent-ffi::fork", Some(Part::Runtime)),
            ("incumbent-testkit::nats_server", Some(Part::Runtime)),
            ("incumbent-conformance::scenarios", Some(Part::Runtime)),
            ("incumbent-conformance::nats_scenarios", Some(Part::Nats)),
            ("incumbent-conformance::bin/incumbent-harness", Some(Part::Runtime)),
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
    fn a_test_with_a_module_for_a_store_in_its_path_belongs_to_that_part_whatever_its_binary() {
        let part = |test| Part::of_test("incumbent", test);
        assert_eq!(part("store::etcd::leases::tests::a_lease_ends"), Some(Part::Etcd));
        assert_eq!(part("etcd::two_take_turns"), Some(Part::Etcd));
        assert_eq!(part("store::nats::tests::etcd"), Some(Part::Runtime));
        assert_eq!(part("store::etcdlike::tests::a"), Some(Part::Runtime));
        assert_eq!(part("store::kafka::member::tests::a"), Some(Part::Kafka));
    }

    #[test]
    fn the_tests_of_a_binary_are_chosen_with_those_of_other_parts_or_without_them() {
        let chosen = |parts: &[Part]| Tests::of(parts, false).of_binary("incumbent", Part::Runtime);
        let filter = |text: &str| {
            Some(text.replace("ETCD", &with_module("etcd")).replace("KAFKA", &with_module("kafka")))
        };
        assert_eq!(chosen(&[Part::Runtime]), filter("(binary_id(=incumbent) - (ETCD + KAFKA))"));
        assert_eq!(chosen(&[Part::Runtime, Part::Kafka]), filter("(binary_id(=incumbent) - (ETCD))"));
        assert_eq!(chosen(&[Part::Runtime, Part::Etcd, Part::Kafka]), filter("binary_id(=incumbent)"));
        assert_eq!(chosen(&[Part::Kafka]), filter("(binary_id(=incumbent) & (KAFKA))"));
        assert_eq!(chosen(&[Part::Nats]), None);
    }

    #[test]
    fn a_test_that_found_nothing_to_test_is_not_counted_as_passed() {
        let junit = r#"<testsuites><testsuite name="incumbent-cli::cli">
            <testcase classname="incumbent-cli::cli" name="a"/>
            <testcase classname="incumbent-cli::cli" name="b">
                <system-err>nothing can be mounted here: nothing to test</system-err>
            </testcase>
            <testcase classname="incumbent-cli::cli" name="c"><failure message="no"/>
                <system-err>nothing can be mounted here: nothing to test</system-err>
            </testcase>
        </testsuite></testsuites>"#;
        let mut report = Report::new(&[]);
        assert_eq!(count(junit, &mut report).unwrap(), Tally { passed: 1, failed: 1 });
        let note = "cli: incumbent-cli::cli b was not run: nothing can be mounted here";
        assert_eq!(report.notes(), [note]);
    }

    #[test]
    fn failures_and_errors_count_as_failed_for_the_part_of_their_test() {
        let junit = r#"<testsuites name="nextest-run" tests="3" failures="1" errors="1">
            <testsuite name="incumbent-core" tests="2" failures="1">
                <testcase classname="incumbent-core" name="a"/>
                <testcase classname="incumbent-core" name="b"><failure message="no"/></testcase>
            </testsuite>
            <testsuite name="incumbent-nats::nats_store" tests="1" errors="1">
                <testcase classname="incumbent-nats::nats_store" name="c"><error type="timeout"/></testcase>
            </testsuite>
        </testsuites>"#;
        let mut report = Report::new(&[]);
        assert_eq!(count(junit, &mut report).unwrap(), Tally { passed: 1, failed: 2 });
        assert_eq!(
            [Part::Core, Part::Nats, Part::Runtime].map(|part| report.is_well(part)),
            [false, false, true]
        );
    }
}
