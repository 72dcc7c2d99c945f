//! Reads and the watch: what is seen of the key.

use super::event::Reason;
use super::io::{Output, ReadId};
use super::ledger::{Purpose, Sent};
use super::life::Freshness;
use super::seat::Leaving;
use super::settings::{LONGEST_LEASE, LONGEST_SHARED};
use super::sight::Wait;
use super::timers::Timer;
use super::{Campaign, Stage, pace};
use crate::record::{Entry, Record, Release};
use crate::store::{Fault, FaultKind};
use crate::token::{Incarnation, Revision};
use core::time::Duration;

/// A read whose answer is awaited.
#[derive(Clone, Copy, Debug, Hash)]
pub(super) struct PendingRead {
    id: ReadId,
    /// The highest revision known when it was asked for; a lower answer is stale.
    mark: Revision,
    /// The life of the store known when it was asked for; an answer counts for no other.
    incarnation: Incarnation,
}

impl Campaign {
    /// Reads the key, unless that is under way.
    pub(super) fn read(&mut self) {
        if self.reading.is_some() {
            return;
        }
        self.reads.0 += 1;
        let (mark, incarnation) = (self.life.mark(), self.life.incarnation());
        self.reading = Some(PendingRead { id: self.reads, mark, incarnation });
        self.timers.stop(Timer::Retry);
        self.timers.set(Timer::Read, self.now + pace::attempt_limit(self.lease));
        self.outputs.push_back(Output::Read(self.reads));
    }

    pub(super) fn read_timed_out(&mut self) {
        self.reading = None;
        self.reconnect();
        self.unanswered();
    }

    pub(super) fn read_answered(&mut self, read: ReadId, result: Result<Entry, Fault>) {
        let Some(pending) = self.reading.filter(|pending| pending.id == read) else { return };
        self.reading = None;
        self.timers.stop(Timer::Read);
        let entry = match result {
            Ok(entry) => entry,
            Err(fault) => {
                let unreachable = fault.kind == FaultKind::Unreachable;
                self.fault(fault);
                return if unreachable { self.hindered() } else { self.failed() };
            }
        };
        if pending.incarnation != self.life.incarnation() {
            return self.read();
        }
        self.looked = self.now;
        if let Some(revision) = entry.revision() {
            match self.life.judge(revision, pending.mark, self.lease, self.now) {
                Freshness::Fresh => {}
                Freshness::Stale => return self.stale(),
                Freshness::Regressed => {
                    self.regress(revision);
                }
            }
        }
        self.recovered();
        // Where something newer became known while the answer was on its way, it says nothing.
        if entry.revision().unwrap_or(pending.mark) >= self.life.mark() {
            self.see(entry);
        }
        if let Some(record) = self.sight.record() {
            self.check_expiry(record.revision);
        }
        let idle = !self.timers.is_set(Timer::Retry) && !self.ledger.is_awaiting() && self.reading.is_none();
        match self.stage {
            // The refusal is explained; whatever is still open goes on at once.
            Stage::Seated(_) if idle && !self.timers.is_set(Timer::Renew) => self.act(),
            Stage::Releasing(_) if idle => self.release(),
            Stage::Candidate => self.plan(),
            _ => {}
        }
    }

    /// An answer that is older than what is known proves nothing: ask again, elsewhere.
    pub(super) fn stale(&mut self) {
        // Whether the key is absent is asked at once over every new connection; this is not to be.
        if let Some(seat) = self.seat_mut() {
            seat.absent = None;
        }
        self.reconnect();
        self.failed();
    }

    /// The watch told something. An absence may be what it began with, long ago, so a holder asks.
    pub(super) fn watched(&mut self, entry: Entry) {
        if let Entry::Live(record) = &entry {
            self.witness(record);
        }
        match &mut self.stage {
            Stage::Seated(seat) if entry == Entry::Vacant => {
                seat.check = true;
                self.read();
            }
            Stage::Releasing(_) if entry == Entry::Vacant => self.read(),
            _ => self.see(entry),
        }
    }

    /// A record of ours, seen by a watch, proves the life of the store in which it was applied as well
    /// as an inspection after its acknowledgement would, and is sooner there.
    ///
    /// A watch sees one life. That life is no later than the one known, which was shown after the watch
    /// stood; and no earlier, since the write was sent when that one was known.
    fn witness(&mut self, record: &Record) {
        let Some(sent) = self.sent_as(record) else { return };
        if self.watching.is_some_and(|since| since <= self.life.shown()) {
            self.life.show(sent.at);
            self.witnessed = Some((sent.attempt, record.revision));
            if let Some(seat) = self.seat_mut() {
                seat.witness(sent.attempt, record.revision);
            }
        }
    }

    /// Takes in what is under the key, from a read or from the watch.
    pub(super) fn see(&mut self, entry: Entry) {
        let is_old = entry.revision().is_some_and(|revision| revision < self.life.mark());
        if is_old {
            // The watch is behind a read, or a read behind the watch.
            return;
        }
        if let Some(revision) = entry.revision() {
            self.life.saw(revision);
            self.ledger.settle_below(revision);
        }
        self.notice_size(&entry);
        if let Entry::Live(record) = &entry {
            self.notice_others(record);
        }
        match &self.stage {
            Stage::Seated(_) => self.see_as_holder(entry),
            Stage::Releasing(_) => self.see_while_leaving(entry),
            Stage::Idle => {
                self.note(entry);
                self.remove_orphan();
            }
            Stage::Candidate => {
                self.note(entry);
                self.plan();
            }
            Stage::Splaying | Stage::Closed => self.note(entry),
        }
    }

