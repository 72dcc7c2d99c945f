//! Counts passed and failed tests.

use std::collections::BTreeMap;
use std::ops::AddAssign;
use std::time::Duration;

use super::Part;
use super::times::Times;
use crate::shell;

/// The numbers of passed and failed tests.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Tally {
    pub(crate) passed: u64,
    pub(crate) failed: u64,
}

impl Tally {
    pub(crate) const PASS: Self = Self { passed: 1, failed: 0 };
    pub(crate) const FAIL: Self = Self { passed: 0, failed: 1 };

    /// The tally of a check that counts as one test.
    pub(crate) fn one(passed: bool) -> Self {
        if passed { Self::PASS } else { Self::FAIL }
    }
}

impl AddAssign for Tally {
    fn add_assign(&mut self, other: Self) {
        self.passed += other.passed;
        self.failed += other.failed;
    }
}

/// The beginning of a failure's message in one line, so that the end of a long log shows the reason.
fn summary(message: &str) -> String {
    const LENGTH: usize = 500;
    let said = message.split("stack backtrace:").next().unwrap_or(message);
    let line = said.split_whitespace().collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(LENGTH) {
        Some((end, _)) => format!("{} …", &line[..end]),
        None => line,
    }
}

/// The tallies of a run, one for each part.
#[derive(Debug)]
pub(crate) struct Report {
    parts: BTreeMap<Part, Tally>,
    failures: Vec<String>,
    /// Notes for a person, which are not about a test.
    notes: Vec<String>,
    pub(crate) times: Times,
}

impl Report {
    pub(crate) fn new(parts: &[Part]) -> Self {
        let parts = parts.iter().map(|part| (*part, Tally::default())).collect();
        Self { parts, failures: Vec::new(), notes: Vec::new(), times: Times::default() }
    }

    pub(crate) fn add(&mut self, part: Part, tally: Tally) {
        *self.parts.entry(part).or_default() += tally;
    }

    /// Names a failure at the end of the run. [`add`](Self::add) counts it.
    pub(crate) fn name_failure(&mut self, part: Part, what: impl AsRef<str>) {
        self.failures.push(format!("{}: {}", part.name(), what.as_ref()));
    }

    /// Adds a line to the end of the run, without failing it.
    pub(crate) fn note(&mut self, part: Part, what: impl AsRef<str>) {
        self.notes.push(format!("{}: {}", part.name(), what.as_ref()));
    }

    /// The notes so far.
    #[cfg(test)]
    pub(super) fn notes(&self) -> &[String] {
        &self.notes
    }

    /// Counts one check, and names it if it failed.
    pub(crate) fn check(&mut self, part: Part, what: &str, passed: bool) {
        self.add(part, Tally::one(passed));
        if !passed {
            self.name_failure(part, what);
        }
    }

    /// Returns true if no test of a part has failed so far.
    pub(crate) fn is_well(&self, part: Part) -> bool {
        self.parts.get(&part).is_none_or(|tally| tally.failed == 0)
    }

    /// Counts one test, and records its duration if that is known. A failed test is named with its message.
    pub(crate) fn test(&mut self, part: Part, name: &str, failure: Option<&str>, took: Option<Duration>) {
        self.add(part, Tally::one(failure.is_none()));
        if let Some(message) = failure {
            self.name_failure(part, format!("{name}: {}", summary(message)));
        }
        if let Some(took) = took {
            self.times.test(part, name, took);
        }
    }

    /// Adds the report of a step.
    pub(crate) fn merge(&mut self, step: Self) {
        step.parts.into_iter().for_each(|(part, tally)| self.add(part, tally));
        self.failures.extend(step.failures);
        self.notes.extend(step.notes);
        self.times.merge(step.times);
    }

    /// Prints the times and the result; the last line is `N passed, N failed`. Returns true if all passed.
    ///
    /// A part in which no test ran counts as failed, because otherwise a filter that matches nothing would pass. So
    /// does a run without any part.
    pub(crate) fn close(mut self, took: Duration) -> bool {
        let idle: Vec<Part> = self
            .parts
            .iter()
            .filter(|(_, tally)| **tally == Tally::default())
            .map(|(part, _)| *part)
            .collect();
        for part in idle {
            self.check(part, "no test ran", false);
        }
        shell::progress(format!("where the time went: {:.0} s in all", took.as_secs_f64()));
        print!("{}", self.times.table());
        let mut total = Tally::default();
        shell::progress("result");
        for (part, tally) in &self.parts {
            println!("{:<9} {:>5} passed {:>5} failed", part.name(), tally.passed, tally.failed);
            total += *tally;
        }
        for note in &self.notes {
            println!("NOTE     {note}");
        }
        for failure in &self.failures {
            println!("FAILED   {failure}");
        }
        println!("{} passed, {} failed", total.passed, total.failed);
        total.failed == 0 && total.passed > 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_is_well_when_every_part_ran_and_nothing_failed() {
        let mut report = Report::new(&[Part::Core, Part::Lint]);
        report.add(Part::Core, Tally { passed: 3, failed: 0 });
        report.check(Part::Lint, "fmt", true);
        assert!(report.close(Duration::ZERO));
    }

    #[test]
    fn a_failure_is_named_with_its_message_in_one_line() {
        let mut report = Report::new(&[Part::Core]);
        report.test(Part::Core, "a", Some("panicked at b.rs:1:\n  left\nstack backtrace:\n 0: main"), None);
        report.test(Part::Core, "c", Some(&"é".repeat(600)), None);
        assert_eq!(report.failures[0], "core: a: panicked at b.rs:1: left");
        assert_eq!(report.failures[1], format!("core: c: {} …", "é".repeat(500)));
    }

    #[test]
    fn a_part_in_which_no_test_ran_fails_the_run() {
        let mut report = Report::new(&[Part::Core, Part::Lint]);
        report.check(Part::Lint, "fmt", true);
        assert!(!report.close(Duration::ZERO));
    }

    #[test]
    fn a_run_without_parts_is_not_well() {
        assert!(!Report::new(&[]).close(Duration::ZERO));
    }

    #[test]
    fn one_failure_fails_the_run() {
        let mut report = Report::new(&[Part::Core]);
        report.add(Part::Core, Tally { passed: 3, failed: 1 });
        assert!(!report.close(Duration::ZERO));
    }
}
