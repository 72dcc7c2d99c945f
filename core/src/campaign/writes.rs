//! Writes: the campaign sends them, and classifies their answers.

use core::time::Duration;

use super::attempts::{Answered, Purpose, Sent};
use super::backoff::FIRST;
use super::event::Reason;
use super::io::Request;
use super::key::Wait;
use super::store_view::Freshness;
use super::timers::Timer;
use super::turns::Wanted;
use super::{KeyLease, Race, pace};
use crate::candidacy::{Candidacy, Stage};
use crate::record::{Attempt, Entry, Release, TermInfo, WriteId, live_headers, release_headers};
use crate::store::{Action, Expect, Outcome, Put, Write};
use crate::time::Instant;
use crate::token::{Incarnation, Revision};

impl Candidacy<KeyLease> {
    /// Emits a write and waits for its answer.
    pub(super) fn write(
        &mut self,
        purpose: Purpose,
        expect: Expect,
        wait: Wait,
        counts_before: Instant,
        successor: Option<&str>,
    ) {
        let is_release = purpose == Purpose::Release;
        debug_assert!(
            !self.intent.closing || purpose != Purpose::Acquire,
            "I6: nothing is acquired after a close"
        );
        debug_assert!(!is_release || matches!(expect, Expect::Revision(_)), "I7: a release names its record");
        debug_assert!(!is_release || self.term.is_none(), "I8: a term is lost before its release");
        let attempt = self.own.attempts.next();
        let write_id = WriteId { nonce: self.nonce, attempt };
        let incarnation = self.own.store.incarnation();
        // The lease stated in the record covers the whole wait of this candidate, because a candidate that sees only
        // this record must wait for the same earlier holders, whose leases may be longer. The store keeps the record
        // for the stated time, since an absence would not show those holders.
        let delay = if wait.delayed { self.least_delay() } else { Duration::ZERO };
        let stated_lease = self.rules.lease.max(wait.owed(self.now)).max(delay);
        let term_info = match purpose {
            Purpose::Renew => self.holder().map(|holder| {
                let led_for = self.term.map(|term| self.now.since(term.started));
                TermInfo { token: holder.token(), led_for }
            }),
            Purpose::Acquire | Purpose::Release => None,
        };
        let term_info = term_info.unwrap_or_else(|| TermInfo::of_acquire(incarnation));
        let put = || Put {
            value: self.rules.name.clone(),
            headers: live_headers(write_id, stated_lease, term_info, &self.rules.metadata),
            lease: stated_lease,
        };
        let action = match purpose {
            Purpose::Acquire => Action::Acquire(put()),
            Purpose::Renew => Action::Renew(put()),
            Purpose::Release => Action::Release {
                headers: release_headers(write_id, wait.owed(self.now), incarnation, successor),
            },
        };
        self.own.attempts.send(Sent {
            attempt,
            purpose,
            expect,
            at: self.now,
            wait,
            stated_lease,
            mark: self.own.store.mark(),
            counts_before,
            incarnation,
            open: true,
            answered: Answered::NOT,
        });
        self.timers.set(Timer::Attempt, self.now + pace::attempt_limit(self.lease));
        self.send(Request::Write(Write { attempt, expect, action }));
    }

    /// Handles the answer to a write. It may come long after the campaign stopped waiting for it.
    pub(super) fn wrote(&mut self, attempt: Attempt, outcome: Outcome) {
        let settled = outcome != Outcome::Unknown;
        let (sent, awaited) = self.own.attempts.answer(attempt, settled);
        self.remember_answer(attempt, &outcome);
        if awaited {
            self.timers.stop(Timer::Attempt);
        }
        match outcome {
            Outcome::Applied { revision, incarnation } => self.applied(sent, revision, incarnation),
            Outcome::Refused { current } => self.refused(sent, current, awaited),
            Outcome::Conflict | Outcome::Busy | Outcome::NotSent | Outcome::Unknown if !awaited => {}
            Outcome::Conflict => self.refused_unexplained(sent),
            Outcome::Busy => self.failed_perhaps_isolated(),
            Outcome::NotSent | Outcome::Unknown => self.unanswered(),
            Outcome::Failed(fault) => {
                self.report_fault(fault);
                if awaited {
                    self.failed();
                }
            }
        }
        self.resume();
    }

    /// Remembers the answer to a write. A record that counted as ours is foreign if the store now reports that our
    /// write with this number has another revision, or was not applied.
    fn remember_answer(&mut self, attempt: Attempt, outcome: &Outcome) {
        let was_ours = self.own_record_observed().is_some();
        self.own.attempts.remember(attempt, outcome);
        let Some(record) = self.own.key.record().filter(|record| was_ours && !self.is_ours(record)) else {
            return;
        };
        let record = record.clone();
        let leads_from_it = self.holder().is_some_and(|holder| holder.revision == record.revision);
        self.own.key.forget_entry();
        self.check_others(&record);
        let entry = Entry::Live(record);
        self.observe_token_in(&entry);
        self.remember(entry);
        if leads_from_it {
            self.lose(Reason::Usurped);
        }
    }

