//! Runs many seeds on any number of threads. The result does not depend on that number.

use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc;
use std::thread;

use crate::{Choice, Outcome, Tally, Violation, run};

/// The seeds to run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Seeds {
    first: u64,
    last: u64,
}

impl Seeds {
    /// Returns `count` seeds starting at `first`, or `None` if `count` is zero or more seeds than exist.
    pub fn new(first: u64, count: u64) -> Option<Self> {
        let last = first.checked_add(count.checked_sub(1)?)?;
        Some(Self { first, last })
    }

    /// The first seed.
    pub fn first(self) -> u64 {
        self.first
    }

    /// The number of seeds.
    pub fn count(self) -> u64 {
        (self.last - self.first).saturating_add(1)
    }
}

/// The result of many seeds.
#[derive(Clone, Debug)]
pub struct Summary {
    /// The sum of all runs; if one failed, the sum of that run and those of smaller seeds.
    pub tally: Tally,
    /// The smallest seed that fails, and the invariant that does not hold.
    pub failed: Option<(Choice, Violation)>,
}

/// Runs seeds until one fails, on `jobs` threads.
///
/// `ran` is called with the sum after each run, in the order of the seeds.
pub fn run_seeds(seeds: Seeds, like: &Choice, jobs: NonZeroUsize, ran: impl FnMut(&Tally)) -> Summary {
    run_each(seeds, like, jobs, run, ran)
}

fn run_each(
    seeds: Seeds,
    like: &Choice,
    jobs: NonZeroUsize,
    run: impl Fn(&Choice) -> Outcome + Sync,
    mut ran: impl FnMut(&Tally),
) -> Summary {
    let queue = SeedQueue::new(seeds);
    let mut summary = Summary { tally: Tally::default(), failed: None };
    thread::scope(|scope| {
        let (sender, outcomes) = mpsc::channel();
        for _ in 0..jobs.get() {
            let (sender, queue, run) = (sender.clone(), &queue, &run);
            scope.spawn(move || {
                while let Some(seed) = queue.next() {
                    let outcome = run(&Choice { seed, ..like.clone() });
                    if outcome.violation.is_some() {
                        queue.stop_after(seed);
                    }
                    if sender.send((seed, outcome)).is_err() {
                        return;
                    }
                }
            });
        }
        drop(sender);
        // Runs end in any order, but are counted in the order of their seeds.
        let mut early: BTreeMap<u64, Outcome> = BTreeMap::new();
        let mut next = Some(seeds.first);
        for (seed, outcome) in outcomes {
            early.insert(seed, outcome);
            while let Some((seed, outcome)) = next.and_then(|seed| early.remove_entry(&seed)) {
                summary.tally.add(&outcome.tally);
                ran(&summary.tally);
                next = seed.checked_add(1);
                if let Some(violation) = outcome.violation {
                    summary.failed = Some((Choice { seed, ..like.clone() }, violation));
                    // Larger seeds may still be running; they do not count.
                    return;
                }
            }
        }
    });
    summary
}

/// The seeds that have not been run yet.
struct SeedQueue {
    first: u64,
    taken: AtomicU64,
    last: AtomicU64,
}

impl SeedQueue {
    fn new(seeds: Seeds) -> Self {
        Self { first: seeds.first, taken: AtomicU64::new(0), last: AtomicU64::new(seeds.last) }
    }

    fn next(&self) -> Option<u64> {
        let seed = self.first.checked_add(self.taken.fetch_add(1, Ordering::Relaxed))?;
        (seed <= self.last.load(Ordering::Relaxed)).then_some(seed)
    }

    /// Begins no seed above this one from now on.
    fn stop_after(&self, seed: u64) {
        self.last.fetch_min(seed, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Barrier;
    use std::time::Duration;

    use super::*;
    use crate::clock::START;

    fn jobs(count: usize) -> NonZeroUsize {
        NonZeroUsize::new(count).unwrap_or(NonZeroUsize::MIN)
    }

    fn outcome(seeds: Seeds, count: usize) -> Summary {
        run_seeds(seeds, &Choice::of_seed(0), jobs(count), |_| ())
    }

    #[test]
    fn the_number_of_jobs_changes_nothing() {
        let seeds = Seeds::new(40, 12).unwrap_or(Seeds { first: 0, last: 0 });
        let alone = outcome(seeds, 1);
        assert_eq!(alone.tally.runs, 12);
        assert_eq!(outcome(seeds, 7).tally, alone.tally);
    }

    #[test]
    fn the_smallest_seed_that_fails_is_reported_whichever_fails_first() {
        let seeds = Seeds { first: 0, last: 99 };
        for count in [1, 2, 8] {
            let slow = Barrier::new(count);
            let run = |choice: &Choice| {
                // All threads begin together, and the last of the first `count` seeds fails first.
                if choice.seed < count as u64 {
                    slow.wait();
                    thread::sleep(Duration::from_millis(5 * (count as u64 - choice.seed)));
                }
                let fails = [1, 3, 7, 50].contains(&choice.seed);
                let violation = fails.then(|| Violation::of_contract(START, format!("of {}", choice.seed)));
                let mut tally = Tally::default();
                (tally.runs, tally.terms) = (1, choice.seed);
                Outcome { tally, violation }
            };
            let summary = run_each(seeds, &Choice::of_seed(0), jobs(count), run, |_| ());
            let failed = summary.failed.map(|(choice, violation)| (choice.seed, violation.says));
            assert_eq!(failed, Some((1, "of 1".to_string())), "{count} jobs");
            assert_eq!((summary.tally.runs, summary.tally.terms), (2, 1), "{count} jobs");
        }
    }

    #[test]
    fn seeds_are_as_many_as_asked_for_or_none() {
        assert_eq!(Seeds::new(7, 0), None);
        assert_eq!(Seeds::new(7, 1), Some(Seeds { first: 7, last: 7 }));
        assert_eq!(Seeds::new(u64::MAX, 1).map(Seeds::count), Some(1));
        assert_eq!(Seeds::new(u64::MAX, 2), None);
    }

    #[test]
    fn the_last_seed_there_is_can_be_run() {
        let last = Seeds { first: u64::MAX, last: u64::MAX };
        assert_eq!(outcome(last, 2).tally.runs, 1);
    }

    #[test]
    fn every_sum_is_reported_in_the_order_of_the_seeds() {
        let mut seen = Vec::new();
        let seeds = Seeds { first: 3, last: 8 };
        run_seeds(seeds, &Choice::of_seed(0), jobs(3), |tally| seen.push(tally.clone()));
        let mut sum = Tally::default();
        for (seed, seen) in (3..).zip(&seen) {
            sum.add(&run(&Choice::of_seed(seed)).tally);
            assert_eq!(*seen, sum);
        }
        assert_eq!(seen.len(), 6);
    }
}
