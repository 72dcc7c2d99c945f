//! Leaving the queue: removes what a candidacy leaves behind, so that none of it reappears.
//!
//! 1. One transaction deletes both keys if they are the ones that were created. This is the release. A full store still
//!    accepts deletes, revocations and keep-alives (measured).
//! 2. A moment later the lease of the place is revoked. The revocation is repeated until the lease is gone. From then
//!    on the store refuses the whole of any transaction that names this lease (measured), even one sent long before.
//! 3. If the outcome of a transaction was ever unknown, or the deletion was refused, both keys are deleted once more:
//!    they may have been created again before the revocation.
//! 4. If this second deletion is refused too, only the companion is deleted, which needs no permission on the place;
//!    the place is gone with its lease. A companion that cannot be deleted is left to run out with its own lease; see
//!    `moving`.
//! 5. If the deletion of the companion first failed and then succeeded, the permission may have come back, so both keys
//!    are deleted once more. A place written by another party does not go with the lease, and would keep every
//!    candidate waiting.

use alloc::boxed::Box;
use alloc::collections::VecDeque;
use alloc::vec::Vec;
use core::time::Duration;

use super::answers::Failure;
use super::io::{Action, LeaseId, Outcome, Request, Snapshot, Write};
use super::moving::Stranded;
use super::timers::Timer;
use super::turns::Wanted;
use super::{Keys, Queue, Race};
use crate::campaign::{ReadId, backoff, pace};
use crate::candidacy::{Candidacy, Stage};
use crate::record::Attempt;
use crate::store::{Fault, FaultKind};
use crate::time::Instant;
use crate::token::Revision;

/// The pause between a release and the writes that follow it. It is there because a server first logs pending writes
/// and only then answers the successor's read, which comes 2 ms after the release (measured).
const SUCCESSOR_FIRST: Duration = Duration::from_millis(10);

/// What one candidacy left behind.
#[derive(Clone, Debug, Hash)]
pub(super) struct Leftover {
    lease: LeaseId,
    /// The lease of the candidacy's companion, if there may be a companion.
    companion: Option<LeaseId>,
    /// The revision that created the candidacy's keys, if known.
    revision: Option<Revision>,
    /// Whether a transaction that creates keys may still be applied.
    doubtful: bool,
    step: Step,
    /// When the store was first asked to remove this leftover.
    asked: Option<Instant>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Step {
    Delete,
    Revoke,
    DeleteAgain,
    DeleteCompanion,
}

impl Leftover {
    /// Both keys exist.
    pub(super) fn of(keys: &Keys) -> Self {
        let Keys { lease, revision, doubtful, .. } = *keys;
        let companion = Some(keys.last_companion());
        Self { lease, companion, revision: Some(revision), doubtful, step: Step::Delete, asked: None }
    }

    /// Both keys were deleted.
    pub(super) fn left(keys: &Keys) -> Self {
        Self { step: Step::Revoke, ..Self::of(keys) }
    }

    /// Begins with the revocation of the lease; whatever is left is removed after it.
    fn begin_with_the_lease(&mut self) {
        (self.step, self.doubtful) = (Step::Revoke, true);
    }

