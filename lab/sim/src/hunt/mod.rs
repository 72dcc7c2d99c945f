//! The hunt: runs fresh seeds on every core, until a number of runs or a time is reached.
//!
//! ```text
//!   schedule ── the runs in their order, all from one seed; pairs ── which kinds of faults met, and how often
//!   report ── the results of the runs, for people and for machines
//!   red ── a failed run, as a file that the tests replay
//! ```
//!
//! The schedule depends neither on the results of the runs nor on the number of threads: the same first seed gives the
//! same runs, and a limit only ends them.

mod pairs;
mod red;
mod report;
mod schedule;

use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use crate::plan::Choice;
use crate::shrink::shrink_by;
use crate::{Outcome, run};
pub use pairs::Pairs;
pub use red::Red;
pub use report::{Finding, OfStore, Report};
pub use schedule::{Schedule, Wanted};

/// The number of findings of one invariant on one store that are shrunk and filed. Further ones are probably the same.
const OF_EACH: usize = 3;

/// The interval at which the observer is shown the progress of the hunt.
const TICK: Duration = Duration::from_millis(500);

/// The limits of a hunt. It ends when the first of them is reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// The number of runs.
    pub runs: Option<u64>,
    /// The time.
    pub time: Option<Duration>,
}

/// The calls that a hunt makes to its caller.
pub trait Observer {
    /// Returns true if the hunt should end now. Then no run is made or shrunk any more.
    fn is_over(&self) -> bool;
    /// Called every half a second, and at the end of the last run.
    fn shows(&mut self, report: &Report);
    /// Called when a run failed.
    fn found(&mut self, finding: &Finding);
    /// Called before findings are shrunk.
    fn shrinks(&mut self, _findings: usize) {}
}

/// Hunts on `jobs` threads, then shrinks failures: the first three findings of each invariant and store.
pub fn hunt(
    wanted: &Wanted,
    limits: Limits,
    jobs: NonZeroUsize,
    observer: &mut (impl Observer + Sync),
) -> Report {
    hunt_by(wanted, limits, jobs, observer, &run)
}

fn hunt_by(
    wanted: &Wanted,
    limits: Limits,
    jobs: NonZeroUsize,
    observer: &mut (impl Observer + Sync),
    run: &(impl Fn(&Choice) -> Outcome + Sync),
) -> Report {
    let mut report = Report::new(wanted);
    search(&mut report, wanted, limits, jobs, observer, run);
    // They ended in any order.
    report.findings.sort_by_key(|finding| finding.number);
    let mut of_each: BTreeMap<_, usize> = BTreeMap::new();
    let mut chosen: Vec<_> = report.findings.iter_mut().collect();
    chosen.retain(|finding| {
        let count = of_each.entry((finding.choice.store.name(), finding.violation.invariant)).or_default();
        *count += 1;
        *count <= OF_EACH
    });
    if !observer.is_over() && !chosen.is_empty() {
        observer.shrinks(chosen.len());
    }
    let waiting = Mutex::new(chosen);
    let observer = &*observer;
    thread::scope(|scope| {
        for _ in 0..jobs.get() {
            scope.spawn(|| {
                loop {
                    let next = waiting.lock().unwrap_or_else(PoisonError::into_inner).pop();
                    let Some(finding) = next else { return };
                    finding.shrunk = Some(if observer.is_over() {
                        (finding.choice.clone(), finding.violation.clone())
                    } else {
                        shrink_by(&finding.choice, &finding.violation, run)
                    });
                }
            });
        }
    });
    report
}

