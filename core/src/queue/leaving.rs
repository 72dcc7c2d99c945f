//! Out of the queue: what a candidacy leaves behind is removed, so that nothing of it comes back.
//!
//! 1. One transaction deletes both keys where they are those that were created. This is the release: a store that is full
//!    takes deletes, revocations and keep-alives still (measured).
//! 2. A moment later the lease of the place is revoked until it is gone. From then on the store refuses whole every transaction that
//!    names it (measured), also one that was sent long before.
//! 3. Where the outcome of a transaction was ever unknown, the companion is deleted once more: until the revocation it
//!    may have been created again.

use alloc::collections::VecDeque;
use alloc::vec::Vec;
use core::time::Duration;

use super::answers::Failure;
use super::io::{Action, LeaseId, Outcome, Request, Snapshot, Write};
use super::timers::Timer;
use super::{Campaign, Candidacy, Stage};
use crate::campaign::{Event, backoff, pace};
use crate::record::Attempt;
use crate::token::Revision;

/// The pause between a release and the writes that follow it. A server answers the successor's read only after the writes
/// that it logs by then, and the successor reads 2 ms after the release (measured).
const SUCCESSOR_FIRST: Duration = Duration::from_millis(10);

/// What one candidacy left behind.
#[derive(Clone, Debug, Hash)]
pub(super) struct Leftover {
    lease: LeaseId,
    /// The creation of its keys, where it is known.
    revision: Option<Revision>,
    /// A transaction that creates keys may still be applied.
    doubtful: bool,
    step: Step,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Step {
    Delete,
    Revoke,
    DeleteAgain,
}

impl Leftover {
    /// Both keys stand.
    pub(super) fn of(candidacy: &Candidacy) -> Self {
        let Candidacy { lease, revision, doubtful, .. } = *candidacy;
        Self { lease, revision: Some(revision), doubtful, step: Step::Delete }
    }

    /// Both keys were deleted.
    pub(super) fn left(candidacy: &Candidacy) -> Self {
        Self { step: Step::Revoke, ..Self::of(candidacy) }
    }

    /// Whether there are keys is not known, where it is `doubtful`; otherwise there are none.
    pub(super) fn unknown(lease: LeaseId, doubtful: bool) -> Self {
        Self { lease, revision: None, doubtful, step: Step::Revoke }
    }
}

/// Everything that is still to be removed, in order.
#[derive(Clone, Debug, Default, Hash)]
pub(super) struct Removal {
    left: VecDeque<Leftover>,
    awaited: Option<Awaited>,
    failures: u32,
    /// The work of the term is not known to have ended: nothing is removed before.
    working: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Awaited {
    Delete(Attempt),
    Revoke(LeaseId),
}

impl Removal {
    pub(super) fn push(&mut self, leftover: Leftover) {
        self.left.push_back(leftover);
    }

    pub(super) fn is_done(&self) -> bool {
        self.left.is_empty()
    }

    pub(super) fn is_awaiting(&self, attempt: Attempt) -> bool {
        self.awaited == Some(Awaited::Delete(attempt))
    }

    /// The first leftover is through with its step.
    fn advance(&mut self) {
        (self.awaited, self.failures) = (None, 0);
        let Some(first) = self.left.front_mut() else { return };
        first.step = match first.step {
            Step::Delete => Step::Revoke,
            Step::Revoke if first.doubtful => Step::DeleteAgain,
            Step::Revoke | Step::DeleteAgain => {
                self.left.pop_front();
                return;
            }
        };
    }
}

impl Campaign {
    /// Leaves the place, with or without a term, whose end was reported.
    pub(super) fn leave_place(&mut self, working: bool) {
        let Stage::Placed(placed) = &self.stage else { return };
        let leftover = Leftover::of(&placed.candidacy);
        if let Some(step) = &placed.step {
            self.removal.push(step.leftover());
        }
        self.giving_way.claim_ended(self.now);
        self.leave(leftover, working);
    }

    /// Leaves a place that cannot be proved. Its lease is revoked first: that needs the fewest permissions.
    pub(super) fn withdraw(&mut self) {
        let Stage::Placed(placed) = &self.stage else { return };
        let leftover = Leftover::unknown(placed.candidacy.lease, true);
        if let Some(step) = &placed.step {
            self.removal.push(step.leftover());
        }
        self.leave(leftover, false);
    }

    /// Removes what a candidacy left behind; not before its work has ended, or a lease has passed.
    pub(super) fn leave(&mut self, leftover: Leftover, working: bool) {
        self.removal.push(leftover);
        self.stop_entering();
        self.stage = Stage::Releasing;
        self.removal.working = working;
        if working {
            self.timers.set(Timer::Release, self.now + self.rules.lease);
        }
        self.limit_close();
        self.remove();
    }

    /// Stops what a candidate with a place or on its way to one was doing.
    pub(super) fn stop_entering(&mut self) {
        self.awaited = None;
        self.round.stop();
        self.probe.stop();
        for timer in [
            Timer::Deadline,
            Timer::Answer,
            Timer::Write,
            Timer::Drain,
            Timer::HandOver,
            Timer::Owed,
            Timer::Round,
            Timer::Retry,
            Timer::Rest,
        ] {
            self.timers.stop(timer);
        }
    }

