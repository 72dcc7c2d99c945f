//! The rules of DESIGN.md, Times: the renewals of a holder, and the requests of every candidate.

use std::collections::VecDeque;
use std::time::Duration;

use incumbent_core::Instant;
use incumbent_core::campaign::{Output, Request, State};

use super::Oracle;
use super::known::attempt_limit;
use crate::observation::{Observation, Seen, View};

/// The longest wait before a failed request is repeated, including the random part and some slack.
const RETRY: Duration = Duration::from_millis(1_200);
const SLACK: Duration = Duration::from_millis(300);

/// Checks the wake-up that a holder requested, so that a late wake-up does not matter.
#[derive(Debug)]
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
            "A holder renews every third of its lease and soon repeats what failed, also before its win is reported and while it drains.",
        )
    }

    fn sees(&self) -> &'static [Seen] {
        &[Seen::Begins, Seen::Tick, Seen::Input, Seen::Asked, Seen::Drained]
    }

    fn observe(&mut self, _: &View<'_>, observation: &Observation<'_>) -> Result<(), String> {
        match observation {
            Observation::Begins { node, .. } => self.nodes[*node] = (Instant::ZERO, Instant::ZERO),
            Observation::Input { node, clock, .. } => self.nodes[*node].0 = self.nodes[*node].0.max(*clock),
            Observation::Output {
                node,
                output: Output::Ask(Request::Write(_)) | Output::Ask(Request::Read(_)),
                ..
            } => {
                self.nodes[*node].1 = self.nodes[*node].0;
            }
            Observation::Output { node, campaign, output: Output::WakeAt(wake) } => {
                if !matches!(campaign.state(), State::Holding | State::Leading | State::Draining) {
                    return Ok(());
                }
                let lease = campaign.lease_time();
                let (now, sent) = self.nodes[*node];
                // A candidate that was stopped notices the failure only now.
                let due = (sent + (lease / 3).max(attempt_limit(lease) + RETRY))
                    .max(now + RETRY.max(attempt_limit(lease)))
                    + SLACK;
                if wake.is_none_or(|wake| wake.at > due) {
                    return Err(format!("c{node} holds the lease but sleeps until {wake:?}, past {due:?}"));
                }
            }
            _ => {}
        }
        Ok(())
    }
}

/// The most requests that one campaign may send in a second.
const MOST: usize = 40;

#[derive(Debug)]
pub(super) struct Requests {
    /// The latest reading of each clock, and the times of the newest writes and reads.
    nodes: Vec<(Instant, VecDeque<Instant>)>,
}

impl Requests {
    pub(super) fn new(count: usize) -> Self {
        Self { nodes: vec![(Instant::ZERO, VecDeque::new()); count] }
    }
}

impl Oracle for Requests {
    fn states(&self) -> (&'static str, &'static str) {
        ("requests", "Whatever happens, a campaign writes and reads no more than forty times a second.")
    }

    fn sees(&self) -> &'static [Seen] {
        &[Seen::Begins, Seen::Tick, Seen::Input, Seen::Asked]
    }

    fn observe(&mut self, _: &View<'_>, observation: &Observation<'_>) -> Result<(), String> {
        match observation {
            Observation::Begins { node, .. } => self.nodes[*node] = (Instant::ZERO, VecDeque::new()),
            Observation::Input { node, clock, .. } => self.nodes[*node].0 = self.nodes[*node].0.max(*clock),
            Observation::Output {
                node,
                output: Output::Ask(Request::Write(_)) | Output::Ask(Request::Read(_)),
                ..
            } => {
                let (now, sent) = &mut self.nodes[*node];
                sent.push_back(*now);
                if sent.len() > MOST
                    && let Some(first) = sent.pop_front()
                    && now.since(first) < Duration::from_secs(1)
                {
                    return Err(format!("c{node} sent {MOST} requests within {:?}", now.since(first)));
                }
            }
            _ => {}
        }
        Ok(())
    }
}