    /// A leftover of unknown keys. If `doubtful`, keys may exist; otherwise there are none.
    pub(super) fn unknown(lease: LeaseId, companion: Option<LeaseId>, doubtful: bool) -> Self {
        Self { lease, companion, revision: None, doubtful, step: Step::Revoke, asked: None }
    }
}

/// Everything that remains to be removed, in order.
#[derive(Clone, Debug, Default, Hash)]
pub(super) struct Removal {
    left: VecDeque<Leftover>,
    awaited: Option<Awaited>,
    failures: u32,
    /// The state of the first leftover's companion, if it cannot be deleted.
    pub(super) stranded: Option<Stranded>,
    /// Whether the term's work may still be running; nothing is removed until it has ended.
    working: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Awaited {
    Delete(Attempt),
    Revoke(LeaseId),
    /// Whether the companion still exists.
    Read(ReadId),
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

    pub(super) fn reads(&self, read: ReadId) -> bool {
        self.awaited == Some(Awaited::Read(read))
    }

    /// Whether the companion being removed is attached to this lease.
    pub(super) fn hangs_on(&self, companion: LeaseId) -> bool {
        self.left.front().is_some_and(|first| first.companion == Some(companion))
    }

    /// Whether a removal may make its next request now.
    pub(super) fn is_due(&self) -> bool {
        !self.working && self.awaited.is_none() && !self.left.is_empty()
    }

    /// Whether the current step deletes both keys once more.
    fn deletes_both(&self) -> bool {
        self.left.front().is_some_and(|first| first.step == Step::DeleteAgain)
    }

    /// Drops the first leftover, which is completely removed.
    fn drop_first(&mut self) {
        self.left.pop_front();
        (self.awaited, self.failures, self.stranded) = (None, 0, None);
    }

    /// Moves on to the next step after the first leftover has finished one.
    fn advance(&mut self) {
        self.awaited = None;
        let failures = core::mem::take(&mut self.failures);
        let Some(first) = self.left.front_mut() else { return };
        first.step = match first.step {
            Step::Delete => Step::Revoke,
            Step::Revoke if first.doubtful => Step::DeleteAgain,
            Step::DeleteCompanion if failures > 0 => {
                self.stranded = None;
                Step::DeleteAgain
            }
            Step::Revoke | Step::DeleteAgain | Step::DeleteCompanion => {
                return self.drop_first();
            }
        };
    }
}

impl Candidacy<Queue> {
    /// Leaves the place, with or without a term. The end of a term has already been reported.
    pub(super) fn leave_place(&mut self, working: bool) {
        let Stage::Racing(Race::Placed(placed)) = &self.stage else { return };
        let leftover = Leftover::of(&placed.keys);
        if let Some(step) = &placed.step {
            self.own.removal.push(step.leftover());
        }
        self.giving_way.claim_ended(self.now);
        self.leave(leftover, working);
    }

    /// Leaves a place that cannot be proved. Revokes its lease first, which needs the fewest permissions.
    pub(super) fn withdraw(&mut self) {
        let Stage::Racing(Race::Placed(placed)) = &self.stage else { return };
        let companion = placed.keys.last_companion();
        let leftover = Leftover::unknown(placed.keys.lease, Some(companion), true);
        if let Some(step) = &placed.step {
            self.own.removal.push(step.leftover());
        }
        self.leave(leftover, false);
    }

    /// Removes what a candidacy left behind. If its work is still `working`, that waits until the work has ended or a
    /// lease has passed.
    pub(super) fn leave(&mut self, leftover: Leftover, working: bool) {
        self.own.removal.push(leftover);
        self.stop_entering();
        self.stage = Stage::Releasing(());
        self.own.removal.working = working;
        if working {
            self.timers.set(Timer::Release, self.now + self.lease);
        }
        self.limit_close();
        self.remove();
    }

