//! I15.

use std::time::Duration;

use incumbent_core::Instant;

use super::Oracle;
use crate::moment::{Moment, View};
use crate::setting::Setting;

/// Judges the calm: somebody leads within the worst fail-over, and goes on leading.
pub(super) struct SomebodyLeads {
    until: Vec<Option<Instant>>,
    /// How many candidates of the Go library lead.
    peers: usize,
    calm: Option<Instant>,
    /// Since when nobody has been leading.
    vacant: Instant,
}

impl SomebodyLeads {
    pub(super) fn new(count: usize) -> Self {
        Self { until: vec![None; count], peers: 0, calm: None, vacant: Instant::ZERO }
    }

    /// A record left over, of a candidate or of an operator, runs out; a store that went back is noticed after a
    /// lease, over two new connections, and waited for, as long as any lease may be; so is one that was made anew;
    /// then a seat that could not be confirmed in time may be given back once. What users want to wait in addition
    /// comes on top.
    fn worst(view: &View<'_>) -> Duration {
        let delay = view.plan.settings.iter().map(Setting::delay).max().unwrap_or_default();
        view.plan.max_age * 4 + view.plan.lease * 3 + delay + Duration::from_secs(20)
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
        if vacant > Self::worst(view) {
            return Err(format!("nobody has been leading for {vacant:?}, and there are no faults"));
        }
        if matches!(moment, Moment::Over) && view.plan.choice.peers == 0 && vacant > Duration::ZERO {
            return Err(format!("nobody leads at the end, for {vacant:?}"));
        }
        Ok(())
    }
}
