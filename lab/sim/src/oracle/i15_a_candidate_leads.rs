//! I15.

use std::time::Duration;

use incumbent_core::Instant;
use incumbent_core::candidacy::Rule;

use super::Oracle;
use super::known::Resting;
use crate::clock::START;
use crate::happened::Happened;
use crate::kind::{Kind, Store};
use crate::observation::{Observation, Seen, View};
use crate::plan::Plan;

/// The time allowed for candidates or servers that start late. The store elects a leader within a second. A process
/// asks the store at most two seconds after the last failure, waits for a random time of up to a second, and may lose a
/// race.
const COMING: Duration = Duration::from_secs(5);

/// Checks the quiet phase, in which a candidate leads within the worst fail-over time and then keeps leading.
///
/// The bound is the one that `incumbent doctor` prints for the settings ([`Plan::forecast`]), plus
/// - the hundredth by which clocks may be slow, because every wait is by some candidate's own clock;
/// - the user's settings, which are a win delay and a wait after a failure;
/// - [`COMING`];
/// - delays that remain after recent faults: twelve seconds for a message, eight for a write, and clocks that were set
///   back;
/// - the same bound again if the store was recently recreated or went back, or a watch lost what it should have
///   delivered. Candidates notice that when the record that they remember should be over, and wait from then on;
/// - the worst fail-over time and a probe, if every candidate rests because none could prove what it held. Their rests
///   are over once no candidate has claimed the election for that long.
#[derive(Debug)]
pub(crate) struct ACandidateLeads {
    until: Vec<Option<Instant>>,
    /// The number of candidates of the Go library that lead.
    peers: usize,
    quiet: Option<Instant>,
    /// The longest time without a leader.
    most: Duration,
    /// When the present vacancy began.
    vacant: Instant,
    /// Whether every candidate rested at some time during the vacancy.
    rested: bool,
    /// When the store was last recreated, or was last reported to have gone back.
    reset: Instant,
    resting: Resting,
}

impl ACandidateLeads {
    pub(super) fn new(count: usize) -> Self {
        Self {
            resting: Resting::new(count),
            until: vec![None; count],
            peers: 0,
            quiet: None,
            most: Duration::MAX,
            vacant: Instant::ZERO,
            rested: false,
            reset: Instant::ZERO,
        }
    }

    /// Returns the bound after the faults that happened, for a store that has not changed for a long time.
    pub(crate) fn usual(plan: &Plan, happened: &Happened, now: Instant) -> Duration {
        let left = |kind, within| if happened.lately(kind, now, within) { within } else { Duration::ZERO };
        let late = left(Kind::Delay, Duration::from_secs(12));
        let slow = left(Kind::SlowCommit, Duration::from_secs(8));
        // If a server's clock was set back, a record that was written before that expires later by the same time.
        let lives = happened.longest_age() + happened.stepped();
        let stepped = left(Kind::ClockStep, lives).min(happened.stepped());
        // Other software reports its win when its first update is due.
        let has_peers = plan.choice.store == Store::Nats && plan.choice.peers > 0;
        let foreign = if has_peers { plan.max_age * 3 / 4 + COMING } else { Duration::ZERO };
        plan.forecast(happened) * 101 / 100
            + plan.delay()
            + plan.backoff()
            + COMING
            + late
            + slow
            + stepped
            + foreign
    }

    /// The bound at most.
    pub(crate) fn worst(plan: &Plan) -> Duration {
        Self::worst_after(plan, &Happened::most(plan), START)
    }

    fn worst_after(plan: &Plan, happened: &Happened, now: Instant) -> Duration {
        Self::usual(plan, happened, now) + plan.forecast(happened) * 101 / 100
    }

    /// Returns when the rests of all candidates are over.
    fn rest(plan: &Plan, happened: &Happened) -> Duration {
        let unclaimed = match plan.choice.store {
            Store::Kafka => crate::kafka::unclaimed(plan),
            Store::Nats | Store::Etcd => plan.forecast(happened),
        };
        unclaimed * 101 / 100 + plan.lease / 3 + COMING
    }
}

impl<R: Rule> Oracle<R> for ACandidateLeads {
    fn states(&self) -> (&'static str, &'static str) {
        (
            "I15",
            "With the store healthy and a candidate running, a candidate leads within the worst fail-over.",
        )
    }

