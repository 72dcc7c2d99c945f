//! The faults so far in a run. An excuse or a longer bound applies only because of faults that happened, not because of
//! faults that the seed might have drawn.

use std::time::Duration;

use incumbent_core::Instant;

use crate::kind::Kind;
use crate::plan::{CLOCK_STEP, Plan};

#[derive(Debug)]
pub(crate) struct Happened {
    /// For each kind, the time until which it was last active; [`Instant::NEVER`] while it is active.
    last: [Option<Instant>; Kind::ALL.len()],
    /// The longest maximum age that the bucket had.
    longest_age: Duration,
    /// The largest error of a server's clock after it was set.
    stepped: Duration,
}

impl Happened {
    /// Nothing happened yet.
    pub(crate) fn new(plan: &Plan) -> Self {
        Self { last: [None; Kind::ALL.len()], longest_age: plan.max_age, stepped: Duration::ZERO }
    }

    /// Assumes that everything that may happen does happen, and lasts until the end. A bound computed from this holds
    /// in every run of the plan.
    pub(crate) fn most(plan: &Plan) -> Self {
        let mut all = Self::new(plan);
        plan.kinds.iter().for_each(|kind| all.begins(*kind));
        all.longest_age = plan.longest_age();
        all.stepped = CLOCK_STEP;
        all
    }

    pub(crate) fn begins(&mut self, kind: Kind) {
        self.last[kind as usize] = Some(Instant::NEVER);
    }

    /// Notes that the last active fault of this kind ends.
    pub(crate) fn ends(&mut self, now: Instant, kind: Kind) {
        self.last[kind as usize] = Some(now);
    }

    /// Notes that the bucket has this maximum age.
    pub(crate) fn aged(&mut self, max_age: Duration) {
        self.longest_age = self.longest_age.max(max_age);
    }

    /// Notes that a server's clock was set, and is wrong by `wrong`.
    pub(crate) fn steps(&mut self, wrong: Duration) {
        self.stepped = self.stepped.max(wrong);
    }

    /// Whether there was a fault of a kind.
    pub(crate) fn ever(&self, kind: Kind) -> bool {
        self.last[kind as usize].is_some()
    }

    /// Whether a fault of a kind is active, or ended less than `within` ago.
    pub(crate) fn lately(&self, kind: Kind, now: Instant, within: Duration) -> bool {
        self.last[kind as usize].is_some_and(|last| now < last || now.since(last) < within)
    }

    pub(crate) fn longest_age(&self) -> Duration {
        self.longest_age
    }

    /// The largest error of a server's clock after it was set.
    pub(crate) fn stepped(&self) -> Duration {
        self.stepped
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::START;
    use crate::plan::Choice;

    #[test]
    fn a_fault_counts_while_it_lasts_and_for_the_given_time_after_it() {
        let mut happened = Happened::new(&Plan::new(&Choice::of_seed(5)));
        let within = Duration::from_secs(12);
        assert!(!happened.ever(Kind::Delay) && !happened.lately(Kind::Delay, START, within));
        happened.begins(Kind::Delay);
        assert!(happened.lately(Kind::Delay, START + within * 100, Duration::ZERO));
        happened.ends(START, Kind::Delay);
        let over = START + within;
        assert!(happened.lately(Kind::Delay, over.before(Duration::from_nanos(1)), within));
        assert!(!happened.lately(Kind::Delay, over, within));
        assert!(happened.ever(Kind::Delay) && !happened.ever(Kind::SlowCommit));
    }

    #[test]
    fn the_longest_maximum_age_stays_when_the_age_is_lowered_again() {
        let plan = Plan::new(&Choice::of_seed(5));
        let mut happened = Happened::new(&plan);
        happened.aged(plan.max_age * 3);
        happened.aged(plan.max_age);
        assert_eq!(happened.longest_age(), plan.max_age * 3);
    }
}
