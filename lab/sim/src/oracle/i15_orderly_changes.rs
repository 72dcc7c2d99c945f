//! A stricter form of I15: how long an orderly change of leaders takes without faults.

use std::time::Duration;

use incumbent_core::Instant;
use incumbent_core::campaign::Event;
use incumbent_core::candidacy::Rule;
use incumbent_core::record::{Entry, Nonce};

use super::Oracle;
use super::known::Resting;
use crate::happened::Happened;
use crate::kind::Store;
use crate::observation::{Observation, Order, Seen, View};
use crate::plan::Plan;

/// The time allowed for messages, a race or two, and the longest wait of a candidate that holds back.
const ALLOWANCE: Duration = Duration::from_secs(4);

#[derive(Debug)]
pub(super) struct OrderlyChanges {
    /// The requested change with its candidates, and the deadline of that change.
    order: Option<(Order, Instant)>,
    /// Whether another candidate has held the key or the first place since the change. If the store undid the token of
    /// that candidate, it reports no win, and releases.
    followed: bool,
    nonces: Vec<Nonce>,
    resting: Resting,
}

impl OrderlyChanges {
    pub(super) fn new(count: usize) -> Self {
        Self { order: None, followed: false, nonces: vec![Nonce(0); count], resting: Resting::new(count) }
    }

    /// Notes whether a candidate holds the key or has the first place.
    fn follows(&mut self, holder: Option<Nonce>) {
        if let Some((Order::Resign { leader }, _)) = self.order {
            self.followed |= holder != Some(self.nonces[leader]);
        }
    }

    /// Returns the longest time that the change may take.
    fn most(plan: &Plan, happened: &Happened, order: Order) -> Duration {
        let longest = plan.settings.iter().map(|setting| setting.lease).max().unwrap_or_default();
        // Without topic ids, every successor in a group waits a lease, because the log may be another one.
        let unknown = plan.choice.store == Store::Kafka && !plan.group.has_ids;
        let log = if unknown { longest } else { Duration::ZERO };
        // A longer win delay in the settings counts, and a lease older than the raft term is not trusted.
        let fixed = plan.delay() + plan.owed();
        ALLOWANCE
            + fixed
            + match order {
                Order::Resign { .. } | Order::HandOver { .. } => plan.drain() + log,
                // The deleted holder may have had the longest lease that the store keeps.
                Order::Delete { .. } => happened.longest_age(),
                Order::Crash { .. } => longest,
                Order::Isolate { .. } => longest,
            }
    }
}

impl<R: Rule> Oracle<R> for OrderlyChanges {
    fn states(&self) -> (&'static str, &'static str) {
        (
            "I15",
            "Without faults, a successor leads at once after a release, and within a lease after a crash or a deletion; a \
             named successor comes first, a leader that resigned does not; one isolated server ends no long lease.",
        )
    }

    fn sees(&self) -> &'static [Seen] {
        &[
            Seen::Begins,
            Seen::Ends,
            Seen::Handled,
            Seen::Reported,
            Seen::Key,
            Seen::Stored,
            Seen::Order,
            Seen::Over,
        ]
    }

    fn observe(&mut self, view: &View<'_>, observation: &Observation<'_, R>) -> Result<(), String> {
        self.resting.observe(view.now, observation);
        match observation {
            // A candidate that rests cannot be the successor.
            Observation::Order(order) if !self.resting.has_successor(view.now, *order) => self.order = None,
            Observation::Order(order) => {
                // Clocks may run slow by a hundredth.
                let most = Self::most(view.plan, &view.promises.happened, *order) * 102 / 100;
                (self.order, self.followed) = (Some((*order, view.now + most)), false);
            }
            Observation::Begins { node, nonce } => self.nonces[*node] = *nonce,
            Observation::Key { entry: Entry::Live(record) } => {
                self.follows(record.write_id.map(|write_id| write_id.nonce));
            }
            Observation::Stored { content } => {
                let first = content.first().and_then(|(key, _)| content.companions.get(key));
                if let Some(companion) = first {
                    self.follows(Some(companion.value.nonce));
                }
            }
            Observation::Output { node, output, .. } => match output.event() {
                Some(Event::Won(_)) => match self.order.take().map(|(order, _)| order) {
                    Some(Order::Resign { leader }) if leader == *node && !self.followed => {
                        return Err(format!("c{node} resigned but is the next to lead"));
                    }
                    Some(Order::HandOver { successor, .. }) if successor != *node => {
                        return Err(format!("c{node} leads, but the lease was handed to c{successor}"));
                    }
                    _ => {}
                },
                Some(Event::Lost { reason, .. }) => {
                    if let Some((Order::Isolate { leader }, _)) = self.order
                        && leader == *node
                    {
                        return Err(format!(
                            "c{node} lost ({reason}) because one server of three was isolated"
                        ));
                    }
                }
                _ => {}
            },
            Observation::Handled { .. } | Observation::Over => {
                if let Some((order, _)) = self.order.filter(|(_, until)| view.now > *until) {
                    self.order = None;
                    if !matches!(order, Order::Isolate { .. }) {
                        return Err(format!("no candidate leads in time after {order:?}"));
                    }
                }
            }
            _ => {}
        }
        Ok(())
    }
}