    /// Stops waiting for the answer to a write, whose time is up. The write may still be applied, and its answer still
    /// counts.
    pub(super) fn attempt_timed_out(&mut self) {
        self.own.attempts.stop_waiting();
        self.timed_out(Wanted::Write);
        self.resume();
    }

    /// Continues with whatever waited for the answer.
    fn resume(&mut self) {
        if self.own.attempts.is_awaiting() {
            return;
        }
        match &self.stage {
            Stage::Racing(Race::Candidate) => self.plan(),
            Stage::Releasing(_) if !self.timers.is_set(Timer::Retry) && !self.own.key.is_reading() => {
                self.release()
            }
            // This renewal fell due while the answer was awaited.
            Stage::Racing(Race::Holder(_))
                if !self.timers.is_set(Timer::Retry) && !self.timers.is_set(Timer::Renew) =>
            {
                self.act()
            }
            _ => {}
        }
    }

    fn applied(&mut self, sent: Option<Sent>, revision: Revision, incarnation: Option<Incarnation>) {
        let Some(sent) = sent else { return self.reread() };
        match incarnation {
            Some(incarnation) if self.is_history(&sent, incarnation) => return,
            Some(incarnation) if incarnation != self.own.store.incarnation() => {
                return self.acknowledged_in_another_incarnation();
            }
            Some(_) => self.own.store.verify(sent.at),
            None => {}
        }
        if sent.incarnation != self.own.store.incarnation() {
            // The write was meant for another incarnation, and was applied either there or here.
            return self.reread();
        }
        if revision <= sent.mark {
            return self.acknowledged_below(&sent, revision);
        }
        self.succeeded();
        self.own.store.observe_revision(revision);
        self.own.attempts.close_outdated(revision);
        if self.own.store.mark() > revision && self.holder().is_none() {
            // A newer revision is known, even if it is not the observed entry, so the applied write is out of date.
            return;
        }
        if self.holder().is_some_and(|holder| holder.revision > revision) {
            // The answer is late, and reveals nothing about our newest record.
            return;
        }
        match sent.purpose {
            Purpose::Release => self.released(&sent, revision),
            Purpose::Acquire | Purpose::Renew => self.record_applied(&sent, revision),
        }
        self.own.attempts.forget_overtaken(sent.attempt, revision, self.longest_lease(), self.now);
    }

    /// Whether a write was both sent in and applied in incarnations that are over.
    fn is_history(&self, sent: &Sent, applied: Incarnation) -> bool {
        let present = self.own.store.incarnation();
        sent.incarnation != present
            && applied != present
            && (applied == sent.incarnation || applied < present)
    }

    /// Handles the news that a live record of ours was applied at `revision`.
    fn record_applied(&mut self, sent: &Sent, revision: Revision) {
        let in_time = self.now < self.lease_end(sent.at).min(sent.counts_before);
        let record = self.own_record(sent, revision);
        self.observe_own(record, Some(*sent));
        let wait = self.wait_of(Some(*sent), self.now);
        self.claim_kept();
        match &mut self.stage {
            Stage::Racing(Race::Holder(_)) => {
                self.extend(revision, sent);
                if self.rules.own.store.incarnation_acked {
                    self.shown_the_same();
                }
            }
            Stage::Racing(Race::Candidate) if sent.purpose == Purpose::Acquire && in_time => {
                self.become_holder(sent, revision)
            }
            // The record came too late to lead from it. It is an orphan, which the plan retakes.
            Stage::Racing(Race::Candidate) | Stage::Splaying | Stage::Closed => {}
            Stage::Releasing(releasing) => {
                releasing.expect = releasing.expect.max(Some(revision));
                releasing.wait = wait;
            }
            Stage::Idle => self.remove_orphan(),
        }
    }

    /// Our release is applied.
    fn released(&mut self, sent: &Sent, revision: Revision) {
        if self.holder().is_some() {
            // This release is old: the present lease was acquired after it.
            return;
        }
        let write_id = Some(WriteId { nonce: self.nonce, attempt: sent.attempt });
        let incarnation = self.own.store.incarnation();
        let successor = match &self.stage {
            Stage::Releasing(releasing) => releasing.successor.clone(),
            _ => None,
        };
        let owed = sent.wait.owed(sent.at);
        let release = Entry::Released(Release { revision, write_id, owed, incarnation, successor });
        self.own.key.observe(release, incarnation, self.default_lease(), self.now);
        // The wait that we owe ends at a fixed instant, however long the answer took.
        self.own.key.owes(sent.wait);
        if matches!(self.stage, Stage::Releasing(_)) {
            self.end_release();
            self.observe_claims();
        }
    }