    /// Remembers what is seen and since when.
    pub(super) fn note(&mut self, entry: Entry) {
        match entry {
            Entry::Live(record) if self.is_ours(&record) => {
                // Of such a write nothing is known, not even whose record it replaced. That must not be
                // forgotten when the record vanishes in its turn.
                let unknown = self.sent_as(&record).is_none();
                let first = self.sight.revision() != Some(record.revision);
                self.sight.own(record, self.now);
                if unknown && first {
                    self.sight.wait_until(self.now + self.longest_lease());
                }
            }
            entry => {
                self.sight.other(
                    self.bounded(entry),
                    self.life.incarnation(),
                    self.default_lease(),
                    self.now,
                );
            }
        }
    }

    /// What is under the key, with the waits that it says bounded: one bad writer is not waited for without end.
    ///
    /// Where the store has a maximum age, a longer wait is believed up to [`LONGEST_SHARED`], since that age may have been
    /// lowered before this candidate came; what is longer still is no lease, and counts as the longest age.
    fn bounded(&self, entry: Entry) -> Entry {
        let age = self.life.longest_age();
        let bound = |wait: Duration| {
            if age.is_zero() {
                wait.min(LONGEST_LEASE)
            } else if wait <= age.max(LONGEST_SHARED) {
                wait
            } else {
                age.max(self.rules.lease)
            }
        };
        match entry {
            Entry::Live(record) => Entry::Live(Record { lease: record.lease.map(bound), ..record }),
            Entry::Released(release) => Entry::Released(Release { owed: bound(release.owed), ..release }),
            Entry::Deleted { revision, lease } => Entry::Deleted { revision, lease: lease.map(bound) },
            Entry::Vacant | Entry::Expired { .. } => entry,
        }
    }

    /// The lease of a holder that does not say its own.
    pub(super) fn default_lease(&self) -> Duration {
        self.life.max_age().map_or(self.rules.lease, |age| age.max(self.rules.lease))
    }

    fn see_as_holder(&mut self, entry: Entry) {
        let Some(seat) = self.seat_mut() else { return };
        let reason = match &entry {
            Entry::Vacant => return self.found_absent(),
            other if other.revision() <= Some(seat.revision) => {
                // Our newest record, or something older: the refusal was not for a foreign record.
                seat.check = false;
                seat.absent = None;
                return;
            }
            Entry::Live(record) if self.is_ours(record) => {
                return self.adopt(record);
            }
            Entry::Live(_) | Entry::Released(_) => Reason::Usurped,
            Entry::Deleted { .. } => Reason::Deleted,
            Entry::Expired { .. } => Reason::Expired,
        };
        self.note(entry);
        self.unseat(reason);
    }

    /// A write of ours was applied although its answer never came: its number says which, and
    /// the deadline follows from when that very attempt was sent.
    fn adopt(&mut self, record: &Record) {
        let sent = self.sent_as(record);
        let revision = record.revision;
        self.sight.own(record.clone(), self.now);
        if self.rules.store.incarnation_acked && !self.ledger.is_awaiting() {
            // The acknowledgement that would have shown the store's life never came.
            self.inspect(self.now);
        }
        match sent {
            Some(sent) => self.extend(revision, &sent),
            None => {
                if let Some(seat) = self.seat_mut() {
                    let proven = seat.proven;
                    seat.extend(revision, proven);
                    self.renew();
                }
            }
        }
    }

    /// The key is absent under a holder. That is asked once more, over a new connection, before it counts.
    pub(super) fn found_absent(&mut self) {
        let connection = self.life.connection();
        let Some(seat) = self.seat_mut() else { return };
        match seat.absent {
            Some(before) if connection > before => {
                self.note(Entry::Vacant);
                return self.unseat(Reason::Deleted);
            }
            Some(_) => {}
            None => seat.absent = Some(connection),
        }
        seat.check = true;
        self.reconnect();
        self.timers.set(Timer::Retry, self.now + pace::attempt_limit(self.lease));
    }

    fn see_while_leaving(&mut self, entry: Entry) {
        if matches!(self.ledger.awaited(), Some(Purpose::Acquire | Purpose::Renew)) {
            // Its answer says more, and without it nothing is released.
            return self.note(entry);
        }
        let ours = entry.live().is_some_and(|record| self.is_ours(record));
        let (revision, sent) = (entry.revision(), entry.live().and_then(|record| self.sent_as(record)));
        self.note(entry);
        let wait = self.orphans_wait(sent);
        let Stage::Releasing(leaving) = &mut self.stage else { return };
        if !ours {
            // Absent, released, or somebody else's.
            return self.go_on();
        }
        if leaving.expect < revision {
            leaving.expect = revision;
            leaving.wait = wait;
        }
        if !self.timers.is_set(Timer::Retry) {
            self.release();
        }
    }

    /// Removes a record of ours that nobody wants.
    pub(super) fn remove_orphan(&mut self) {
        let Some(record) = self.own_record_seen() else { return };
        let sent = self.sent_as(record);
        let expect = Some(record.revision);
        let wait = self.orphans_wait(sent);
        self.leave_behind(Leaving::new(expect, wait, None));
    }

    /// The wait that a release of a record of ours passes on.
    fn orphans_wait(&self, sent: Option<Sent>) -> Wait {
        self.wait_of(sent, self.sight.since())
    }
}
