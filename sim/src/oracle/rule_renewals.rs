//! DESIGN.md, Times: the renewals of a holder.

use std::time::Duration;

use incumbent_core::Instant;
use incumbent_core::campaign::{Output, State};

use super::Oracle;
use super::known::attempt_limit;
use crate::moment::{Moment, View};

/// The longest wait before a failed request is repeated, with its random part, and some slack.
const RETRY: Duration = Duration::from_millis(1_200);
const ROOM: Duration = Duration::from_millis(300);

/// Checks a holder's requested wake-up, so that a late wake-up does not matter.
pub(super) struct Renewals {
    /// The latest reading of each clock, and the time of the last write or read.
    nodes: Vec<(Instant, Instant)>,
}

impl Renewals {
    pub(super) fn new(count: usize) -> Self {
        Self { nodes: vec![(Instant::ZERO, Instant::ZERO); count] }
    }
}

impl Oracle for Renewals {
    fn states(&self) -> (&'static str, &'static str) {
        (
            "renewals",
            "A holder renews every third of its lease and soon repeats what failed, also untold and while it drains.",
        )
    }

    fn see(&mut self, _: &View<'_>, moment: &Moment<'_>) -> Result<(), String> {
        match moment {
            Moment::Begins { node, .. } => self.nodes[*node] = (Instant::ZERO, Instant::ZERO),
            Moment::Hands { node, clock, .. } => self.nodes[*node].0 = self.nodes[*node].0.max(*clock),
            Moment::Says { node, output: Output::Write(_) | Output::Read(_), .. } => {
                self.nodes[*node].1 = self.nodes[*node].0;
            }
            Moment::Says { node, campaign, output: Output::WakeAt(wake) } => {
                if !matches!(campaign.state(), State::Holding | State::Leading | State::Draining) {
                    return Ok(());
                }
                let lease = campaign.lease_time();
                let (now, sent) = self.nodes[*node];
                // A candidate that was stopped has only just noticed the failure.
                let due = (sent + (lease / 3).max(attempt_limit(lease) + RETRY))
                    .max(now + RETRY.max(attempt_limit(lease)))
                    + ROOM;
                if wake.is_none_or(|wake| wake.at > due) {
                    return Err(format!("c{node} holds the seat and sleeps until {wake:?}, past {due:?}"));
                }
            }
            _ => {}
        }
        Ok(())
    }
}
