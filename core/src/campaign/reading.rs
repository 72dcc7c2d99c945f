//! Reads and the watch: the campaign observes the key.

use super::attempts::{Purpose, Sent};
use super::event::Reason;
use super::io::{ReadId, Request};
use super::key::Wait;
use super::releasing::Releasing;
use super::settings::{LONGEST_LEASE, LONGEST_SHARED};
use super::store_view::Freshness;
use super::timers::Timer;
use super::turns::Wanted;
use super::{KeyLease, Race, pace};
use crate::candidacy::{Candidacy, Stage, Step};
use crate::record::{Entry, Record, Release};
use crate::store::{Fault, FaultKind};
use crate::time::Instant;
use crate::token::Revision;
use core::time::Duration;

impl Candidacy<KeyLease> {
    /// Reads the key, unless a read is in flight.
    pub(super) fn read(&mut self) {
        if self.own.key.is_reading() || !self.may_ask(Wanted::Read) {
            return;
        }
        let Some(read) =
            self.own.key.start_read(self.own.store.mark(), self.own.store.incarnation(), self.now)
        else {
            return;
        };
        self.timers.stop(Timer::Retry);
        self.timers.set(Timer::Read, self.now + pace::attempt_limit(self.lease));
        self.send(Request::Read(read));
    }

    pub(super) fn read_timed_out(&mut self) {
        if let Some(pending) = self.own.key.stop_waiting() {
            self.step_failed(Step::Read, pending.sent, None);
        }
        self.timed_out(Wanted::Read);
    }

    pub(super) fn read_answered(&mut self, read: ReadId, result: Result<Entry, Fault>) {
        let Some((pending, is_late)) = self.own.key.end_read(read) else { return };
        if is_late {
            // This failure was counted when the read's time ran out, and the campaign has tried again since.
            if result.is_err() || pending.incarnation != self.own.store.incarnation() {
                return;
            }
        } else {
            self.timers.stop(Timer::Read);
        }
        let entry = match result {
            Ok(entry) => entry,
            Err(fault) => {
                self.step_failed(Step::Read, pending.sent, Some(&fault));
                let unreachable = fault.kind == FaultKind::Unreachable;
                self.report_fault(fault);
                return if unreachable { self.failed_perhaps_isolated() } else { self.failed() };
            }
        };
        if pending.incarnation != self.own.store.incarnation() {
            return self.read();
        }
        self.own.key.was_read(self.now);
        self.observe_token_in(&entry);
        if let Some(revision) = entry.revision() {
            match self.own.store.classify(revision, pending.mark, self.lease, self.now) {
                Freshness::Fresh => {}
                Freshness::Stale => return self.stale(),
                Freshness::Regressed => {
                    self.regress(revision);
                }
            }
        }
        self.succeeded();
        self.step_succeeded(Step::Read, pending.sent);
        self.suspect_the_watch(&entry, pending.sent);
        // If something newer became known while the answer was on its way, the answer proves nothing.
        if entry.revision().unwrap_or(pending.mark) >= self.own.store.mark() {
            self.observe(entry);
        }
        if let Some(record) = self.own.key.record() {
            self.check_expiry(record.revision);
        }
        let idle = !self.timers.is_set(Timer::Retry)
            && !self.own.attempts.is_awaiting()
            && !self.own.key.is_reading();
        match self.stage {
            // The read has explained the refusal, so the holder does at once what the refusal interrupted.
            Stage::Racing(Race::Holder(_)) if idle && !self.timers.is_set(Timer::Renew) => self.act(),
            Stage::Releasing(_) if idle => self.release(),
            Stage::Racing(Race::Candidate) => self.plan(),
            _ => {}
        }
    }

    /// Asks for an inspection if a candidate's read shows a write that its watch, ready for a while, has not shown. The
    /// watch may belong to a past incarnation and never end. The inspection shows the present incarnation, so that the
    /// wait for it counts from now and not from a win.
    fn suspect_the_watch(&mut self, entry: &Entry, asked_at: Instant) {
        let mark = self.own.store.mark();
        let is_news = mark > Revision(0) && entry.revision() > Some(mark);
        let is_ready = self.own.store.watches_since(self.attempt_limit(), asked_at);
        if matches!(self.stage, Stage::Racing(Race::Candidate)) && is_news && is_ready {
            self.inspect(self.now);
        }
    }

