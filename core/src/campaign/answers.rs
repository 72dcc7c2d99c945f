//! The answers to writes.

use super::event::Reason;
use super::ledger::{Purpose, Sent};
use super::life::Freshness;
use super::timers::Timer;
use super::{Campaign, Stage};
use crate::record::{Attempt, Entry, Release, Stamp};
use crate::store::{Expect, Outcome};
use crate::token::{Incarnation, Revision};

impl Campaign {
    /// A write was answered, perhaps long after it was given up waiting for.
    pub(super) fn wrote(&mut self, attempt: Attempt, outcome: Outcome) {
        let settled = outcome != Outcome::Unknown;
        let (sent, awaited) = self.ledger.answer(attempt, settled);
        self.resolve(attempt, &outcome);
        if awaited {
            self.timers.stop(Timer::Attempt);
        }
        match outcome {
            Outcome::Applied { revision, incarnation } => self.applied(sent, revision, incarnation),
            Outcome::Refused { current } => self.refused(sent, current, awaited),
            Outcome::Busy | Outcome::NotSent | Outcome::Unknown if !awaited => {}
            Outcome::Busy => self.hindered(),
            Outcome::NotSent | Outcome::Unknown => self.unanswered(),
            Outcome::Failed(fault) => {
                self.fault(fault);
                if awaited {
                    self.failed();
                }
            }
        }
        self.resume();
    }

    /// Remembers what the store said of a write. A record that was taken for ours is another's where the store now
    /// says that our write of this number is elsewhere, or nowhere.
    fn resolve(&mut self, attempt: Attempt, outcome: &Outcome) {
        let believed = self.own_record_seen().cloned();
        self.ledger.remember(attempt, outcome);
        let Some(record) = believed.filter(|record| !self.is_ours(record)) else { return };
        let leads_from_it = self.seat().is_some_and(|seat| seat.revision == record.revision);
        self.sight.look_again();
        self.notice_others(&record);
        self.note(Entry::Live(record));
        if leads_from_it {
            self.unseat(Reason::Usurped);
        }
    }

    /// No answer came in time. The write may still be applied, and its answer still counts.
    pub(super) fn attempt_timed_out(&mut self) {
        self.ledger.stop_waiting();
        self.reconnect();
        self.unanswered();
        self.resume();
    }

    /// Goes on with what had to wait for an answer.
    fn resume(&mut self) {
        if self.ledger.is_awaiting() {
            return;
        }
        match &self.stage {
            Stage::Candidate => self.plan(),
            Stage::Releasing(_) if !self.timers.is_set(Timer::Retry) && self.reading.is_none() => {
                self.release()
            }
            // A renewal that fell due while the answer was awaited.
            Stage::Seated(_) if !self.timers.is_set(Timer::Retry) && !self.timers.is_set(Timer::Renew) => {
                self.act()
            }
            _ => {}
        }
    }

    fn applied(&mut self, sent: Option<Sent>, revision: Revision, incarnation: Option<Incarnation>) {
        let Some(sent) = sent else { return self.look_again() };
        match incarnation {
            Some(incarnation) if self.is_history(&sent, incarnation) => return,
            Some(incarnation) if incarnation != self.life.incarnation() => {
                return self.acknowledged_elsewhere();
            }
            Some(_) => self.life.show(sent.at),
            None => {}
        }
        if sent.incarnation != self.life.incarnation() {
            // It was meant for another life of the store, and was applied in that one or in this.
            return self.look_again();
        }
        if revision <= sent.mark {
            return self.acknowledged_below(&sent, revision);
        }
        self.recovered();
        self.life.saw(revision);
        self.ledger.settle_below(revision);
        if self.life.mark() > revision && self.seat().is_none() {
            // Something newer is known to have been there, though it may not be what is looked at now; what was
            // applied is history.
            return;
        }
        match sent.purpose {
            Purpose::Release => self.released(&sent, revision),
            Purpose::Acquire | Purpose::Renew => self.stands(&sent, revision),
        }
    }

    /// Whether a write was both sent and applied in lives of the store that are over.
    fn is_history(&self, sent: &Sent, applied: Incarnation) -> bool {
        let present = self.life.incarnation();
        sent.incarnation != present
            && applied != present
            && (applied == sent.incarnation || applied < present)
    }

    /// A live record of ours stands at `revision`.
    fn stands(&mut self, sent: &Sent, revision: Revision) {
        let in_time = self.now < self.lease_end(sent.at).min(sent.counts_before);
        let wait = self.wait_of(Some(*sent), self.now);
        self.sight.own(self.own_record(sent, revision), self.now);
        match &mut self.stage {
            Stage::Seated(_) => self.extend(revision, sent),
            Stage::Candidate if sent.purpose == Purpose::Acquire && in_time => self.take_seat(sent, revision),
            // Too late to lead from it: an orphan, which the plan retakes.
            Stage::Candidate | Stage::Splaying | Stage::Closed => {}
            Stage::Releasing(leaving) => {
                leaving.expect = leaving.expect.max(Some(revision));
                leaving.wait = wait;
            }
            Stage::Idle => self.remove_orphan(),
        }
    }

