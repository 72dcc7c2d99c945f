//! Inspections and connections: which life of the store this is, and how it is reached.

use core::time::Duration;

use super::event::{Reason, Warning};
use super::io::Output;
use super::life::Inspection;
use super::timers::Timer;
use super::{Campaign, Stage, backoff, pace};
use crate::store::{Fault, StoreInfo};
use crate::time::Instant;

impl Campaign {
    /// Asks for an inspection no older than `since`.
    pub(super) fn inspect(&mut self, since: Instant) {
        if matches!(self.stage, Stage::Closed) {
            return;
        }
        self.inspecting = self.inspecting.max(Some(since));
        self.timers.set(Timer::Inspect, self.now + pace::attempt_limit(self.lease));
        self.outputs.push_back(Output::Inspect { since });
    }

    /// The inspection got no answer, or one that is too old.
    pub(super) fn inspect_again(&mut self) {
        if let Some(since) = self.inspecting {
            self.inspect(since);
        }
    }

    pub(super) fn inspected(&mut self, result: Result<StoreInfo, Fault>) {
        let info = match result {
            Ok(info) => info,
            Err(fault) => {
                // Writes may work meanwhile: they do not end this fault.
                if self.told.inspection != Some(fault.kind) {
                    self.told.inspection = Some(fault.kind);
                    self.fault(fault);
                }
                self.inspections_failed = self.inspections_failed.saturating_add(1);
                if self.inspecting.is_some() {
                    let wait = backoff::standard(self.inspections_failed, &mut self.rng);
                    self.timers.set(Timer::Inspect, self.now + wait);
                }
                return;
            }
        };
        self.told.inspection = None;
        self.inspections_failed = 0;
        if self.inspecting.is_some_and(|since| info.asked_at >= since) {
            self.inspecting = None;
            self.timers.stop(Timer::Inspect);
        }
        let before = self.life.max_age();
        let skew = self.rules.margin.skew(self.lease);
        let inspection = self.life.inspect(&info, self.longest_lease(), skew, self.now);
        if inspection == Inspection::Old {
            return;
        }
        if before != info.max_age {
            self.adjust_lease();
            self.warning(Warning::MaxAgeChanged { from: before, to: info.max_age });
        }
        if inspection == Inspection::New {
            self.sight.forget();
            self.unseat(Reason::StoreReset);
            self.tell_reset();
            if matches!(self.stage, Stage::Releasing(_)) {
                // What was to be released went with the old life.
                self.go_on();
            }
        }
        let connection = self.life.connection();
        let absent = self.seat().and_then(|seat| seat.absent);
        if absent.is_some_and(|before| before < connection) && self.inspecting.is_none() {
            // It is not the store that was replaced: ask once more whether the key is absent.
            self.read();
        }
        self.plan();
    }

    /// A new watch stands. Which life of the store it watches, an inspection asked for later will say.
    pub(super) fn watch_began(&mut self, since: Instant) {
        self.watching = Some(since);
        if self.life.shown() < since && !self.rules.store.incarnation_acked {
            self.inspect(since);
        }
    }

    /// A lease never outlasts the records of the store. A longer one waits for the next seat.
    pub(super) fn adjust_lease(&mut self) {
        let lease = self.life.max_age().map_or(self.rules.lease, |age| age.min(self.rules.lease));
        if self.seat().is_none() || lease < self.lease {
            self.lease = lease;
        }
        // A third of a shorter lease is sooner over. What failed is repeated sooner still.
        let goes_on = self.seat().is_some_and(|seat| self.deadline(seat) > self.now);
        if goes_on && self.timers.is_set(Timer::Renew) {
            self.renew_later();
        }
    }

    /// The lease of whoever may have led in a life of the store that is over, seen or not: candidates may have
    /// different leases, and none is longer than the store's maximum age was. Where that was lowered, a leader that
    /// does not know yet still counts on the lease that was agreed on.
    pub(super) fn longest_lease(&self) -> Duration {
        let seen = self.sight.holder_lease(self.rules.lease);
        self.rules.lease.max(seen).max(self.life.longest_age())
    }

    /// Asks for a new connection, unless one is on its way.
    pub(super) fn reconnect(&mut self) {
        let patience = pace::attempt_limit(self.lease) * 2;
        if self.reconnecting.is_some_and(|asked| self.now < asked + patience) {
            return;
        }
        self.reconnecting = Some(self.now);
        self.outputs.push_back(Output::Reconnect);
    }

    /// What was asked over the old connection and not answered is asked at once over the new one.
    pub(super) fn reconnected(&mut self) {
        self.reconnecting = None;
        self.life.connected();
        self.inspect(self.now);
        let read = self.reading.take().is_some();
        self.timers.stop(Timer::Read);
        // Nothing else is hurried: where answers are stale over one connection after another, the
        // back-off is all that stands between the store and a storm.
        if self.seat().is_some_and(|seat| seat.absent.is_some()) {
            // Whether the key is absent is asked when it is known that the store is the same; or a while
            // later, where that cannot be found out.
            self.timers.set(Timer::Retry, self.now + pace::attempt_limit(self.lease));
        } else if read {
            self.read();
        }
    }
}
