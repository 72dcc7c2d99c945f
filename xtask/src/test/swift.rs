//! The Swift library: SwiftPM builds it, and its test runner runs the tests.

use std::time::Duration;

use anyhow::Result;
use incumbent_testkit::kafka::Kafka;
use incumbent_testkit::tools::{KafkaVersion, NATS_SERVER, NatsVersion, nats_server};

use super::python::{BROKER, STORES, stores};
use super::schedule::Lane::{Compute, Wait};
use super::schedule::Step;
use super::tally::{Report, Tally};
use super::{PROGRAMS, Part};
use crate::shell::{self, say};
use crate::swift;

/// The steps of [`Part::Swift`].
pub(super) fn steps<'a>() -> Vec<Step<'a>> {
    const PACKAGE: &str = "build the Swift package";
    let build = |_: &mut Report| swift::build_tests();
    vec![
        Step::new(Part::Swift, PACKAGE, Compute, build).building().after(PROGRAMS),
        Step::new(Part::Swift, "Swift Testing", Wait, run).after(PACKAGE),
        Step::new(Part::Swift, "the Swift documentation", Compute, |_| swift::document()).after(PACKAGE),
    ]
}

/// Runs all tests, and counts them.
fn run(report: &mut Report) -> Result<()> {
    shell::progress("Swift Testing");
    let built = swift::package_of_tests().join(".build/debug");
    // Without SwiftPM, which would plan the build once more. A runner that hangs is ended.
    let mut runner = swift::inside_as_one(&swift::package_of_tests(), "timeout")?;
    runner.args(["--kill-after=10", "1200"]).arg(built.join("IncumbentPackageTests.xctest"));
    runner.args(["--testing-library", "swift-testing"]);
    runner.env("NO_COLOR", "1").env("TERM", "dumb");
    runner.env("INCUMBENT_PROGRAMS", &built);
    runner.env("INCUMBENT_SOURCES", shell::root());
    runner.env("INCUMBENT_CLI", shell::built("incumbent"));
    runner.env("INCUMBENT_STAGE", shell::built("incumbent-stage"));
    runner.envs(stores().map(|stores| (STORES, stores)));
    let broker = Kafka::start(KafkaVersion::Newest);
    runner.env(BROKER, broker.address());
    if let Ok(server) = nats_server(NatsVersion::Newest) {
        runner.env(NATS_SERVER, server);
    }
    let mut total = Tally::default();
    let succeeded = shell::lines(&mut runner, |line| {
        let Some((name, passed, took)) = outcome(line) else {
            // The begin of each test says nothing.
            if !line.starts_with('◇') {
                say!("{line}");
            }
            return;
        };
        if !passed {
            say!("{line}");
        }
        total += Tally::one(passed);
        report.test(Part::Swift, name, (!passed).then_some("see its issues above"), Some(took));
    })?;
    // A runner that crashes, or finds no tests, counts nothing.
    if total.passed == 0 || (!succeeded && total.failed == 0) {
        report.check(Part::Swift, "Swift's test runner failed, no test did", false);
    }
    Ok(())
}

/// Reads `✔ Test "a name" passed after 0.019 seconds.`, and the same line of a scenario.
fn outcome(line: &str) -> Option<(&str, bool, Duration)> {
    let (_, rest) = line.split_once(" Test \"")?;
    let (name, rest) = rest.rsplit_once("\" ")?;
    let (passed, rest) = match rest.split_once(" after ")? {
        ("passed", rest) => (true, rest),
        ("failed", rest) => (false, rest),
        _ => return None,
    };
    let seconds = rest.split(' ').next()?.parse().ok()?;
    Some((name, passed, Duration::try_from_secs_f64(seconds).ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_of_a_test_is_counted_and_its_begin_and_its_issues_are_not() {
        let second = Duration::from_millis(1019);
        assert_eq!(
            outcome("✔ Test \"a lease ends by the clock\" passed after 1.019 seconds."),
            Some(("a lease ends by the clock", true, second))
        );
        assert_eq!(
            outcome("✘ Test \"a \"b\"\" failed after 1.019 seconds with 2 issues."),
            Some(("a \"b\"", false, second))
        );
        for line in [
            "◇ Test \"a lease ends by the clock\" started.",
            "✘ Test \"a lease\" recorded an issue at TermTests.swift:7:9: Expectation failed",
            "✔ Suite TermTests passed after 1.034 seconds.",
            "✔ Test run with 16 tests passed after 1.035 seconds.",
        ] {
            assert_eq!(outcome(line), None, "{line}");
        }
    }
}