    fn refused(&mut self, sent: Option<Sent>, current: Revision, awaited: bool) {
        let Some(sent) = sent else { return };
        let expected = sent.expected();
        if current == expected {
            // The key still has the expected revision, so the store refused because another write is in flight, as with
            // `Busy`.
            if awaited {
                self.failed_perhaps_isolated();
            }
            return;
        }
        if current == Revision(0) {
            return self.refused_for_absence(&sent, expected, awaited);
        }
        match self.own.store.classify(current, sent.mark, self.lease, self.now) {
            Freshness::Fresh => {}
            Freshness::Stale if awaited => return self.stale(),
            Freshness::Stale => return self.reconnect(),
            Freshness::Regressed => return self.regress(current),
        }
        self.own.store.observe_revision(current);
        match &mut self.stage {
            // If a later attempt of ours has overtaken this one, its refusal needs no explanation.
            Stage::Racing(Race::Holder(holder)) if current > holder.revision => {
                holder.must_read = true;
                self.read();
            }
            Stage::Releasing(_) if awaited => self.read(),
            Stage::Racing(Race::Candidate) if awaited => self.race_lost(current),
            _ => {}
        }
    }

    /// Handles a refusal that reports no record of the key at all.
    fn refused_for_absence(&mut self, sent: &Sent, expected: Revision, awaited: bool) {
        match &self.stage {
            // The refusal has no revision to compare with the mark. A write sent before our newest record was known may
            // have been refused before that record existed.
            Stage::Racing(Race::Holder(holder)) if holder.knew(sent, expected) => self.found_absent(),
            Stage::Releasing(_) if awaited => self.read(),
            Stage::Racing(Race::Candidate) if awaited => {
                self.own.key.forget_entry();
                self.plan();
            }
            _ => {}
        }
    }

    /// Handles a refusal that does not report the key's revision; a read shows it.
    fn refused_unexplained(&mut self, sent: Option<Sent>) {
        let Some(expected) = sent.map(|sent| sent.expected()) else { return };
        match &mut self.stage {
            // The holder waits before it reads, so that a store that refuses everything does not get a renewal for each
            // answer to a read.
            Stage::Racing(Race::Holder(holder)) => {
                holder.must_read |= expected >= holder.revision;
                self.failed();
            }
            Stage::Releasing(_) => self.read(),
            // The key has another revision than the expected one, so either a larger revision or none.
            Stage::Racing(Race::Candidate) => self.race_lost(Revision(expected.0.saturating_add(1))),
            Stage::Idle | Stage::Splaying | Stage::Closed => {}
        }
    }

    /// Notes that another candidate was faster, or an earlier attempt of ours that was not answered.
    fn race_lost(&mut self, current: Revision) {
        if self.own.key.revision().is_some_and(|observed| observed >= current) {
            // The watch showed the winner's record before the refusal arrived.
            if self.own_record_observed().is_none() {
                self.own.setbacks.race_lost();
            }
            return self.plan();
        }
        self.own.key.forget_entry();
        if !self.own.attempts.may_hold() {
            // The watch normally delivers the winner's record; the read after this wait is for the case that it does
            // not.
            self.own.setbacks.race_lost();
            self.own.setbacks.wait_until(self.now + super::backoff::standard(1, &mut self.rng));
        }
        self.plan();
    }

    /// Handles an acknowledgement from another incarnation than the known one.
    fn acknowledged_in_another_incarnation(&mut self) {
        self.lose(Reason::StoreReset);
        self.inspect(self.now);
        self.reread();
        // Until the inspection is answered, every further acquire would end the same way.
        self.past.rest_until = self.past.rest_until.max(self.now + FIRST);
    }

    /// Handles an acknowledgement below the revision known when the write was sent: the store went back.
    fn acknowledged_below(&mut self, sent: &Sent, revision: Revision) {
        if sent.purpose == Purpose::Acquire {
            self.used_up();
        }
        self.regress(revision);
        match sent.purpose {
            Purpose::Release => self.released(sent, revision),
            Purpose::Acquire | Purpose::Renew => {
                let record = self.own_record(sent, revision);
                self.own.key.observe_own(record, self.now);
            }
        }
    }

    /// Notes that the store went back to `revision`.
    pub(super) fn regress(&mut self, revision: Revision) {
        self.own.store.regress(revision, self.longest_lease(), self.now);
        self.own.key.forget();
        if let Stage::Releasing(releasing) = &mut self.stage {
            releasing.expect = None;
        }
        self.lose(Reason::StoreReset);
        self.report_reset();
    }

    fn reread(&mut self) {
        self.own.key.forget_entry();
        if let Some(holder) = self.holder_mut() {
            holder.must_read = true;
            self.read();
        }
    }
}
