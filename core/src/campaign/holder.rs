//! A holder: renews, leads once its win is reported, and stops when it can no longer prove its lease.

use super::attempts::{Purpose, Sent};
use super::event::Reason;
use super::key::Wait;
use super::releasing::Releasing;
use super::timers::Timer;
use super::turns::Wanted;
use super::{KeyLease, Race, pace};
use crate::candidacy::{Candidacy, Stage};
use crate::record::Attempt;
use crate::store::Expect;
use crate::time::Instant;
use crate::token::{Incarnation, Revision, Token};

/// A holder: as far as we can know, the key holds our newest record.
#[derive(Clone, Debug, Hash)]
pub struct Holder {
    /// The newest revision known to be ours; the next renewal expects it.
    pub(super) revision: Revision,
    /// When the newest write that is known to be applied was sent.
    pub(super) proven: Instant,
    pub(super) wait: Wait,
    /// Whether a renewal sent after the acquire's acknowledgement was acknowledged too.
    pub(super) renewed: bool,
    /// The revision of the acquire: the token of the term.
    sequence: Revision,
    incarnation: Incarnation,
    /// When the acquire was acknowledged.
    pub(super) acknowledged: Instant,
    /// The number of the acquire's attempt.
    attempt: Attempt,
    /// Whether the watch showed the acquire, and with it the acquire's incarnation.
    confirmed: bool,
    /// Whether a read has to explain a refusal before the next write.
    pub(super) must_read: bool,
    /// The number of the connection over which the key was found absent.
    pub(super) absent: Option<u64>,
}

impl Holder {
    pub(super) fn new(sent: &Sent, revision: Revision, incarnation: Incarnation, now: Instant) -> Self {
        Self {
            revision,
            proven: sent.at,
            wait: sent.wait,
            renewed: false,
            sequence: revision,
            incarnation,
            acknowledged: now,
            attempt: sent.attempt,
            confirmed: false,
            must_read: false,
            absent: None,
        }
    }

    /// Notes that another write of ours was applied at `revision`. The token remains that of the acquire.
    pub(super) fn extend(&mut self, revision: Revision, sent_at: Instant) {
        self.revision = self.revision.max(revision);
        self.proven = self.proven.max(sent_at);
        self.renewed |= sent_at >= self.acknowledged;
        self.must_read = false;
        self.absent = None;
    }

    pub(super) fn token(&self) -> Token {
        Token { incarnation: self.incarnation, sequence: self.sequence }
    }

    /// Notes that the watch showed `attempt` applied at `revision`.
    pub(super) fn confirm(&mut self, attempt: Attempt, revision: Revision) {
        self.confirmed |= (attempt, revision) == (self.attempt, self.sequence);
    }

    /// Whether our newest known record was already known when `sent` was sent: `sent` belongs to this term, and the
    /// revision `expected` is that record or a newer one.
    pub(super) fn knew(&self, sent: &Sent, expected: Revision) -> bool {
        sent.attempt > self.attempt && sent.incarnation == self.incarnation && expected >= self.revision
    }

    /// Whether the acquire certainly belongs to the known incarnation: the watch showed it there, or an inspection
    /// showed that incarnation after the acquire was acknowledged.
    pub(super) fn is_confirmed(&self, verified_at: Instant) -> bool {
        self.confirmed || verified_at >= self.acknowledged
    }
}

impl Candidacy<KeyLease> {
    /// `sent + T − M`: the lease of a write sent at `sent` certainly lasts until then.
    pub(super) fn lease_end(&self, sent: Instant) -> Instant {
        (sent + self.lease).before(self.rules.margin.of(self.lease))
    }

    /// The deadline `D`. For a reported term, `D` also counts from the last proof that the store still has the term's
    /// incarnation.
    pub(super) fn deadline_of(&self, holder: &Holder) -> Instant {
        let proven =
            if self.term.is_some() { holder.proven.min(self.own.store.verified_at()) } else { holder.proven };
        self.lease_end(proven)
    }

    /// Makes this candidate a holder, because its acquire was applied in time.
    pub(super) fn become_holder(&mut self, sent: &Sent, revision: Revision) {
        let mut holder = Holder::new(sent, revision, self.own.store.incarnation(), self.now);
        holder.wait = self.wait_of(Some(*sent), self.now);
        if let Some((attempt, revision)) = self.own.store.watched_write() {
            holder.confirm(attempt, revision);
        }
        self.timers.stop(Timer::Acquire);
        self.timers.stop(Timer::Poll);
        self.own.setbacks.race_won();
        // A lease that is released at once needs no proof of the incarnation.
        let small = self.is_too_small(holder.token());
        self.stage = Stage::Racing(Race::Holder(holder));
        if !self.rules.own.store.incarnation_acked && !small {
            self.inspect(self.now);
        }
        self.renew_later();
    }

    /// Sets the next renewal: a third of the lease after the newest proven write was sent, or earlier if the connection
    /// has many campaigns.
    pub(super) fn renew_later(&mut self) {
        if let Some(holder) = self.holder() {
            let mut due = holder.proven + pace::renew_every(self.lease);
            if self.own.is_one_of_many {
                due = pace::spread(due, self.nonce(), self.lease);
            }
            self.timers.stop(Timer::Retry);
            self.timers.set(Timer::Renew, due);
        }
    }