    /// Stops the activities of a candidate that has a place or is entering.
    pub(super) fn stop_entering(&mut self) {
        self.own.awaited = None;
        self.own.round.stop();
        self.own.probe.stop();
        self.own.turns.waits.stop();
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

    /// Removes companions of this campaign that do not belong to its present candidacy. A store that went back holds
    /// such companions again, ahead of every candidate, and keeps them as long as the connection's lease is kept alive.
    pub(super) fn remove_revived(&mut self, snapshot: &Snapshot) {
        let own = self.placed().map(|placed| placed.keys.lease);
        let ours = snapshot.companions.iter().filter(|companion| companion.nonce == Some(self.nonce));
        let leases = ours.filter_map(|companion| {
            let lease = u64::from_str_radix(&companion.key, 16).ok().map(LeaseId)?;
            Some((lease, companion.lease))
        });
        let known = |lease: LeaseId| {
            own == Some(lease) || self.own.removal.left.iter().any(|leftover| leftover.lease == lease)
        };
        let revived: Vec<_> = leases.filter(|(lease, _)| !known(*lease)).collect();
        if !revived.is_empty() {
            let leftovers = revived.into_iter();
            self.own
                .removal
                .left
                .extend(leftovers.map(|(lease, companion)| Leftover::unknown(lease, companion, true)));
            self.remove();
        }
    }

    /// Takes the next step of the removal.
    pub(super) fn remove(&mut self) {
        if self.own.removal.working || self.own.removal.awaited.is_some() || self.timers.is_set(Timer::Remove)
        {
            return;
        }
        if self.own.removal.is_done() {
            return self.end_removal();
        }
        if self.own.turns.waits.contains(Wanted::Check) || !self.may_ask(Wanted::Remove) {
            return;
        }
        let now = self.now;
        let Some(first) = self.own.removal.left.front_mut() else { return };
        first.asked.get_or_insert(now);
        let (first, lease) = (first.clone(), first.lease);
        let keeps = self.placed().is_some_and(|placed| placed.keys.lease == lease);
        debug_assert!(!keeps || self.term.is_none(), "I8: a term is lost before its keys are removed");
        self.timers.set(Timer::Remove, self.now + self.attempt_limit());
        match first.step {
            Step::Revoke => {
                self.own.removal.awaited = Some(Awaited::Revoke(lease));
                self.send(Request::Revoke { lease });
            }
            Step::Delete | Step::DeleteAgain | Step::DeleteCompanion => {
                let attempt = self.next_attempt();
                self.own.removal.awaited = Some(Awaited::Delete(attempt));
                let revision = first.revision.filter(|_| first.step == Step::Delete);
                let action = match first.step {
                    Step::DeleteCompanion => Action::LeaveCompanion { lease },
                    _ => Action::Leave { lease, revision },
                };
                self.send(Request::Write(Write { attempt, action }));
            }
        }
    }

    /// Handles the answer to a delete. If its compare failed, its target does not exist.
    pub(super) fn left(&mut self, outcome: Outcome) {
        match outcome {
            Outcome::Applied { .. } | Outcome::Refused { .. } => self.step_removed(),
            Outcome::Failed(failure) => self.removal_failed(&failure),
        }
    }

    pub(super) fn revoked(&mut self, lease: LeaseId, result: Result<(), Failure>) {
        if self.own.removal.awaited != Some(Awaited::Revoke(lease)) {
            return;
        }
        match result {
            Ok(()) | Err(Failure::LeaseGone) => self.step_removed(),
            Err(failure) => self.removal_failed(&failure),
        }
    }

    fn step_removed(&mut self) {
        let was_release = self.own.removal.left.front().is_some_and(|first| first.step == Step::Delete);
        self.own.removal.advance();
        self.timers.stop(Timer::Remove);
        if was_release {
            self.timers.set(Timer::Remove, self.now + SUCCESSOR_FIRST);
        } else {
            self.remove();
        }
    }

    fn removal_failed(&mut self, failure: &Failure) {
        let has_read = matches!(self.own.removal.awaited.take(), Some(Awaited::Read(_)));
        self.own.removal.failures = self.own.removal.failures.saturating_add(1);
        if let Some(fault) = failure.fault() {
            self.report_fault(fault.clone());
        }
        self.try_another_member(failure);
        let unanswered = failure.fault().is_none() && self.is_removing_a_companion_for_a_lease();
        if !has_read && (unanswered || self.has_run_out()) {
            return self.check();
        }
        if self.take_another_way(failure, has_read) {
            self.timers.stop(Timer::Remove);
            return self.remove();
        }
        self.removal_waits();
    }

    /// Tries the next step after a while.
    fn removal_waits(&mut self) {
        self.own.removal.awaited = None;
        let wait = backoff::standard(self.own.removal.failures, &mut self.rng);
        self.timers.set(Timer::Remove, self.now + wait);
    }

    /// Replaces a failed removal step by another step, if there is one, instead of repeating it. Returns whether it did
    /// so. `has_read` states whether the failed step was the read that looks for the companion.
    fn take_another_way(&mut self, failure: &Failure, has_read: bool) -> bool {
        let now = self.now;
        let Some(first) = self.own.removal.left.front_mut() else { return false };
        let asked = first.asked.unwrap_or(now);
        let for_a_lease = asked + self.lease <= now;
        match (first.step, failure.fault(), first.companion) {
            (Step::Delete, Some(_), _) => first.begin_with_the_lease(),
            (Step::Delete, None, _) if for_a_lease => first.begin_with_the_lease(),
            (Step::DeleteAgain, Some(_), _) => {
                first.step = Step::DeleteCompanion;
                // A read proves nothing about the unanswered deletion of both keys. So after the companion's deletion,
                // both keys are deleted once more.
                self.own.removal.failures = u32::from(has_read);
            }
            (Step::DeleteCompanion, Some(fault), Some(on)) => {
                if !self.is_stranded(on, asked, fault) {
                    return false;
                }
                self.own.removal.drop_first();
            }
            (Step::DeleteCompanion, None, Some(_)) => {
                self.gave_no_answer();
                return false;
            }
            _ => return false,
        }
        true
    }

    fn is_removing_a_companion_for_a_lease(&self) -> bool {
        let Some(first) = self.own.removal.left.front() else { return false };
        let of_a_companion = matches!(first.step, Step::DeleteAgain | Step::DeleteCompanion);
        of_a_companion && first.asked.is_some_and(|asked| asked + self.lease <= self.now)
    }

    /// Reads whether the companion still exists, because no deletion was answered or the companion's lease is over.
    pub(super) fn check(&mut self) {
        let Some(lease) = self.own.removal.left.front().map(|first| first.lease) else { return };
        self.timers.stop(Timer::Remove);
        if !self.may_ask(Wanted::Check) {
            return;
        }
        let read = self.own.round.next_read(self.now);
        self.own.removal.awaited = Some(Awaited::Read(read));
        self.timers.set(Timer::Remove, self.now + self.attempt_limit());
        self.send(Request::Read { read, own: Some(lease), whole: false });
    }

    /// Handles the answer to the read that looks for a companion.
    pub(super) fn checked(&mut self, result: Result<Box<Snapshot>, Failure>) {
        match result {
            // If a place without a companion exists, another party wrote it; delete it until the store answers.
            Ok(snapshot) if snapshot.companion.is_none() => {
                if snapshot.place.is_some() && self.own.removal.deletes_both() {
                    return self.removal_waits();
                }
                self.own.removal.drop_first();
                self.timers.stop(Timer::Remove);
                self.remove();
            }
            Ok(_) if self.has_run_out() => {
                self.runs_out_soon();
                self.removal_waits();
            }
            Ok(_) => {
                let detail =
                    "a companion of a former place still exists, one lease after its deletion was requested";
                let fault = Fault { kind: FaultKind::Broken, detail: detail.into() };
                self.removal_failed(&Failure::Fault(fault));
            }
            Err(failure) => self.removal_failed(&failure),
        }
    }

    pub(super) fn removal_timed_out(&mut self) {
        match self.own.removal.awaited {
            Some(_) => self.removal_failed(&Failure::Unanswered),
            None => self.remove(),
        }
    }

    /// Continues with the removal: the term's work has ended, or has run for a lease after the term.
    pub(super) fn work_ended(&mut self) {
        if core::mem::take(&mut self.own.removal.working) {
            self.timers.stop(Timer::Release);
            self.remove();
        }
    }

    /// Nothing is left to remove.
    fn end_removal(&mut self) {
        if matches!(self.stage, Stage::Releasing(())) {
            self.move_on();
        }
    }
}
