//! Leaving: the drain, the release, and the close.

use alloc::string::String;
use core::time::Duration;

use super::attempts::Purpose;
use super::event::{Event, Reason};
use super::holder::Departure;
use super::key::Wait;
use super::timers::Timer;
use super::turns::Wanted;
use super::{Campaign, Stage, pace};
use crate::store::Expect;
use crate::time::Instant;
use crate::token::Revision;

/// A lease that is being released, or that might turn out to be held although it is not wanted.
#[derive(Clone, Debug, Hash)]
pub(super) struct Releasing {
    /// The newest revision known to be ours; `None` while that is open.
    pub(super) expect: Option<Revision>,
    pub(super) wait: Wait,
    pub(super) successor: Option<String>,
    /// When the release was first sent.
    pub(super) first_sent: Option<Instant>,
    /// The work of the term is not known to have ended: nothing is released before it is.
    pub(super) working: bool,
}

impl Releasing {
    /// Nothing was sent yet.
    pub(super) fn new(expect: Option<Revision>, wait: Wait, successor: Option<String>) -> Self {
        Self { expect, wait, successor, first_sent: None, working: false }
    }
}

impl Campaign {
    /// Leaves, where this campaign is a holder: drains a reported term, gives up one whose win is not reported.
    pub(super) fn leave(&mut self, reason: Reason, successor: Option<String>) {
        let Some(holder) = self.holder() else { return };
        if holder.departure.is_some() {
            return;
        }
        let Some(term) = holder.term else { return self.give_up(successor, false) };
        let until = self.now + self.rules.drain;
        if let Some(holder) = self.holder_mut() {
            holder.departure = Some(Departure { reason, successor });
        }
        self.timers.set(Timer::Drain, until);
        self.report(Event::Draining { term, until, reason });
    }

    /// The work of a term that drains, or that ended before its work did, has ended.
    pub(super) fn drained(&mut self) {
        match &mut self.stage {
            Stage::Holder(_) => self.end_drain(false),
            Stage::Releasing(releasing) if releasing.working => {
                releasing.working = false;
                self.release();
            }
            _ => {}
        }
    }

    /// Ends a draining term: its work has ended, or its time is up while it is still `working`.
    pub(super) fn end_drain(&mut self, working: bool) {
        let departure = self.holder().and_then(|holder| holder.departure.clone());
        if let Some(Departure { reason, successor }) = departure {
            self.end_term(reason, successor, working);
        }
    }

    /// The user's handler failed: the term ends at once, the release waits for the rest of its work, and the candidacy
    /// resumes after a back-off.
    pub(super) fn handler_failed(&mut self) {
        let Some(term) = self.holder().and_then(|holder| holder.term) else { return };
        let at_once = self.now.since(term.started) < self.lease;
        let failures = self.candidacy.handler_failed(at_once);
        self.end_term(Reason::HandlerFailed, None, true);
        self.candidacy.rest_until(self.now + self.rules.backoff.wait(failures, &mut self.rng));
    }

    pub(super) fn health(&mut self, healthy: bool) {
        let was = core::mem::replace(&mut self.intent.healthy, healthy);
        match self.stage {
            Stage::Idle if healthy && !was && self.intent.in_race => self.enter(),
            Stage::Splaying | Stage::Candidate if !healthy => self.stop_campaigning(),
            Stage::Holder(_) if !healthy => self.leave(Reason::Unhealthy, None),
            _ => {}
        }
    }

    /// Leaves the race, for good.
    pub(super) fn close(&mut self) {
        self.intent.closing = true;
        self.intent.in_race = false;
        match self.stage {
            Stage::Idle | Stage::Splaying | Stage::Candidate => self.stop_campaigning(),
            Stage::Holder(_) => self.leave(Reason::Closed, None),
            Stage::Releasing(_) => self.limit_close(),
            Stage::Closed => {}
        }
    }

    /// Stops being a candidate; where a record of ours may stand, it is read and removed.
    fn stop_campaigning(&mut self) {
        self.timers.stop(Timer::Splay);
        self.timers.stop(Timer::Acquire);
        self.timers.stop(Timer::Poll);
        if self.own_record_observed().is_some() {
            self.remove_orphan();
        } else if let Some(sent) = self.attempts.newest_open() {
            let wait = sent.wait;
            self.start_release(Releasing::new(None, wait, None));
        } else {
            self.move_on();
        }
    }

    /// Ends a reported term: reports `Lost`, and only then releases; where its work goes on (`working`), not before that has
    /// ended.
    fn end_term(&mut self, reason: Reason, successor: Option<String>, working: bool) {
        let term = self.holder_mut().and_then(|holder| holder.term.take());
        if let Some(term) = term {
            self.giving_way.lost(self.now);
            self.report(Event::Lost { term, reason });
        }
        self.give_up(successor, working);
    }

    /// Gives up a lease whose win was not reported, or whose loss was.
    pub(super) fn give_up(&mut self, successor: Option<String>, working: bool) {
        let Some(holder) = self.holder() else { return };
        let releasing =
            Releasing { working, ..Releasing::new(Some(holder.revision), holder.wait, successor) };
        self.stop_holder_timers();
        self.start_release(releasing);
    }

    /// Releases our record, which is there or may be. Where the work of the term goes on, the release waits for its
    /// end until the lease has run out, when the store removes the record; candidates that wait for that come before one
    /// that was to leave.
    pub(super) fn start_release(&mut self, releasing: Releasing) {
        let other_candidates_first = match releasing.working {
            true => self.rules.store.granularity.saturating_add(pace::hold_back(self.lease)),
            false => Duration::ZERO,
        };
        self.stage = Stage::Releasing(releasing);
        self.timers.set(Timer::Release, self.now + self.lease.saturating_add(other_candidates_first));
        self.limit_close();
        self.release();
    }

    fn limit_close(&mut self) {
        if self.intent.closing && !self.timers.is_set(Timer::Close) {
            self.timers.set(Timer::Close, self.now + pace::CLOSE_LIMIT);
        }
    }

    /// Sends the release, or reads the record that it has to expect.
    pub(super) fn release(&mut self) {
        if self.attempts.is_awaiting() {
            return;
        }
        let Stage::Releasing(releasing) = &self.stage else { return };
        if releasing.working {
            return;
        }
        let Some(revision) = releasing.expect else { return self.read() };
        if !self.may_ask(Wanted::Write) {
            return;
        }
        let now = self.now;
        let Stage::Releasing(releasing) = &mut self.stage else { return };
        let first = releasing.first_sent.is_none();
        releasing.first_sent.get_or_insert(now);
        let (wait, successor) = (releasing.wait, releasing.successor.clone());
        if first {
            self.timers.set(Timer::Release, now + self.lease);
        }
        self.timers.stop(Timer::Retry);
        self.write(Purpose::Release, Expect::Revision(revision), wait, Instant::NEVER, successor.as_deref());
    }

    /// The release is done, or there was none: the campaign closes, campaigns again, or rests.
    pub(super) fn move_on(&mut self) {
        for timer in [Timer::Release, Timer::Retry, Timer::Close] {
            self.timers.stop(timer);
        }
        self.claim_removed();
        if self.intent.closing {
            self.closed();
        } else if self.intent.in_race && self.intent.healthy {
            self.become_candidate();
        } else {
            self.stage = Stage::Idle;
        }
    }

    pub(super) fn closed(&mut self) {
        self.stage = Stage::Closed;
        self.key.abandon_read();
        self.timers = super::Timers::default();
    }
}
