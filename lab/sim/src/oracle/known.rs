//! What several oracles need to know about a campaign.

use std::time::Duration;

use incumbent_core::Instant;
use incumbent_core::campaign::{Event, Input, Output, Reason, State, Term, Warning};
use incumbent_core::candidacy::Rule;

use crate::observation::{Observation, Order};

/// A term that an output reports as won or lost.
#[derive(Debug)]
pub(super) enum ReportedTerm {
    Won(Term),
    Lost(Term),
}

impl ReportedTerm {
    pub(super) fn of(event: &Event) -> Option<Self> {
        match event {
            Event::Won(term) => Some(Self::Won(*term)),
            Event::Lost { term, .. } => Some(Self::Lost(*term)),
            _ => None,
        }
    }
}

pub(super) fn reported_term(output: &Output) -> Option<ReportedTerm> {
    output.event().and_then(ReportedTerm::of)
}

/// Returns `sent + T − M` with the default margin of a lease, which consists of its skew unless another one is `set`,
/// its drift and its slack.
pub(super) fn lease_end(sent: Instant, lease: Duration, set: Option<Duration>) -> Instant {
    let skew = set.unwrap_or((lease / 20).min(Duration::from_secs(1)));
    // The drift is that of two clocks, half a percent each.
    let drift = lease / 200 * 2;
    let slack = (lease / 20).min(Duration::from_millis(250));
    (sent + lease).before(skew + drift + slack)
}

/// Returns the longest wait for an answer, which is a twelfth of the lease, within bounds.
pub(super) fn attempt_limit(lease: Duration) -> Duration {
    (lease / 12).clamp(Duration::from_millis(250), Duration::from_secs(2))
}

/// The state of the work of a candidate's term.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Work {
    /// The work never began, or has ended.
    #[default]
    None,
    /// Its term is led.
    Leads,
    /// The term drains, or was lost for a reason that lets the work end, and the end of the work has not been reported
    /// yet.
    Ends,
}

impl Work {
    /// Notes an input before the campaign receives it.
    pub(super) fn observe_input(&mut self, input: &Input) {
        if matches!((&self, input), (Self::Ends, Input::Drained)) {
            *self = Self::None;
        }
    }

    /// Notes an event of the campaign.
    pub(super) fn observe_event(&mut self, event: &Event) {
        *self = match event {
            Event::Won(_) => Self::Leads,
            Event::Draining { .. } => Self::Ends,
            Event::Lost { reason: Reason::HandlerFailed, .. } => Self::Ends,
            Event::Lost { reason: Reason::Usurped | Reason::Deleted | Reason::StoreReset, .. } => Self::None,
            Event::Lost { .. } if *self == Self::Leads => Self::None,
            // A candidate that waits again or has closed has nothing left to release.
            Event::StateChanged(state)
                if !matches!(state, State::Leading | State::Draining | State::Releasing) =>
            {
                Self::None
            }
            _ => *self,
        };
    }
}

/// The candidates that gave way, with the latest end of the rest of each.
#[derive(Debug)]
pub(super) struct Resting(Vec<Option<Instant>>);

impl Resting {
    pub(super) fn new(count: usize) -> Self {
        Self(vec![None; count])
    }

    pub(super) fn observe<R: Rule>(&mut self, now: Instant, observation: &Observation<'_, R>) {
        match observation {
            // A candidate that is gone cannot lead either.
            Observation::Ends { node } => self.0[*node] = Some(Instant::NEVER),
            Observation::Begins { node, .. } => self.0[*node] = None,
            Observation::Output { node, output, .. } => match output.event() {
                Some(Event::Warning(Warning::GaveWay { rest, .. })) => self.0[*node] = Some(now + *rest),
                Some(Event::Won(_)) => self.0[*node] = None,
                _ => {}
            },
            _ => {}
        }
    }

    #[cfg(test)]
    pub(super) fn rest(&mut self, node: usize, until: Instant) {
        self.0[node] = Some(until);
    }

    fn rests(&self, now: Instant, node: usize) -> bool {
        self.0[node].is_some_and(|until| now < until)
    }

    pub(super) fn all(&self, now: Instant) -> bool {
        (0..self.0.len()).all(|node| self.rests(now, node))
    }

    /// Whether some candidate that may lead next is not resting.
    pub(super) fn has_successor(&self, now: Instant, order: Order) -> bool {
        match order {
            Order::HandOver { successor, .. } => !self.rests(now, successor),
            Order::Resign { leader }
            | Order::Crash { leader }
            | Order::Delete { leader }
            | Order::Isolate { leader } => {
                (0..self.0.len()).any(|node| node != leader && !self.rests(now, node))
            }
        }
    }
}