    fn sees(&self) -> &'static [Seen] {
        &[
            Seen::Begins,
            Seen::Ends,
            Seen::Handled,
            Seen::Reported,
            Seen::Clock,
            Seen::Peer,
            Seen::Remade,
            Seen::WentBack,
            Seen::Accepted,
            Seen::Quiet,
            Seen::Over,
        ]
    }

    fn observe(&mut self, view: &View<'_>, observation: &Observation<'_, R>) -> Result<(), String> {
        self.resting.observe(view.now, observation);
        // A vacancy begins at the deadline of the last leader, or earlier if the term ends earlier.
        if let Some(led) = self.until.iter().flatten().max() {
            self.vacant = self.vacant.max(view.now.min(*led));
        }
        match observation {
            Observation::Quiet | Observation::Accepted => {
                self.quiet = Some(view.now);
                self.vacant = view.now;
                let happened = &view.promises.happened;
                let forecast = view.plan.forecast(happened);
                let was_reset = view.now.before(forecast * 2) < self.reset;
                let was_silent = happened.lately(Kind::SilentWatch, view.now, forecast);
                let bound = if was_reset || was_silent { Self::worst_after } else { Self::usual };
                self.most = bound(view.plan, happened, view.now);
            }
            Observation::Remade { .. } => {
                self.reset = view.now;
                self.most = Self::worst_after(view.plan, &view.promises.happened, view.now);
            }
            Observation::WentBack => self.reset = view.now,
            Observation::Handled { node, until, .. } | Observation::Clock { node, until } => {
                self.until[*node] = *until
            }
            Observation::Ends { node } => self.until[*node] = None,
            Observation::Peer { leads: true, .. } => self.peers += 1,
            Observation::Peer { leads: false, .. } => {
                self.peers -= 1;
                self.vacant = view.now;
            }
            Observation::Over => {}
            _ => return Ok(()),
        }
        let Some(quiet) = self.quiet else { return Ok(()) };
        if self.peers > 0 || self.until.iter().flatten().any(|until| *until > view.now) {
            (self.vacant, self.rested) = (view.now, false);
        }
        self.rested |= self.resting.all(view.now);
        let rest = || Self::rest(view.plan, &view.promises.happened);
        let most = self.most + if self.rested { rest() } else { Duration::ZERO };
        let vacant = view.now.since(self.vacant.max(quiet));
        if vacant > most {
            return Err(format!(
                "no candidate has led for {vacant:?} without faults; the forecast is {most:?}"
            ));
        }
        if matches!(observation, Observation::Over) && view.plan.choice.peers == 0 && vacant > Duration::ZERO
        {
            return Err(format!("no candidate leads at the end, and none has for {vacant:?}"));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use incumbent_core::campaign::KeyLease;
    use incumbent_core::{Incarnation, Instant};

    use super::*;
    use crate::plan::Choice;
    use crate::promise::Promises;

    fn observe(
        oracle: &mut ACandidateLeads,
        plan: &Plan,
        now: Instant,
        observation: &Observation<'_>,
    ) -> Result<(), String> {
        let promises = Promises::new(plan);
        let (incarnation, made, never_used) = (Incarnation(1), START, false);
        let view = View { now, plan, promises: &promises, incarnation, made, never_used };
        Oracle::<KeyLease>::observe(oracle, &view, observation)
    }

    #[test]
    fn a_vacancy_in_which_every_candidate_rests_is_over_when_their_rests_must_be() {
        let plan = Plan::new(&Choice { candidates: 1, ..Choice::of_seed(5) });
        let happened = Happened::new(&plan);
        let usual = ACandidateLeads::usual(&plan, &happened, START);
        let rest = ACandidateLeads::rest(&plan, &happened);
        for (rests, most) in [(false, usual), (true, usual + rest)] {
            let mut oracle = ACandidateLeads::new(1);
            if rests {
                oracle.resting.rest(0, Instant::NEVER);
            }
            observe(&mut oracle, &plan, START, &Observation::Quiet).unwrap();
            let clock = Observation::Clock { node: 0, until: None };
            observe(&mut oracle, &plan, START + most, &clock).unwrap();
            let late = observe(&mut oracle, &plan, START + most + Duration::from_millis(1), &clock);
            assert!(late.unwrap_err().contains(&format!("the forecast is {most:?}")));
        }
    }

    #[test]
    fn messages_are_late_after_the_faults_where_a_fault_delayed_some_shortly_before() {
        let plan = Plan::new(&Choice { faults: Some(vec![Kind::Delay]), ..Choice::of_seed(5) });
        let mut happened = Happened::new(&plan);
        let usual = |happened: &Happened, now| ACandidateLeads::usual(&plan, happened, now);
        let without = usual(&happened, START);
        happened.begins(Kind::Delay);
        assert_eq!(usual(&happened, START), without + Duration::from_secs(12));
        happened.ends(START, Kind::Delay);
        assert_eq!(usual(&happened, START + Duration::from_secs(12)), without);
    }
}
