//! A holder: renews, is told that it leads, and stops when it can no longer prove that it does.

use super::event::{Event, Reason, Term};
use super::ledger::{Purpose, Sent};
use super::seat::{Leaving, Seat};
use super::timers::Timer;
use super::{Campaign, Stage, pace};
use crate::store::Expect;
use crate::time::Instant;
use crate::token::Revision;

impl Campaign {
    /// `sent + T − M`: until when a lease that was sent at `sent` is certainly there.
    pub(super) fn lease_end(&self, sent: Instant) -> Instant {
        (sent + self.lease).before(self.rules.margin.of(self.lease))
    }

    /// The deadline `D`. A told term also needs the store to have been shown to live the term's life.
    pub(super) fn deadline(&self, seat: &Seat) -> Instant {
        let proven = if seat.term.is_some() { seat.proven.min(self.life.shown()) } else { seat.proven };
        self.lease_end(proven)
    }

    /// Ends a lease whose deadline has passed.
    pub(super) fn expire(&mut self) {
        let over = self.seat().is_some_and(|seat| self.deadline(seat) <= self.now);
        if over {
            self.unseat(Reason::Expired);
        }
    }

    pub(super) fn set_deadline(&mut self) {
        match self.seat().map(|seat| self.deadline(seat)) {
            Some(deadline) => self.timers.set(Timer::Deadline, deadline),
            None => self.timers.stop(Timer::Deadline),
        }
    }

    /// Our acquire was applied in time.
    pub(super) fn take_seat(&mut self, sent: &Sent, revision: Revision) {
        let mut seat = Seat::taken(sent, revision, self.life.incarnation(), self.now);
        seat.wait = self.wait_of(Some(*sent), self.now);
        if let Some((attempt, revision)) = self.witnessed {
            seat.witness(attempt, revision);
        }
        self.timers.stop(Timer::Acquire);
        self.timers.stop(Timer::Poll);
        self.races_lost = self.races_lost.saturating_sub(1);
        // What is given back at once needs no proof of the life of the store.
        let small = self.is_small(seat.token());
        self.stage = Stage::Seated(seat);
        if !self.rules.store.incarnation_acked && !small {
            self.inspect(self.now);
        }
        self.renew_later();
    }

    /// Sets the next renewal, a third of the lease after the newest proven write was sent.
    pub(super) fn renew_later(&mut self) {
        if let Some(seat) = self.seat() {
            let due = seat.proven + pace::renew_every(self.lease);
            self.timers.stop(Timer::Retry);
            self.timers.set(Timer::Renew, due);
        }
    }

    /// Sends a renewal, and asks which life of the store this is where acknowledgements do not say.
    pub(super) fn renew(&mut self) {
        if self.ledger.is_awaiting() {
            return;
        }
        let Some(seat) = self.seat() else { return };
        let (revision, wait) = (seat.revision, seat.wait);
        self.timers.stop(Timer::Renew);
        if !self.rules.store.incarnation_acked {
            self.inspect(self.now.before(pace::inspection_reuse(self.lease)));
        }
        self.write(Purpose::Renew, Expect::Revision(revision), wait, Instant::NEVER, None);
    }

    /// Tells the win as soon as nobody else can believe that it leads.
    pub(super) fn win(&mut self) {
        self.timers.stop(Timer::Win);
        let Some(seat) = self.seat().filter(|seat| seat.term.is_none()) else { return };
        let (wait, token) = (seat.wait, seat.token());
        if self.is_small(token) {
            return self.burn(token);
        }
        let confirmed = self.rules.store.incarnation_acked || seat.is_confirmed(self.life.shown());
        let renewed = seat.renewed || !wait.renewal;
        // Once told, the deadline also counts from when the store was last shown to be the same.
        let lasts = self.lease_end(seat.proven.min(self.life.shown())) > self.now;
        let at = wait.until.max(self.life.old_at());
        let patience = at.max(seat.acknowledged) + self.lease;
        if at > self.now {
            return self.timers.set(Timer::Win, at);
        }
        if !confirmed || !renewed || !lasts {
            if patience > self.now {
                return self.timers.set(Timer::Win, patience);
            }
            // Nobody leads while this one cannot find out, so somebody else should try.
            return self.give_back(None, false);
        }
        let term = Term { token, started: self.now };
        if let Some(seat) = self.seat_mut() {
            seat.term = Some(term);
        }
        self.life.saw_token(token);
        self.burnt = 0;
        self.tell(Event::Won(term));
    }

    /// Another write of ours is known to be applied at `revision`.
    pub(super) fn extend(&mut self, revision: Revision, sent: &Sent) {
        if let Some(seat) = self.seat_mut() {
            seat.extend(revision, sent.at);
            self.renew_later();
        }
    }

    /// The seat, if it is held, is lost.
    pub(super) fn unseat(&mut self, reason: Reason) {
        let seat = match core::mem::replace(&mut self.stage, Stage::Candidate) {
            Stage::Seated(seat) => seat,
            other => {
                self.stage = other;
                return;
            }
        };
        self.leave_seat_timers();
        if let Some(term) = seat.term {
            self.tell(Event::Lost { term, reason });
        }
        let unwanted = self.closing || !self.healthy || seat.leaving.is_some();
        if reason == Reason::Expired && unwanted {
            let successor = seat.leaving.and_then(|leave| leave.successor);
            let works = seat.term.is_some();
            self.leave_behind(Leaving { works, ..Leaving::new(Some(seat.revision), seat.wait, successor) });
        } else {
            self.go_on();
        }
    }

    pub(super) fn leave_seat_timers(&mut self) {
        for timer in [Timer::Deadline, Timer::Renew, Timer::Retry, Timer::Win, Timer::Drain] {
            self.timers.stop(timer);
        }
    }
}
