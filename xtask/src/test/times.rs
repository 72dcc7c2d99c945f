//! The times of a run: the elapsed and the processor time of its steps, and the slowest tests. If the machine does
//! other work too, only the processor time can be compared with another run's.

use std::fmt::Write as _;
use std::time::Duration;

use super::Part;

/// The number of the slowest tests that are shown.
const SLOWEST: usize = 10;

/// The measurements of a run.
#[derive(Debug, Default)]
pub(crate) struct Times {
    steps: Vec<(Duration, Duration, String)>,
    tests: Vec<(Duration, String)>,
}

impl Times {
    /// Records the time of a step, and the processor time of the programs that it ran.
    pub(crate) fn step(&mut self, name: &str, took: Duration, cpu: Duration) {
        self.steps.push((took, cpu, name.to_owned()));
    }

    /// Records the time of a test.
    pub(crate) fn test(&mut self, part: Part, name: &str, took: Duration) {
        self.tests.push((took, format!("{:<9} {name}", part.name())));
    }

    /// Adds the measurements of a step.
    pub(crate) fn merge(&mut self, step: Self) {
        self.steps.extend(step.steps);
        self.tests.extend(step.tests);
    }

    /// The table for the end of a run, the slowest steps and tests first. Steps run at the same time, so their seconds
    /// add up to more than the run's.
    pub(crate) fn table(mut self) -> String {
        let mut table = format!("{:>7} {:>7}\n", "seconds", "cpu");
        self.steps.sort_by(|one, other| other.cmp(one));
        for (took, cpu, name) in &self.steps {
            let _ = writeln!(table, "{:>7.1} {:>7.1}  {name}", took.as_secs_f64(), cpu.as_secs_f64());
        }
        self.tests.sort_by(|one, other| other.cmp(one));
        let _ = writeln!(table, "the slowest tests, in seconds");
        for (took, name) in self.tests.iter().take(SLOWEST) {
            let _ = writeln!(table, "{:>7.1}  {name}", took.as_secs_f64());
        }
        table
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn s(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    #[test]
    fn the_table_has_the_slowest_steps_and_tests_first() {
        let mut step = Times::default();
        step.test(Part::Core, "quick", s(1));
        step.test(Part::Core, "slow", s(3));
        let mut times = Times::default();
        times.step("format", s(4), s(2));
        times.step("build the Rust tests", s(100), s(180));
        times.merge(step);
        let expected = "\
seconds     cpu
  100.0   180.0  build the Rust tests
    4.0     2.0  format
the slowest tests, in seconds
    3.0  core      slow
    1.0  core      quick
";
        assert_eq!(times.table(), expected);
    }

    #[test]
    fn no_more_than_ten_tests_are_shown() {
        let mut times = Times::default();
        (0..20).for_each(|n| times.test(Part::Sim, "a", s(n)));
        assert_eq!(times.table().lines().count(), 2 + SLOWEST);
    }
}
