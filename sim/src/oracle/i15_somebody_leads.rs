//! I15.

use std::time::Duration;

use incumbent_core::Instant;

use super::Oracle;
use crate::moment::{Moment, View};
use crate::plan::Plan;

/// Judges the calm: somebody leads within the worst fail-over, and goes on leading.
pub(crate) struct SomebodyLeads {
    until: Vec<Option<Instant>>,
    calm: Option<Instant>,
    /// Since when nobody has been leading.
    vacant: Instant,
}

impl SomebodyLeads {
    pub(super) fn new(count: usize) -> Self {
        Self { until: vec![None; count], calm: None, vacant: Instant::ZERO }
    }

    /// A record left over, of a candidate or of an operator, runs out; a store that went back is noticed after a
    /// lease, over two new connections, and waited for; so is one that was made anew; then a seat that could not
    /// be confirmed in time may be given back once.
    pub(crate) fn worst(plan: &Plan) -> Duration {
        plan.max_age * 2 + plan.lease * 5 + Duration::from_secs(20)
    }
}

impl Oracle for SomebodyLeads {
    fn states(&self) -> (&'static str, &'static str) {
        ("I15", "With the store healthy and a candidate running, somebody leads within the worst fail-over.")
    }

    fn see(&mut self, view: &View<'_>, moment: &Moment<'_>) -> Result<(), String> {
        match moment {
            Moment::Calm => {
                self.calm = Some(view.now);
                self.vacant = view.now;
            }
            Moment::Stands { node, until, .. } | Moment::Clock { node, until } => self.until[*node] = *until,
            Moment::Ends { node } => self.until[*node] = None,
            Moment::Over => {}
            _ => return Ok(()),
        }
        let Some(calm) = self.calm else { return Ok(()) };
        if self.until.iter().flatten().any(|until| *until > view.now) {
            self.vacant = view.now;
        }
        let vacant = view.now.since(self.vacant.max(calm));
        if vacant > Self::worst(view.plan) {
            return Err(format!("nobody has been leading for {vacant:?}, and there are no faults"));
        }
        if matches!(moment, Moment::Over) && vacant > Duration::ZERO {
            return Err(format!("nobody leads at the end, for {vacant:?}"));
        }
        Ok(())
    }
}