    pub(super) fn limit_close(&mut self) {
        if self.intent.closing && !self.timers.is_set(Timer::Close) {
            self.timers.set(Timer::Close, self.now + pace::CLOSE_LIMIT);
        }
    }

    /// Removes companions of this campaign that are not its candidacy's. A store that went back has them again, and keeps
    /// them as long as the lease of the connection is kept alive, ahead of every candidate.
    pub(super) fn remove_revived(&mut self, snapshot: &Snapshot) {
        let own = self.placed().map(|placed| placed.candidacy.lease);
        let ours = snapshot.companions.iter().filter(|companion| companion.nonce == Some(self.nonce));
        let leases = ours.filter_map(|companion| u64::from_str_radix(&companion.key, 16).ok().map(LeaseId));
        let known = |lease: &LeaseId| {
            own == Some(*lease) || self.removal.left.iter().any(|leftover| leftover.lease == *lease)
        };
        let revived: Vec<_> = leases.filter(|lease| !known(lease)).collect();
        if !revived.is_empty() {
            self.removal.left.extend(revived.into_iter().map(|lease| Leftover::unknown(lease, true)));
            self.remove();
        }
    }

    /// Does the next step of what is to be removed.
    pub(super) fn remove(&mut self) {
        if self.removal.working || self.removal.awaited.is_some() || self.timers.is_set(Timer::Remove) {
            return;
        }
        let Some(first) = self.removal.left.front().cloned() else { return self.move_on() };
        let lease = first.lease;
        self.timers.set(Timer::Remove, self.now + self.attempt_limit());
        match first.step {
            Step::Revoke => {
                self.removal.awaited = Some(Awaited::Revoke(lease));
                self.ask(Request::Revoke { lease });
            }
            Step::Delete | Step::DeleteAgain => {
                let attempt = self.next_attempt();
                self.removal.awaited = Some(Awaited::Delete(attempt));
                let revision = first.revision.filter(|_| first.step == Step::Delete);
                let action = Action::Leave { lease, revision };
                self.ask(Request::Write(Write { attempt, action }));
            }
        }
    }

    /// A delete was answered. Where its compare failed, what it was to delete is not there.
    pub(super) fn left(&mut self, outcome: Outcome) {
        match outcome {
            Outcome::Applied { .. } | Outcome::Refused { .. } => self.step_removed(),
            Outcome::Failed(failure) => self.removal_failed(&failure),
        }
    }

    pub(super) fn revoked(&mut self, lease: LeaseId, result: Result<(), Failure>) {
        if self.removal.awaited != Some(Awaited::Revoke(lease)) {
            return;
        }
        match result {
            Ok(()) | Err(Failure::LeaseGone) => self.step_removed(),
            Err(failure) => self.removal_failed(&failure),
        }
    }

    fn step_removed(&mut self) {
        let was_release = self.removal.left.front().is_some_and(|first| first.step == Step::Delete);
        self.removal.advance();
        self.timers.stop(Timer::Remove);
        if was_release {
            self.timers.set(Timer::Remove, self.now + SUCCESSOR_FIRST);
        } else {
            self.remove();
        }
    }

    fn removal_failed(&mut self, failure: &Failure) {
        self.removal.awaited = None;
        self.removal.failures = self.removal.failures.saturating_add(1);
        if let Some(fault) = failure.fault() {
            self.report_fault(fault.clone());
        }
        if failure.wants_another_member() {
            self.reconnect();
        }
        let wait = backoff::standard(self.removal.failures, &mut self.rng);
        self.timers.set(Timer::Remove, self.now + wait);
    }

    pub(super) fn removal_timed_out(&mut self) {
        match self.removal.awaited {
            Some(_) => self.removal_failed(&Failure::Unknown),
            None => self.remove(),
        }
    }

    /// The work of the term has ended, or has taken a lease longer than the term.
    pub(super) fn work_ended(&mut self) {
        if core::mem::take(&mut self.removal.working) {
            self.timers.stop(Timer::Release);
            self.remove();
        }
    }

    /// Nothing is left to remove: the campaign closes, enters again at the end of the queue, or rests.
    fn move_on(&mut self) {
        if !matches!(self.stage, Stage::Releasing) {
            return;
        }
        if let Some(warning) = self.giving_way.removed(self.rules.lease, self.now) {
            self.report(Event::Warning(warning));
        }
        if self.intent.closing {
            self.closed();
        } else if self.intent.in_race && self.intent.healthy {
            self.enter();
        } else {
            self.stage = Stage::Idle;
        }
    }

    /// The campaign is over for its user. What is left to remove is removed still.
    pub(super) fn closed(&mut self) {
        self.stop_entering();
        self.timers.stop(Timer::Close);
        self.timers.stop(Timer::Splay);
        self.stage = Stage::Closed;
    }
}