    /// Sends a renewal. Also asks for the incarnation, if acknowledgements do not carry it.
    pub(super) fn renew(&mut self) {
        if self.own.attempts.is_awaiting() {
            return;
        }
        let Some(holder) = self.holder() else { return };
        let (revision, wait) = (holder.revision, holder.wait);
        self.timers.stop(Timer::Renew);
        if !self.may_ask(Wanted::Write) {
            return;
        }
        if !self.rules.own.store.incarnation_acked {
            self.inspect(self.now.before(pace::inspection_reuse(self.lease)));
        }
        self.write(Purpose::Renew, Expect::Revision(revision), wait, Instant::NEVER, None);
    }

    /// Reports the win once no other candidate can believe that it leads.
    pub(super) fn win(&mut self) {
        self.timers.stop(Timer::Win);
        let Some(holder) = self.holder().filter(|_| self.term.is_none()) else { return };
        let (wait, token) = (holder.wait, holder.token());
        if self.is_too_small(token) {
            return self.give_up_small_token(token);
        }
        let confirmed =
            self.rules.own.store.incarnation_acked || holder.is_confirmed(self.own.store.verified_at());
        let renewed = holder.renewed || !wait.renewal;
        // Once the win is reported, the deadline also counts from the last proof that the store is the same.
        let lasts = self.lease_end(holder.proven.min(self.own.store.verified_at())) > self.now;
        let at = wait.until.max(self.own.store.trusted_at());
        if at > self.now {
            return self.timers.set(Timer::Win, at);
        }
        if !confirmed || !renewed || !lasts {
            // A later answer may supply the missing proof. If none does, this candidate gives way.
            return;
        }
        self.own.store.observe_token(token);
        self.own.setbacks.forget_used_up_tokens();
        self.won(token);
    }

    /// Extends the lease, because another write of ours is known to be applied at `revision`.
    pub(super) fn extend(&mut self, revision: Revision, sent: &Sent) {
        if let Some(holder) = self.holder_mut() {
            holder.extend(revision, sent.at);
            self.renew_later();
        }
    }

    /// Loses the lease, if this campaign holds it.
    pub(super) fn lose(&mut self, reason: Reason) {
        let holder = match core::mem::replace(&mut self.stage, Stage::Racing(Race::Candidate)) {
            Stage::Racing(Race::Holder(holder)) => holder,
            other => {
                self.stage = other;
                return;
            }
        };
        self.stop_holder_timers();
        let departure = self.departure.take();
        let working = self.lost(reason).is_some();
        let unwanted = self.intent.closing || !self.intent.healthy || departure.is_some();
        if reason == Reason::Expired && unwanted {
            let successor = departure.and_then(|departure| departure.successor);
            self.start_release(Releasing {
                working,
                ..Releasing::new(Some(holder.revision), holder.wait, successor)
            });
        } else {
            self.end_release();
        }
    }

    pub(super) fn stop_holder_timers(&mut self) {
        for timer in [Timer::Deadline, Timer::Renew, Timer::Retry, Timer::Win, Timer::Drain] {
            self.timers.stop(timer);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::campaign::attempts::Answered;
    use crate::store::Expect;
    use core::time::Duration;

    fn at(secs: u64) -> Instant {
        Instant::ZERO + Duration::from_secs(secs)
    }

    /// Sent at 5 s, acknowledged at 7 s with revision 10.
    fn holder() -> Holder {
        let sent = Sent {
            attempt: Attempt(1),
            purpose: Purpose::Acquire,
            expect: Expect::Absent,
            at: at(5),
            wait: Wait::new(at(30), true),
            stated_lease: Duration::from_secs(30),
            mark: Revision(9),
            counts_before: Instant::NEVER,
            incarnation: Incarnation(3),
            open: true,
            answered: Answered::NOT,
        };
        Holder::new(&sent, Revision(10), Incarnation(3), at(7))
    }

    #[test]
    fn a_lease_counts_from_when_it_was_asked_for_and_keeps_that_attempts_wait() {
        let holder = holder();
        assert_eq!((holder.proven, holder.wait.until, holder.revision), (at(5), at(30), Revision(10)));
    }

    #[test]
    fn the_token_stays_that_of_the_acquire() {
        let mut holder = holder();
        holder.extend(Revision(11), at(15));
        assert_eq!(holder.token(), Token { incarnation: Incarnation(3), sequence: Revision(10) });
        assert_eq!((holder.proven, holder.revision), (at(15), Revision(11)));
    }

    #[test]
    fn answers_out_of_order_take_nothing_back() {
        let mut holder = holder();
        holder.extend(Revision(12), at(15));
        holder.extend(Revision(11), at(14));
        assert_eq!((holder.proven, holder.revision), (at(15), Revision(12)));
    }

    #[test]
    fn only_what_was_sent_after_the_acquire_was_acknowledged_is_a_later_renewal() {
        let mut holder = holder();
        holder.extend(Revision(11), at(6));
        assert!(!holder.renewed);
        holder.extend(Revision(12), at(7));
        assert!(holder.renewed);
    }

    #[test]
    fn only_what_was_asked_after_the_acquire_was_acknowledged_confirms_the_incarnation() {
        assert!(!holder().is_confirmed(at(6)));
        assert!(holder().is_confirmed(at(7)));
    }

    #[test]
    fn a_write_that_was_applied_answers_every_open_question() {
        let mut holder = holder();
        holder.must_read = true;
        holder.absent = Some(2);
        holder.extend(Revision(11), at(15));
        assert_eq!((holder.must_read, holder.absent), (false, None));
    }
}
