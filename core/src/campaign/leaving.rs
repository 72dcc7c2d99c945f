//! Leaving: the drain, the release, and the end.

use alloc::string::String;
use core::time::Duration;

use super::event::{Event, Reason};
use super::ledger::Purpose;
use super::seat::{Leave, Leaving};
use super::timers::Timer;
use super::{Campaign, Stage, pace};
use crate::store::Expect;
use crate::time::Instant;

impl Campaign {
    /// Leaves the seat of one's own will, if it is held: drains a told term, gives an untold one back.
    pub(super) fn leave(&mut self, reason: Reason, successor: Option<String>) {
        let Some(seat) = self.seat() else { return };
        if seat.leaving.is_some() {
            return;
        }
        let Some(term) = seat.term else { return self.give_back(successor, false) };
        let until = self.now + self.rules.drain;
        if let Some(seat) = self.seat_mut() {
            seat.leaving = Some(Leave { reason, successor });
        }
        self.timers.set(Timer::Drain, until);
        self.tell(Event::Draining { term, until, reason });
    }

    /// The work of a term that drains, or that ended before its work did, has ended.
    pub(super) fn drained(&mut self) {
        match &mut self.stage {
            Stage::Seated(_) => self.end_drain(false),
            Stage::Releasing(leaving) if leaving.works => {
                leaving.works = false;
                self.release();
            }
            _ => {}
        }
    }

    /// Ends a draining term: its work has ended, or its time is up while it still `works`.
    pub(super) fn end_drain(&mut self, works: bool) {
        let leave = self.seat().and_then(|seat| seat.leaving.clone());
        if let Some(Leave { reason, successor }) = leave {
            self.end_term(reason, successor, works);
        }
    }

    /// The user's handler failed: the term ends at once, the release waits for what is left of its work, and
    /// candidacy resumes after a while.
    pub(super) fn handler_failed(&mut self) {
        let Some(term) = self.seat().and_then(|seat| seat.term) else { return };
        let at_once = self.now.since(term.started) < self.lease;
        self.handler_failures = if at_once { self.handler_failures.saturating_add(1) } else { 1 };
        self.end_term(Reason::HandlerFailed, None, true);
        self.resting_until = self.now + self.rules.backoff.wait(self.handler_failures, &mut self.rng);
    }

    pub(super) fn health(&mut self, healthy: bool) {
        let was = core::mem::replace(&mut self.healthy, healthy);
        match self.stage {
            Stage::Idle if healthy && !was && self.in_race => self.enter(),
            Stage::Splaying | Stage::Candidate if !healthy => self.stand_down(),
            Stage::Seated(_) if !healthy => self.leave(Reason::Unhealthy, None),
            _ => {}
        }
    }

    /// Leaves the seat and the race, for good.
    pub(super) fn close(&mut self) {
        self.closing = true;
        self.in_race = false;
        match self.stage {
            Stage::Idle | Stage::Splaying | Stage::Candidate => self.stand_down(),
            Stage::Seated(_) => self.leave(Reason::Closed, None),
            Stage::Releasing(_) => self.limit_close(),
            Stage::Closed => {}
        }
    }

    /// Stops being a candidate; where a record of ours may be there, it is looked for and removed.
    fn stand_down(&mut self) {
        self.timers.stop(Timer::Splay);
        self.timers.stop(Timer::Acquire);
        self.timers.stop(Timer::Poll);
        if self.own_record_seen().is_some() {
            self.remove_orphan();
        } else if let Some(sent) = self.ledger.newest_open() {
            let wait = sent.wait;
            self.leave_behind(Leaving::new(None, wait, None));
        } else {
            self.go_on();
        }
    }

    /// Ends a told term: `Lost` is told, and only then is the seat given back; where its work goes on (`works`), not
    /// before that has ended.
    fn end_term(&mut self, reason: Reason, successor: Option<String>, works: bool) {
        let term = self.seat_mut().and_then(|seat| seat.term.take());
        if let Some(term) = term {
            self.tell(Event::Lost { term, reason });
        }
        self.give_back(successor, works);
    }

    /// Gives a seat back that is held and of which nobody was told, or no longer is.
    pub(super) fn give_back(&mut self, successor: Option<String>, works: bool) {
        let Some(seat) = self.seat() else { return };
        let leaving = Leaving { works, ..Leaving::new(Some(seat.revision), seat.wait, successor) };
        self.leave_seat_timers();
        self.leave_behind(leaving);
    }

    /// Releases what is, or may be, left of us in the store. Where the work of the term goes on, that waits for its
    /// end until the lease has run out, which is when the record is the store's to remove; those who wait for that
    /// come before one that was to leave.
    pub(super) fn leave_behind(&mut self, leaving: Leaving) {
        let others_first = match leaving.works {
            true => self.rules.store.granularity.saturating_add(pace::hold_back(self.lease)),
            false => Duration::ZERO,
        };
        self.stage = Stage::Releasing(leaving);
        self.timers.set(Timer::Release, self.now + self.lease.saturating_add(others_first));
        self.limit_close();
        self.release();
    }

    fn limit_close(&mut self) {
        if self.closing && !self.timers.is_set(Timer::Close) {
            self.timers.set(Timer::Close, self.now + pace::CLOSE_LIMIT);
        }
    }

    /// Sends the release, or looks for what there is to release.
    pub(super) fn release(&mut self) {
        if self.ledger.is_awaiting() {
            return;
        }
        let now = self.now;
        let Stage::Releasing(leaving) = &mut self.stage else { return };
        if leaving.works {
            return;
        }
        let Some(revision) = leaving.expect else { return self.read() };
        let first = leaving.first_sent.is_none();
        leaving.first_sent.get_or_insert(now);
        let (wait, successor) = (leaving.wait, leaving.successor.clone());
        if first {
            self.timers.set(Timer::Release, now + self.lease);
        }
        self.timers.stop(Timer::Retry);
        self.write(Purpose::Release, Expect::Revision(revision), wait, Instant::NEVER, successor.as_deref());
    }

    /// Nothing is left to do here: on to where the campaign belongs.
    pub(super) fn go_on(&mut self) {
        for timer in [Timer::Release, Timer::Retry, Timer::Close] {
            self.timers.stop(timer);
        }
        if self.closing {
            self.closed();
        } else if self.in_race && self.healthy {
            self.stand();
        } else {
            self.stage = Stage::Idle;
        }
    }

    pub(super) fn closed(&mut self) {
        self.stage = Stage::Closed;
        self.reading = None;
        self.timers = super::Timers::default();
    }
}