/// Makes the runs of the schedule.
fn search(
    report: &mut Report,
    wanted: &Wanted,
    limits: Limits,
    jobs: NonZeroUsize,
    observer: &mut (impl Observer + Sync),
    run: &(impl Fn(&Choice) -> Outcome + Sync),
) {
    let begin = Instant::now();
    let schedule = Mutex::new(Schedule::new(wanted).enumerate());
    let next = || {
        let over = limits.time.is_some_and(|time| begin.elapsed() >= time);
        let mut schedule = schedule.lock().unwrap_or_else(PoisonError::into_inner);
        if over { None } else { schedule.next() }
    };
    let is_over = AtomicBool::new(false);
    thread::scope(|scope| {
        let (sender, outcomes) = mpsc::channel();
        for _ in 0..jobs.get() {
            let (sender, next, is_over) = (sender.clone(), &next, &is_over);
            scope.spawn(move || {
                while let Some((number, choice)) = next() {
                    let past = limits.runs.is_some_and(|runs| number as u64 >= runs);
                    if past || is_over.load(Ordering::Relaxed) {
                        return;
                    }
                    let outcome = run(&choice);
                    if sender.send((number as u64, choice, outcome)).is_err() {
                        return;
                    }
                }
            });
        }
        drop(sender);
        let mut shown = begin;
        loop {
            match outcomes.recv_timeout(TICK) {
                Ok((number, choice, Outcome { tally, violation })) => {
                    report.ran(&choice, &tally);
                    if let Some(violation) = violation {
                        let finding = Finding { number, choice, violation, shrunk: None };
                        observer.found(&finding);
                        report.findings.push(finding);
                    }
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => break,
            }
            if observer.is_over() {
                is_over.store(true, Ordering::Relaxed);
            }
            report.took = begin.elapsed();
            if shown.elapsed() >= TICK {
                shown = Instant::now();
                observer.shows(report);
            }
        }
        report.took = begin.elapsed();
        observer.shows(report);
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kind::{Kind, Store};
    use crate::{Tally, Violation};

    /// An observer that only ends a hunt, after this many findings.
    struct Silent {
        found: usize,
        ends_after: usize,
    }

    impl Observer for Silent {
        fn is_over(&self) -> bool {
            self.found >= self.ends_after
        }

        fn shows(&mut self, _: &Report) {}

        fn found(&mut self, _: &Finding) {
            self.found += 1;
        }
    }

    fn wanted(faults: &[Kind]) -> Wanted {
        let faults = Some(faults.to_vec());
        Wanted { seed: 100, stores: vec![Store::Nats], faults, peers: Some(0) }
    }

    fn hunted(wanted: &Wanted, runs: u64, jobs: usize, run: impl Fn(&Choice) -> Outcome + Sync) -> Report {
        let limits = Limits { runs: Some(runs), time: None };
        let jobs = NonZeroUsize::new(jobs).unwrap();
        hunt_by(wanted, limits, jobs, &mut Silent { found: 0, ends_after: usize::MAX }, &run)
    }

    /// Makes a run with an oracle that excuses nothing: two leaders at once are a violation.
    fn without_excuses(choice: &Choice) -> Outcome {
        let mut outcome = run(choice);
        if outcome.violation.is_none() && outcome.tally.overlaps > 0 {
            let mut violation = Violation::of_contract(crate::clock::START, "two lead at once".into());
            violation.invariant = "I1";
            outcome.violation = Some(violation);
        }
        outcome
    }

    #[test]
    fn a_violation_is_found_shrunk_and_written_as_a_file_that_replays_it() {
        let report = hunted(&wanted(&[Kind::Freeze, Kind::Loss, Kind::Resign]), 12, 2, without_excuses);
        let finding = report.findings.first().unwrap();
        let red = Red::read(&Red::of(finding).to_string()).unwrap();
        assert_eq!(red.invariant, "I1");
        assert!(red.file_name().starts_with("nats-i1-1"), "{}", red.file_name());
        assert!(without_excuses(&red.choice).violation.is_some_and(|found| found.invariant == "I1"));
        let left = crate::Script::of(&red.choice).faults;
        assert_eq!(left.iter().map(|fault| fault.kind).collect::<Vec<_>>(), [Kind::Freeze]);
        assert_eq!(red.choice.candidates, 2);
    }

    fn one_run() -> Tally {
        let mut tally = Tally::default();
        tally.runs = 1;
        tally
    }

    /// Returns a failure for every third seed, without making a run.
    fn every_third(choice: &Choice) -> Outcome {
        let mut tally = one_run();
        tally.faults[Kind::Loss as usize] = choice.seed;
        let failed = choice.seed.is_multiple_of(3);
        let violation = failed.then(|| Violation::of_contract(crate::clock::START, "planted".into()));
        Outcome { tally, violation }
    }

    #[test]
    fn the_number_of_jobs_changes_nothing() {
        let of = |jobs| {
            let report = hunted(&wanted(&[Kind::Loss, Kind::Cut, Kind::Pause]), 40, jobs, every_third);
            assert_eq!(report.runs(), 40);
            (report.findings, report.stores[0].tally.clone())
        };
        assert_eq!(of(1), of(5));
    }

    #[test]
    fn three_findings_of_one_invariant_are_shrunk_and_all_are_listed() {
        let report = hunted(&wanted(&[Kind::Loss, Kind::Cut, Kind::Pause]), 40, 3, every_third);
        let listed: Vec<_> = report.findings.iter().map(|finding| finding.choice.seed).collect();
        assert_eq!(listed, (100..140).filter(|seed| seed % 3 == 0).collect::<Vec<_>>());
        let shrunk: Vec<_> = report.findings.iter().map(|finding| finding.shrunk.is_some()).collect();
        assert_eq!(shrunk.iter().position(|shrunk| !shrunk), Some(OF_EACH));
        assert_eq!(shrunk.iter().filter(|shrunk| **shrunk).count(), OF_EACH);
    }

    #[test]
    fn a_hunt_that_is_interrupted_keeps_what_it_found_as_it_is() {
        let limits = Limits { runs: None, time: None };
        let mut observer = Silent { found: 0, ends_after: 1 };
        let wanted = wanted(&[Kind::Loss, Kind::Cut, Kind::Pause]);
        let report = hunt_by(&wanted, limits, NonZeroUsize::MIN, &mut observer, &every_third);
        let finding = &report.findings[0];
        assert_eq!(finding.shrunk, Some((finding.choice.clone(), finding.violation.clone())));
    }

    #[test]
    fn a_limit_of_time_ends_the_same_schedule_earlier() {
        let seen = Mutex::new(Vec::new());
        let run = |choice: &Choice| {
            seen.lock().unwrap().push(choice.clone());
            Outcome { tally: one_run(), violation: None }
        };
        let limits = Limits { runs: None, time: Some(Duration::from_millis(20)) };
        let wanted = Wanted { faults: None, ..wanted(&[]) };
        let mut observer = Silent { found: 0, ends_after: usize::MAX };
        let report = hunt_by(&wanted, limits, NonZeroUsize::MIN, &mut observer, &run);
        let seen = seen.into_inner().unwrap();
        assert_eq!(report.runs(), seen.len() as u64);
        assert!(!seen.is_empty());
        assert_eq!(seen, Schedule::new(&wanted).take(seen.len()).collect::<Vec<_>>());
    }
}