    /// Reads the key again over another connection after an answer older than what is already known, which proves
    /// nothing.
    pub(super) fn stale(&mut self) {
        // An absence is confirmed over a new connection at once, but a stale answer must not be repeated that fast.
        if let Some(holder) = self.holder_mut() {
            holder.absent = None;
        }
        self.reconnect();
        self.failed();
    }

    /// Handles an entry that the watch delivered. A holder or a releasing campaign confirms an absence with a read,
    /// because the watch may have begun long ago.
    pub(super) fn watched(&mut self, entry: Entry) {
        self.observe_token_in(&entry);
        if let Entry::Live(record) = &entry {
            self.confirm_by_watch(record);
        }
        match &mut self.stage {
            Stage::Racing(Race::Holder(holder)) if entry == Entry::Vacant => {
                holder.must_read = true;
                self.read();
            }
            Stage::Releasing(_) if entry == Entry::Vacant => self.read(),
            _ => self.observe(entry),
        }
    }

    /// Notes that the watch showed a record of ours, which proves the incarnation in which it was applied. This proof
    /// is as good as an inspection after the acknowledgement, and arrives sooner.
    fn confirm_by_watch(&mut self, record: &Record) {
        let Some(sent) = self.sent_as(record) else { return };
        if self.own.store.watch_showed(sent.attempt, sent.at, record.revision) {
            if let Some(holder) = self.holder_mut() {
                holder.confirm(sent.attempt, record.revision);
            }
            self.shown_the_same();
        }
    }

    /// Observes an entry of the key, from a read or from the watch.
    pub(super) fn observe(&mut self, entry: Entry) {
        let is_old = entry.revision().is_some_and(|revision| revision < self.own.store.mark());
        if is_old {
            // The watch lags behind a read, or a read behind the watch.
            return;
        }
        if let Some(revision) = entry.revision() {
            self.own.store.observe_revision(revision);
            self.own.attempts.close_outdated(revision);
        }
        self.check_size(&entry);
        if let Entry::Live(record) = &entry {
            self.check_others(record);
        }
        match &self.stage {
            Stage::Racing(Race::Holder(_)) => self.observe_as_holder(entry),
            Stage::Releasing(_) => self.observe_while_releasing(entry),
            Stage::Idle => {
                self.remember(entry);
                self.remove_orphan();
            }
            Stage::Racing(Race::Candidate) => {
                self.remember(entry);
                self.observe_claims();
                self.plan();
            }
            Stage::Splaying | Stage::Closed => self.remember(entry),
        }
    }

    /// Remembers the entry and when it was first observed.
    pub(super) fn remember(&mut self, entry: Entry) {
        match entry {
            Entry::Live(record) if self.is_ours(&record) => {
                let sent = self.sent_as(&record);
                self.observe_own(record, sent);
            }
            entry => {
                self.own.key.observe(
                    self.bounded(entry),
                    self.own.store.incarnation(),
                    self.default_lease(),
                    self.now,
                );
            }
        }
    }

    /// Observes a live record of our own. The wait that it owes must be kept even if the record vanishes.
    pub(super) fn observe_own(&mut self, record: Record, sent: Option<Sent>) {
        let first = self.own.key.revision() != Some(record.revision);
        self.own.key.observe_own(record, self.now);
        let owed = match sent {
            // Nothing is known about this write, not even which record it replaced.
            None => self.unknown_wait(),
            Some(sent) if sent.wait.delayed => self.least_delay(),
            Some(_) => return,
        };
        if first {
            self.own.key.wait_until(self.now + owed);
        }
    }

    /// The part of a stated wait that a candidate believes, so that one bad writer cannot make it wait forever.
    ///
    /// If the store has a maximum age, a longer wait is believed up to [`LONGEST_SHARED`], since the age may have been
    /// lowered before this candidate came. Anything longer is no lease, and counts as the longest age.
    pub(super) fn bound(&self, wait: Duration) -> Duration {
        let age = self.own.store.longest_max_age();
        if age.is_zero() {
            wait.min(LONGEST_LEASE)
        } else if wait <= age.max(LONGEST_SHARED) {
            wait
        } else {
            age.max(self.rules.lease)
        }
    }

