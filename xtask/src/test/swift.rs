//! The Swift library: SwiftPM builds it, and its test runner runs the tests.

use std::process::Command;
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
use crate::swift::{self, Tests};

/// The name of the build that other steps wait for, including steps of other parts.
pub(super) const PACKAGE: &str = "build the Swift package";

/// The suites and tests that run under the thread sanitizer. They use the memory store, except for the tests of
/// signals.
const SANITIZED: [&str; 7] = [
    "TermTests",
    "StoreTests",
    "CancellingTests",
    "ConformanceTests",
    "ProcessesTests/terminated",
    "ProcessesTests/interrupted",
    "ProcessesTests/twice",
];

/// The steps of [`Part::Swift`].
pub(super) fn steps<'a>() -> Vec<Step<'a>> {
    const SANITIZER: &str = "build the Swift package with the thread sanitizer";
    let build = |_: &mut Report| swift::build_tests(Tests::Plain);
    let build_sanitized = |_: &mut Report| swift::build_tests(Tests::Sanitized);
    vec![
        Step::new(Part::Swift, PACKAGE, Compute, build).after(PROGRAMS),
        Step::new(Part::Swift, "Swift Testing", Wait, run).after(PACKAGE),
        Step::new(Part::Swift, SANITIZER, Compute, build_sanitized).after(PACKAGE),
        Step::new(Part::Swift, "Swift Testing with the thread sanitizer", Wait, sanitized).after(SANITIZER),
        Step::new(Part::Swift, "the Swift documentation", Compute, |_| swift::document()).after(PACKAGE),
    ]
}

/// Runs all tests, and counts them.
fn run(report: &mut Report) -> Result<()> {
    shell::progress("Swift Testing");
    let mut runner = runner(Tests::Plain)?;
    runner.envs(stores().map(|stores| (STORES, stores)));
    let broker = Kafka::start(KafkaVersion::Newest);
    runner.env(BROKER, broker.address());
    count(&mut runner, "", report, |_| ())
}

/// Runs these tests, and many campaigns, under the thread sanitizer. Each data race that the sanitizer reports is a
/// failure.
fn sanitized(report: &mut Report) -> Result<()> {
    shell::progress("Swift Testing with the thread sanitizer");
    let mut races = 0;
    let mut heed = |line: &str| races += u64::from(line.contains("WARNING: ThreadSanitizer"));
    let mut runner = runner(Tests::Sanitized)?;
    runner.env(STORES, "memory");
    for name in SANITIZED {
        runner.args(["--filter", name]);
    }
    count(&mut runner, " (thread sanitizer)", report, &mut heed)?;
    let mut campaigns = program(Tests::Sanitized, "programs")?;
    let end = shell::lines(campaigns.args(["leaks", "2000"]), |line| {
        say!("{line}");
        heed(line);
    })?;
    report.check(Part::Swift, "2,000 campaigns with the thread sanitizer", end);
    report.check(Part::Swift, &format!("{races} data races, see the output"), races == 0);
    Ok(())
}

/// Returns the command of a program of the tests. A program that hangs is ended.
fn program(tests: Tests, name: &str) -> Result<Command> {
    // Starts the program without SwiftPM, which would plan the build once more.
    let mut program = swift::inside_as_one(&swift::package_of_tests(), "timeout")?;
    program.args(["--kill-after=10", "1200"]);
    if tests == Tests::Sanitized {
        // The sanitizer needs fixed addresses for its own memory.
        program.args(["setarch", "--addr-no-randomize"]);
    }
    program.arg(tests.programs().join(name));
    if tests == Tests::Sanitized {
        let known = shell::root().join("bindings/swift/Tests/thread-sanitizer.txt");
        program.env("TSAN_OPTIONS", format!("suppressions={}", known.display()));
    }
    Ok(program)
}

/// The test runner.
fn runner(tests: Tests) -> Result<Command> {
    let mut runner = program(tests, "IncumbentPackageTests.xctest")?;
    runner.args(["--testing-library", "swift-testing"]);
    runner.env("NO_COLOR", "1").env("TERM", "dumb");
    runner.env("INCUMBENT_PROGRAMS", tests.programs());
    runner.env("INCUMBENT_SOURCES", shell::root());
    runner.env("INCUMBENT_CLI", shell::built("incumbent"));
    runner.env("INCUMBENT_HARNESS", shell::built("incumbent-harness"));
    if let Ok(server) = nats_server(NatsVersion::Newest) {
        runner.env(NATS_SERVER, server);
    }
    Ok(runner)
}

/// Runs the test runner, and counts its tests, with `suffix` after their names. Passes all other lines to `heed`.
fn count(runner: &mut Command, suffix: &str, report: &mut Report, mut heed: impl FnMut(&str)) -> Result<()> {
    let mut total = Tally::default();
    let succeeded = shell::lines(runner, |line| {
        let Some((name, passed, took)) = outcome(line) else {
            // The line about the beginning of a test is no result.
            if !line.starts_with('◇') {
                say!("{line}");
                heed(line);
            }
            return;
        };
        if !passed {
            say!("{line}");
        }
        total += Tally::one(passed);
        let failure = (!passed).then_some("see its issues above");
        report.test(Part::Swift, &format!("{name}{suffix}"), failure, Some(took));
    })?;
    // If the runner crashes, or finds no tests, no test counts as failed, so the step fails here.
    if total.passed == 0 || (!succeeded && total.failed == 0) {
        report.check(Part::Swift, &format!("Swift's test runner failed, but no test did{suffix}"), false);
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
