//! Inspections and connections: how the campaign observes the store and reconnects to it.

use core::time::Duration;

use super::event::{Reason, Warning};
use super::store_view::Inspection;
use super::timers::Timer;
use super::{KeyLease, backoff, pace};
use crate::candidacy::{Candidacy, Stage, Step};
use crate::store::{Fault, StoreInfo};
use crate::time::Instant;

impl Candidacy<KeyLease> {
    /// Asks for an inspection no older than `since`.
    pub(super) fn inspect(&mut self, since: Instant) {
        if matches!(self.stage, Stage::Closed) {
            return;
        }
        self.own.store.want_inspection(since, self.now);
        self.timers.set(Timer::Inspect, self.now + pace::attempt_limit(self.lease));
        self.ask_inspection(since);
    }

    /// Asks for the inspection again: it got no answer or an outdated one, or it failed a while ago.
    pub(super) fn inspect_again(&mut self) {
        self.inspection_failed(None);
        if let Some(since) = self.own.store.wanted_inspection() {
            self.inspect(since);
        }
    }

    pub(super) fn inspected(&mut self, result: Result<StoreInfo, Fault>) {
        let info = match result {
            Ok(info) => info,
            Err(fault) => {
                self.inspection_failed(Some(&fault));
                // Writes that succeed meanwhile do not end this fault.
                if self.own.reported.inspection != Some(fault.kind) {
                    self.own.reported.inspection = Some(fault.kind);
                    self.report_fault(fault);
                }
                let failed = self.own.store.inspection_failed();
                if self.own.store.wanted_inspection().is_some() {
                    let wait = backoff::standard(failed, &mut self.rng);
                    self.timers.set(Timer::Inspect, self.now + wait);
                }
                return;
            }
        };
        self.own.reported.inspection = None;
        if self.own.store.inspection_answered(info.asked_at) {
            self.timers.stop(Timer::Inspect);
        }
        let before = self.own.store.max_age();
        let skew = self.rules.margin.skew(self.lease);
        let inspection = self.own.store.inspect(&info, self.longest_lease(), skew, self.now);
        if inspection == Inspection::Old {
            return;
        }
        if before != info.max_age {
            self.adjust_lease();
            if let Some(age) = info.max_age.filter(|age| before.is_some_and(|before| before < *age)) {
                self.wait_for_raised_age(age);
            }
            self.warn(Warning::MaxAgeChanged { from: before, to: info.max_age });
        }
        if inspection == Inspection::New {
            self.own.key.forget();
            self.lose(Reason::StoreReset);
            self.report_reset();
            if matches!(self.stage, Stage::Releasing(_)) {
                // The record that was to be released vanished with the old incarnation.
                self.end_release();
            }
        }
        if inspection == Inspection::Same {
            self.step_succeeded(Step::Inspect, info.asked_at);
            self.shown_the_same();
        }
        let connection = self.own.store.connection.number();
        let absent = self.holder().and_then(|holder| holder.absent);
        if absent.is_some_and(|before| before < connection) && self.own.store.wanted_inspection().is_none() {
            // The store was not replaced, so read again to check that the key is absent.
            self.read();
        }
        self.plan();
    }

    /// Notes that the last inspection failed. If acknowledgements carry the incarnation, no proof depends on
    /// inspections.
    fn inspection_failed(&mut self, fault: Option<&Fault>) {
        let asked = self.own.store.end_inspection();
        if let Some(asked) = asked.filter(|_| !self.rules.own.store.incarnation_acked) {
            self.step_failed(Step::Inspect, asked, fault);
        }
        if self.giving_way.rests(self.now) {
            // The next probe repeats the inspection, and asks again for whatever a win needs.
            self.own.store.forget_wanted_inspection();
            self.timers.stop(Timer::Inspect);
        }
    }

    /// Notes that a new watch is ready since `since`. Only an inspection asked for after that shows the incarnation
    /// that the watch shows.
    pub(super) fn watch_began(&mut self, since: Instant) {
        self.own.store.watch_began(since);
        if self.own.store.verified_at() < since && !self.rules.own.store.incarnation_acked {
            self.inspect(since);
        }
    }

    /// Extends the wait for a holder that left only a tombstone: it may have learned of a raised maximum age before
    /// this candidate did, and may have a lease of that length.
    fn wait_for_raised_age(&mut self, age: Duration) {
        self.own.key.wait_for_raised_age(age);
        let leads = self.term.is_some();
        if let Some(holder) = self.holder_mut().filter(|holder| !leads && holder.wait.renewal) {
            // The holder's acquire was acknowledged after the tombstone was first observed.
            holder.wait.until = holder.wait.until.max(holder.acknowledged + age);
        }
    }

    /// Keeps the lease no longer than the store keeps records. A longer lease starts with the next acquire.
    pub(super) fn adjust_lease(&mut self) {
        let lease = self.own.store.max_age().map_or(self.rules.lease, |age| age.min(self.rules.lease));
        if self.holder().is_none() || lease < self.lease {
            self.lease = lease;
        }
        // A shorter lease needs an earlier renewal. A failed renewal is repeated even sooner.
        let goes_on = self.holder().is_some_and(|holder| self.deadline_of(holder) > self.now);
        if goes_on && self.timers.is_set(Timer::Renew) {
            self.renew_later();
        }
    }

    /// The longest lease that any leader of a past incarnation may have, observed or not. Candidates may have different
    /// leases, but none exceeds the store's maximum age at the time. If that age was lowered, a leader that does not
    /// know yet still counts on the longer lease.
    pub(super) fn longest_lease(&self) -> Duration {
        let observed = self.own.key.holder_lease(self.rules.lease);
        self.rules.lease.max(observed).max(self.own.store.longest_max_age())
    }

    /// Asks for a new connection, unless one is on its way.
    pub(super) fn reconnect(&mut self) {
        if self.own.store.connection.start_new(pace::attempt_limit(self.lease) * 2, self.now) {
            self.ask_connection();
        }
    }

    /// Repeats, over the new connection, what the old connection left unanswered.
    pub(super) fn reconnected(&mut self) {
        self.own.store.connection.is_new();
        self.inspect(self.now);
        let read = self.own.key.abandon_read().is_some();
        self.timers.stop(Timer::Read);
        // Nothing else is repeated early. If connection after connection gives stale answers, only the back-off keeps
        // the load on the store low.
        if self.holder().is_some_and(|holder| holder.absent.is_some()) {
            // The absence counts as confirmed once the store is known to be the same, or a while later if no inspection
            // is answered.
            self.timers.set(Timer::Retry, self.now + pace::attempt_limit(self.lease));
        } else if read {
            self.read();
        }
    }
}
