//! The times of a run: the seconds of each part by the clock and by the processors, and the slowest tests. Beside other
//! work only the processor time can be compared with another run's.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::time::Duration;

use super::Part;

/// The number of the slowest tests shown.
const SLOWEST: usize = 10;

/// The phase of a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Phase {
    /// It builds what is tested.
    Build,
    /// It tests.
    Run,
}

/// The measurements of a run, in time since it began.
#[derive(Debug, Default)]
pub(crate) struct Times {
    spans: BTreeMap<(Part, Phase), Vec<(Duration, Duration)>>,
    cpu: BTreeMap<Part, Duration>,
    shared: Vec<(String, Duration, Duration)>,
    tests: Vec<(Duration, String)>,
}

impl Times {
    /// Records that a part was at work between these times.
    pub(crate) fn span(&mut self, part: Part, phase: Phase, from: Duration, to: Duration) {
        self.spans.entry((part, phase)).or_default().push((from, to));
    }

    /// Records the processor time of a step of a part.
    pub(crate) fn cpu(&mut self, part: Part, cpu: Duration) {
        *self.cpu.entry(part).or_default() += cpu;
    }

    /// Records the time of a step that serves several parts.
    pub(crate) fn shared(&mut self, name: &str, took: Duration, cpu: Duration) {
        self.shared.push((name.to_owned(), took, cpu));
    }

    /// Records the time of a test.
    pub(crate) fn test(&mut self, part: Part, name: &str, took: Duration) {
        self.tests.push((took, format!("{:<9} {name}", part.name())));
    }

    /// Adds the measurements of a step that began at `offset`.
    pub(crate) fn merge(&mut self, step: Self, offset: Duration) {
        for (key, spans) in step.spans {
            let spans = spans.into_iter().map(|(from, to)| (from + offset, to + offset));
            self.spans.entry(key).or_default().extend(spans);
        }
        step.cpu.into_iter().for_each(|(part, cpu)| self.cpu(part, cpu));
        self.shared.extend(step.shared);
        self.tests.extend(step.tests);
    }

    /// The table for the end of a run. Parts run at the same time, so their seconds add up to more than the run's.
    pub(crate) fn table(mut self, parts: impl Iterator<Item = Part>) -> String {
        let mut table = format!("{:<9} {:>7} {:>7} {:>7}\n", "seconds", "build", "run", "cpu");
        for part in parts {
            let build = covered(self.spans.remove(&(part, Phase::Build)).unwrap_or_default());
            let run = covered(self.spans.remove(&(part, Phase::Run)).unwrap_or_default());
            let cpu = self.cpu.remove(&part).unwrap_or_default();
            let _ = writeln!(
                table,
                "{:<9} {:>7} {:>7} {:>7}",
                part.name(),
                seconds(build),
                seconds(run),
                seconds(cpu)
            );
        }
        for (name, took, cpu) in &self.shared {
            let _ = writeln!(table, "{:>17}         {:>7}  {name}", seconds(*took), seconds(*cpu));
        }
        self.tests.sort_by(|one, other| other.cmp(one));
        let _ = writeln!(table, "the slowest tests, in seconds");
        for (took, name) in self.tests.iter().take(SLOWEST) {
            let _ = writeln!(table, "{:>7.1}  {name}", took.as_secs_f64());
        }
        table
    }
}

fn seconds(time: Duration) -> String {
    if time.is_zero() { "-".into() } else { format!("{:.0}", time.as_secs_f64()) }
}

/// The time covered by at least one of the spans: overlaps count once.
fn covered(mut spans: Vec<(Duration, Duration)>) -> Duration {
    spans.sort();
    let (mut total, mut end) = (Duration::ZERO, Duration::ZERO);
    for (from, to) in spans {
        total += to.saturating_sub(from.max(end));
        end = end.max(to);
    }
    total
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn s(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    #[test]
    fn spans_that_overlap_count_once() {
        assert_eq!(covered(vec![]), s(0));
        assert_eq!(covered(vec![(s(5), s(9)), (s(0), s(2)), (s(1), s(3)), (s(6), s(7))]), s(7));
    }

    #[test]
    fn the_table_has_the_seconds_of_each_part_and_the_slowest_tests_first() {
        let mut step = Times::default();
        step.span(Part::Core, Phase::Run, s(0), s(4));
        step.cpu(Part::Core, s(3));
        step.test(Part::Core, "quick", s(1));
        step.test(Part::Core, "slow", s(3));
        let mut times = Times::default();
        times.span(Part::Core, Phase::Build, s(0), s(30));
        times.span(Part::Core, Phase::Run, s(40), s(42));
        times.shared("build the Rust tests", s(100), s(180));
        times.cpu(Part::Core, s(1));
        times.merge(step, s(41));
        let expected = "\
seconds     build     run     cpu
core           30       5       4
lint            -       -       -
              100             180  build the Rust tests
the slowest tests, in seconds
    3.0  core      slow
    1.0  core      quick
";
        assert_eq!(times.table([Part::Core, Part::Lint].into_iter()), expected);
    }

    #[test]
    fn no_more_than_ten_tests_are_shown() {
        let mut times = Times::default();
        (0..20).for_each(|n| times.test(Part::Sim, "a", s(n)));
        assert_eq!(times.table([].into_iter()).lines().count(), 2 + SLOWEST);
    }
}
