//! Leaving: the drain, the release, and the close.

use alloc::string::String;
use core::time::Duration;

use super::attempts::Purpose;
use super::key::Wait;
use super::timers::Timer;
use super::turns::Wanted;
use super::{KeyLease, pace};
use crate::candidacy::{Candidacy, Stage};
use crate::store::Expect;
use crate::time::Instant;
use crate::token::Revision;

/// A lease that is being released, or that may turn out to be held although it is no longer wanted.
#[derive(Clone, Debug, Hash)]
pub struct Releasing {
    /// Our newest known revision; `None` while it is unknown.
    pub(super) expect: Option<Revision>,
    pub(super) wait: Wait,
    pub(super) successor: Option<String>,
    /// When the release was first sent.
    pub(super) first_sent: Option<Instant>,
    /// Whether the work of the term may still be running. Nothing is released until it has ended.
    pub(super) working: bool,
}

impl Releasing {
    /// Nothing was sent yet.
    pub(super) fn new(expect: Option<Revision>, wait: Wait, successor: Option<String>) -> Self {
        Self { expect, wait, successor, first_sent: None, working: false }
    }
}

impl Candidacy<KeyLease> {
    /// Sends the release that waited for the work of a lost term, which has now ended.
    pub(super) fn work_ended(&mut self) {
        if let Stage::Releasing(releasing) = &mut self.stage
            && core::mem::take(&mut releasing.working)
        {
            self.release();
        }
    }

    /// Stops being a candidate. A record of ours that may still exist is read and removed.
    pub(super) fn stop_campaigning(&mut self) {
        self.timers.stop(Timer::Acquire);
        self.timers.stop(Timer::Poll);
        if self.own_record_observed().is_some() {
            self.remove_orphan();
        } else if let Some(sent) = self.own.attempts.newest_open() {
            let wait = sent.wait;
            self.start_release(Releasing::new(None, wait, None));
        } else {
            self.end_release();
        }
    }

    /// Gives up a lease whose win was not reported, or whose loss was already reported.
    pub(super) fn give_up(&mut self, successor: Option<String>, working: bool) {
        let Some(holder) = self.holder() else { return };
        let releasing =
            Releasing { working, ..Releasing::new(Some(holder.revision), holder.wait, successor) };
        self.stop_holder_timers();
        self.start_release(releasing);
    }

    /// Releases our record, which exists or may exist. If the work still runs, the release waits until the work has
    /// ended, or until the lease has run out and the store removes the record. In the second case this candidate, which
    /// meant to leave, waits a little longer, so that candidates that wait for the record's removal go first.
    pub(super) fn start_release(&mut self, releasing: Releasing) {
        let other_candidates_first = match releasing.working {
            true => self.rules.own.store.granularity.saturating_add(pace::hold_back(self.lease)),
            false => Duration::ZERO,
        };
        self.stage = Stage::Releasing(releasing);
        self.timers.set(Timer::Release, self.now + self.lease.saturating_add(other_candidates_first));
        self.limit_close();
        self.release();
    }

    pub(super) fn limit_close(&mut self) {
        if self.intent.closing && !self.timers.is_set(Timer::Close) {
            self.timers.set(Timer::Close, self.now + pace::CLOSE_LIMIT);
        }
    }

    /// Sends the release. If the revision that it must expect is unknown, the key is read first.
    pub(super) fn release(&mut self) {
        if self.own.attempts.is_awaiting() {
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

    /// Ends the release, which is done or had nothing to remove.
    pub(super) fn end_release(&mut self) {
        for timer in [Timer::Release, Timer::Retry, Timer::Close] {
            self.timers.stop(timer);
        }
        self.move_on();
    }
}