    fn bounded(&self, entry: Entry) -> Entry {
        let bound = |wait| self.bound(wait);
        match entry {
            Entry::Live(record) => Entry::Live(Record { lease: record.lease.map(bound), ..record }),
            Entry::Released(release) => Entry::Released(Release { owed: bound(release.owed), ..release }),
            Entry::Deleted { revision, lease } => Entry::Deleted { revision, lease: lease.map(bound) },
            Entry::Vacant | Entry::Expired { .. } => entry,
        }
    }

    /// The lease of a holder that does not state one.
    pub(super) fn default_lease(&self) -> Duration {
        self.own.store.max_age().map_or(self.rules.lease, |age| age.max(self.rules.lease))
    }

    fn observe_as_holder(&mut self, entry: Entry) {
        let Some(holder) = self.holder_mut() else { return };
        let reason = match &entry {
            Entry::Vacant => return self.found_absent(),
            other if other.revision() <= Some(holder.revision) => {
                // The entry is our newest record or an older one, so no foreign record caused the refusal.
                holder.must_read = false;
                holder.absent = None;
                return;
            }
            Entry::Live(record) if self.is_ours(record) => {
                return self.adopt(record);
            }
            Entry::Live(_) | Entry::Released(_) => Reason::Usurped,
            Entry::Deleted { .. } => Reason::Deleted,
            Entry::Expired { .. } => Reason::Expired,
        };
        self.remember(entry);
        self.lose(reason);
    }

    /// Adopts a record of ours whose write was applied although its answer never came. The record's number identifies
    /// the attempt, and the deadline counts from the time at which exactly that attempt was sent.
    fn adopt(&mut self, record: &Record) {
        let sent = self.sent_as(record);
        let revision = record.revision;
        self.own.key.observe_own(record.clone(), self.now);
        if self.rules.own.store.incarnation_acked && !self.own.attempts.is_awaiting() {
            // The acknowledgement, which would have shown the store's incarnation, never came.
            self.inspect(self.now);
        }
        match sent {
            Some(sent) => {
                self.extend(revision, &sent);
                self.claim_kept();
            }
            None => {
                if let Some(holder) = self.holder_mut() {
                    let proven = holder.proven;
                    holder.extend(revision, proven);
                    self.renew();
                }
            }
        }
    }

    /// Handles the absence of a holder's key. One more read, over a new connection, must confirm the absence before it
    /// counts.
    pub(super) fn found_absent(&mut self) {
        let connection = self.own.store.connection.number();
        let Some(holder) = self.holder_mut() else { return };
        match holder.absent {
            Some(before) if connection > before => {
                self.remember(Entry::Vacant);
                return self.lose(Reason::Deleted);
            }
            Some(_) => {}
            None => holder.absent = Some(connection),
        }
        holder.must_read = true;
        self.reconnect();
        self.timers.set(Timer::Retry, self.now + pace::attempt_limit(self.lease));
    }

    fn observe_while_releasing(&mut self, entry: Entry) {
        if matches!(self.own.attempts.awaited(), Some(Purpose::Acquire | Purpose::Renew)) {
            // The answer to the unanswered write will show more than this entry, and nothing is released before that
            // answer.
            return self.remember(entry);
        }
        let ours = entry.live().is_some_and(|record| self.is_ours(record));
        let (revision, sent) = (entry.revision(), entry.live().and_then(|record| self.sent_as(record)));
        self.remember(entry);
        let wait = self.orphans_wait(sent);
        let Stage::Releasing(releasing) = &mut self.stage else { return };
        if !ours {
            // Absent, released, or foreign.
            return self.end_release();
        }
        if releasing.expect < revision {
            releasing.expect = revision;
            releasing.wait = wait;
        }
        if !self.timers.is_set(Timer::Retry) {
            self.release();
        }
    }

    /// Removes a record of ours that leads to no term.
    pub(super) fn remove_orphan(&mut self) {
        let Some(record) = self.own_record_observed() else { return };
        let sent = self.sent_as(record);
        let expect = Some(record.revision);
        let wait = self.orphans_wait(sent);
        self.start_release(Releasing::new(expect, wait, None));
    }

    /// The wait that the release of our record states for its successors.
    fn orphans_wait(&self, sent: Option<Sent>) -> Wait {
        self.wait_of(sent, self.own.key.first_observed())
    }
}