    /// Our release is applied.
    fn released(&mut self, sent: &Sent, revision: Revision) {
        if self.seat().is_some() {
            // An old one: what we hold was taken after it.
            return;
        }
        let stamp = Some(Stamp { nonce: self.nonce, attempt: sent.attempt });
        let incarnation = self.life.incarnation();
        let successor = match &self.stage {
            Stage::Releasing(leaving) => leaving.successor.clone(),
            _ => None,
        };
        let owed = sent.wait.owed(sent.at);
        let release = Entry::Released(Release { revision, stamp, owed, incarnation, successor });
        self.sight.other(release, incarnation, self.default_lease(), self.now);
        // What we owed is known to us as an instant, which the time that the answer took does not move.
        self.sight.owes(sent.wait);
        if matches!(self.stage, Stage::Releasing(_)) {
            self.go_on();
        }
    }

    fn refused(&mut self, sent: Option<Sent>, current: Revision, awaited: bool) {
        let Some(sent) = sent else { return };
        let expected = match sent.expect {
            Expect::Absent => Revision(0),
            Expect::Revision(revision) => revision,
        };
        if current == expected {
            // What was expected is there, so another write is in flight: as good as `Busy`.
            if awaited {
                self.hindered();
            }
            return;
        }
        if current == Revision(0) {
            return self.refused_for_absence(&sent, expected, awaited);
        }
        match self.life.judge(current, sent.mark, self.lease, self.now) {
            Freshness::Fresh => {}
            Freshness::Stale if awaited => return self.stale(),
            Freshness::Stale => return self.reconnect(),
            Freshness::Regressed => return self.regress(current),
        }
        self.life.saw(current);
        match &mut self.stage {
            // An attempt that a later one of ours has overtaken explains itself.
            Stage::Seated(seat) if current > seat.revision => {
                seat.check = true;
                self.read();
            }
            Stage::Releasing(_) if awaited => self.read(),
            Stage::Candidate if awaited => self.race_lost(current),
            _ => {}
        }
    }

    /// The store knows no record of the key at all.
    fn refused_for_absence(&mut self, sent: &Sent, expected: Revision, awaited: bool) {
        match &self.stage {
            // There is no revision to judge by the mark that was known when it was sent. What was sent before the
            // newest record of ours was known may have been refused before that record was there.
            Stage::Seated(seat) if seat.knew(sent, expected) => self.found_absent(),
            Stage::Releasing(_) if awaited => self.read(),
            Stage::Candidate if awaited => {
                self.sight.look_again();
                self.plan();
            }
            _ => {}
        }
    }

    /// Somebody else was faster, or an earlier attempt of ours that was not answered.
    fn race_lost(&mut self, current: Revision) {
        if self.sight.revision().is_some_and(|seen| seen >= current) {
            // The watch was faster than the refusal.
            if self.own_record_seen().is_none() {
                self.races_lost = self.races_lost.saturating_add(1);
            }
            return self.plan();
        }
        self.sight.look_again();
        if !self.ledger.may_hold() {
            // The watch will tell who; the read is for when it does not.
            self.races_lost = self.races_lost.saturating_add(1);
            self.not_before = self.now + super::backoff::standard(1, &mut self.rng);
        }
        self.plan();
    }

    /// An acknowledgement from another life of the store than the one known.
    fn acknowledged_elsewhere(&mut self) {
        self.unseat(Reason::StoreReset);
        self.inspect(self.now);
        self.look_again();
    }

    /// An acknowledgement below what was known when the write was sent: the store went back.
    fn acknowledged_below(&mut self, sent: &Sent, revision: Revision) {
        if sent.purpose == Purpose::Acquire {
            self.used_up();
        }
        self.regress(revision);
        match sent.purpose {
            Purpose::Release => self.released(sent, revision),
            Purpose::Acquire | Purpose::Renew => self.sight.own(self.own_record(sent, revision), self.now),
        }
    }

    /// The store went back to `revision`.
    pub(super) fn regress(&mut self, revision: Revision) {
        self.life.regress(revision, self.longest_lease(), self.now);
        self.sight.forget();
        if let Stage::Releasing(leaving) = &mut self.stage {
            leaving.expect = None;
        }
        self.unseat(Reason::StoreReset);
        self.tell_reset();
    }

    fn look_again(&mut self) {
        self.sight.look_again();
        if let Some(seat) = self.seat_mut() {
            seat.check = true;
            self.read();
        }
    }
}
