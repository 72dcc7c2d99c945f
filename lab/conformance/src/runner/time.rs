//! Marks, and instants that are a number of leases after a mark.

use std::collections::BTreeMap;
use std::time::Duration;

use incumbent::{Clock, Instant};

use super::suite::Missed;
use crate::scenario::Moment;

/// The clock of a scenario.
pub(super) struct Time {
    pub(super) clock: Clock,
    pub(super) begun: Instant,
    pub(super) lease: Duration,
    marks: BTreeMap<String, Instant>,
}

impl Time {
    pub(super) fn new(lease: Duration) -> Self {
        let clock = Clock::system();
        Self { begun: clock.now(), clock, lease, marks: BTreeMap::new() }
    }

    pub(super) fn now(&self) -> Instant {
        self.clock.now()
    }

    pub(super) fn mark(&mut self, name: &str) {
        self.marks.insert(name.into(), self.now());
    }

    pub(super) fn leases(&self, leases: f64) -> Duration {
        self.lease.mul_f64(leases)
    }

    /// Milliseconds since the scenario began.
    pub(super) fn shown(&self, at: Instant) -> String {
        format!("{:>6} ms", at.since(self.begun).as_millis())
    }

    /// Checks that the time of an event is within these bounds.
    pub(super) fn check(
        &self,
        what: &str,
        at: Instant,
        not_before: Option<&Moment>,
        before: Option<&Moment>,
    ) -> Result<(), Missed> {
        for (moment, is_lower) in not_before.map(|m| (m, true)).into_iter().chain(before.map(|m| (m, false)))
        {
            // A step of a parsed scenario names only marks that earlier steps set.
            let mark = self.marks.get(&moment.mark).copied().unwrap_or(Instant::ZERO);
            let bound = mark + self.leases(moment.leases);
            if (at >= bound) != is_lower {
                let word = if is_lower { "not before" } else { "before" };
                return Err(Missed::new(
                    format!(
                        "{what} {word} {} leases ({:?}) after {:?}",
                        moment.leases,
                        bound.since(mark),
                        moment.mark
                    ),
                    format!("it was {:?} after {:?}", at.since(mark), moment.mark),
                ));
            }
        }
        Ok(())
    }
}
