//! I15.

use std::time::Duration;

use incumbent_core::Instant;

use super::Oracle;
use crate::kind::Kind;
use crate::moment::{Moment, View};
use crate::plan::{CLOCK_STEP, Plan};

/// Time for candidates that start late, or whose servers do: the store elects a leader within a second, a process
/// asks it at most two seconds after the last failure, waits a random second, and may lose a race.
const COMING: Duration = Duration::from_secs(5);

/// Judges the calm: a candidate leads within the worst fail-over, and goes on leading.
///
/// The bound is the one that `incumbent doctor` prints for the settings ([`Plan::forecast`]), and beside it
/// - the hundredth by which clocks may be slow, as every wait is by some candidate's own clock;
/// - the user's settings: a win delay, and a wait after a failure;
/// - [`COMING`];
/// - the delays left when the faults end: a message for twelve seconds, a write for eight, a clock set back by ten,
///   where the run has such;
/// - where the store was made again shortly before, or went back, the same once more: candidates notice that when
///   the record they remember should be over, and wait from then.
pub(crate) struct SomebodyLeads {
    until: Vec<Option<Instant>>,
    /// The number of leading candidates of the Go library.
    peers: usize,
    calm: Option<Instant>,
    /// The longest time without a leader.
    most: Duration,
    /// The beginning of the present vacancy.
    vacant: Instant,
    /// The last time at which the store was made again, or reported to have gone back.
    reset: Instant,
}

impl SomebodyLeads {
    pub(super) fn new(count: usize) -> Self {
        Self {
            until: vec![None; count],
            peers: 0,
            calm: None,
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

impl Oracle for SomebodyLeads {
    fn states(&self) -> (&'static str, &'static str) {
        ("I15", "With the store healthy and a candidate running, somebody leads within the worst fail-over.")
    }

    fn see(&mut self, view: &View<'_>, moment: &Moment<'_>) -> Result<(), String> {
        match moment {
            Moment::Calm | Moment::Accepted => {
                self.calm = Some(view.now);
                self.vacant = view.now;
                let lately = view.now.before(view.plan.forecast() * 2) < self.reset;
                self.most = if lately { Self::worst(view.plan) } else { Self::usual(view.plan) };
            }
            Moment::Remade { .. } => {
                self.reset = view.now;
                self.most = Self::worst(view.plan);
            }
            Moment::WentBack => self.reset = view.now,
            Moment::Stands { node, until, .. } | Moment::Clock { node, until } => self.until[*node] = *until,
            Moment::Ends { node } => self.until[*node] = None,
            Moment::Peer { leads: true, .. } => self.peers += 1,
            Moment::Peer { leads: false, .. } => {
                self.peers -= 1;
                self.vacant = view.now;
            }
            Moment::Over => {}
            _ => return Ok(()),
        }
        let Some(calm) = self.calm else { return Ok(()) };
        if self.peers > 0 || self.until.iter().flatten().any(|until| *until > view.now) {
            self.vacant = view.now;
        }
        let vacant = view.now.since(self.vacant.max(calm));
        if vacant > self.most {
            return Err(format!(
                "nobody has been leading for {vacant:?}, there are no faults, and {:?} are foretold",
                self.most
            ));
        }
        if matches!(moment, Moment::Over) && view.plan.choice.peers == 0 && vacant > Duration::ZERO {
            return Err(format!("nobody leads at the end, for {vacant:?}"));
        }
        Ok(())
    }
}
