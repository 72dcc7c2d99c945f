//! I15.

use std::time::Duration;

use incumbent_core::Instant;

use super::Oracle;
use super::known::Resting;
use crate::kind::Kind;
use crate::observation::{Observation, Observed, View};
use crate::plan::{CLOCK_STEP, Plan};

/// Time for candidates that start late, or whose servers do: the store elects a leader within a second, a process
/// asks it at most two seconds after the last failure, waits a random second, and may lose a race.
const COMING: Duration = Duration::from_secs(5);

/// Checks the quiet phase: a candidate leads within the worst fail-over, and goes on leading.
///
/// The bound is the one that `incumbent doctor` prints for the settings ([`Plan::forecast`]), and beside it
/// - the hundredth by which clocks may be slow, as every wait is by some candidate's own clock;
/// - the user's settings: a win delay, and a wait after a failure;
/// - [`COMING`];
/// - the delays left when the faults end: a message for twelve seconds, a write for eight, a clock set back by ten,
///   where the run has such;
/// - where the store was made again shortly before, or went back, the same once more: candidates notice that when
///   the record they remember should be over, and wait from then.
///
/// The time in which every candidate rests, as each could not prove what it held, does not count: a rest is bounded where
/// no one else claims the election.
pub(crate) struct ACandidateLeads {
    until: Vec<Option<Instant>>,
    /// The number of leading candidates of the Go library.
    peers: usize,
    quiet: Option<Instant>,
    /// The longest time without a leader.
    most: Duration,
    /// The beginning of the present vacancy.
    vacant: Instant,
    /// The last time at which the store was made again, or reported to have gone back.
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
            reset: Instant::ZERO,
        }
    }

    /// The bound in a store that was unchanged for long.
    pub(crate) fn usual(plan: &Plan) -> Duration {
        let late = if plan.has(Kind::Delay) { Duration::from_secs(12) } else { Duration::ZERO };
        let slow = if plan.has(Kind::SlowCommit) { Duration::from_secs(8) } else { Duration::ZERO };
        // A record written before a server's clock was set back expires that much later.
        let stepped = if plan.has(Kind::ClockStep) { CLOCK_STEP } else { Duration::ZERO };
        plan.forecast() * 101 / 100 + plan.delay() + plan.backoff() + COMING + late + slow + stepped
    }

    /// The bound at most.
    pub(crate) fn worst(plan: &Plan) -> Duration {
        Self::usual(plan) + plan.forecast() * 101 / 100
    }
}

impl<C: Observed> Oracle<C> for ACandidateLeads {
    fn states(&self) -> (&'static str, &'static str) {
        (
            "I15",
            "With the store healthy and a candidate running, a candidate leads within the worst fail-over.",
        )
    }

    fn observe(&mut self, view: &View<'_>, observation: &Observation<'_, C>) -> Result<(), String> {
        self.resting.observe(view.now, observation);
        // A vacancy begins at the deadline of the last leader, or when it ends before that.
        if let Some(led) = self.until.iter().flatten().max() {
            self.vacant = self.vacant.max(view.now.min(*led));
        }
        match observation {
            Observation::Quiet | Observation::Accepted => {
                self.quiet = Some(view.now);
                self.vacant = view.now;
                let lately = view.now.before(view.plan.forecast() * 2) < self.reset;
                self.most = if lately { Self::worst(view.plan) } else { Self::usual(view.plan) };
            }
            Observation::Remade { .. } => {
                self.reset = view.now;
                self.most = Self::worst(view.plan);
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
        let all_rest = self.resting.all(view.now);
        if all_rest || self.peers > 0 || self.until.iter().flatten().any(|until| *until > view.now) {
            self.vacant = view.now;
        }
        let vacant = view.now.since(self.vacant.max(quiet));
        if vacant > self.most {
            return Err(format!(
                "no candidate has led for {vacant:?}, there are no faults, and {:?} are foretold",
                self.most
            ));
        }
        if matches!(observation, Observation::Over) && view.plan.choice.peers == 0 && vacant > Duration::ZERO
        {
            return Err(format!("no candidate leads at the end, for {vacant:?}"));
        }
        Ok(())
    }
}
