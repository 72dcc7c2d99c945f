//! Leaving the partition: the drain, the release, and the end of the membership.
//!
//! A revocation is answered only when the work has drained or its time is up. The lease is renewed meanwhile, since
//! commits succeed during a rebalance (measured). The release is appended before the partition is given up, so its
//! offset is below the successor's claim. If the work may still be running, there is no release, and the successor
//! waits out the lease.

use super::ending::{Ending, leaves_the_group};
use super::io::Request;
use super::record::Kind;
use super::timers::Timer;
use super::{Induction, Leaving, Race};
use crate::campaign::{Reason, Warning, pace};
use crate::candidacy::{Candidacy, Ended, Stage};
use crate::record::{Attempt, TermInfo};
use crate::store::{Fault, FaultKind};
use core::time::Duration;

/// The time that a client may take to leave its group, as in goNELI; after that it closes on a thread of its own.
const LEAVE_LIMIT: Duration = Duration::from_secs(10);

impl Candidacy<Induction> {
    /// Handles a revocation of the partition, for whose answer the group waits.
    pub(super) fn revoked(&mut self) {
        match &mut self.stage {
            Stage::Racing(Race::Owner(owner)) => {
                owner.revoked = true;
                match self.term {
                    None => self.leave_partition(false),
                    Some(_) => self.depart(Reason::Revoked, None),
                }
            }
            Stage::Releasing(Leaving::Ending(ending)) => {
                ending.revoked = true;
                if ending.release.is_none() {
                    // The work's time is up.
                    let leave = ending.leaves();
                    self.leave_partition(leave);
                }
            }
            // A client that is leaving never closes while a revocation is unanswered (measured).
            _ => self.ask(Request::Yield),
        }
    }

    /// Publishes the release after the work of a lost term has ended.
    pub(super) fn work_ended(&mut self) {
        let ended =
            matches!(&self.stage, Stage::Releasing(Leaving::Ending(ending)) if ending.release.is_none());
        if ended {
            self.timers.stop(Timer::Work);
            self.release();
        }
    }

    /// Begins to leave after the owner's loss was reported. The release is sent only after that report.
    pub(super) fn end_ownership(&mut self, ended: &Ended) {
        let Ended { term, reason, working, .. } = *ended;
        let Stage::Racing(Race::Owner(owner)) = &self.stage else { return };
        let (revoked, topic, deadline) = (owner.revoked, owner.topic, owner.deadline);
        let proven = self.own.proof.proven_offset();
        if reason == Reason::Resigned {
            // Gives the group time to assign the partition to another member.
            self.past.rest_until = self.now + self.lease;
        }
        let (Some(deadline), Some(proven)) = (deadline, proven) else {
            return self.leave_partition(leaves_the_group(reason));
        };
        let statement = TermInfo { token: term.token, led_for: Some(self.now.since(term.started)) };
        self.stop_owning();
        self.stage = Stage::Releasing(Leaving::Ending(Ending {
            reason,
            revoked,
            release: None,
            statement,
            proven,
            topic,
            deadline,
        }));
        if !working {
            return self.release();
        }
        if revoked {
            return self.leave_partition(leaves_the_group(reason));
        }
        self.timers.set(Timer::Work, self.now + self.lease);
        self.limit_work();
    }

    /// Limits how long a close waits for running work, to the time that it would wait for a release.
    pub(super) fn limit_work(&mut self) {
        if self.intent.closing && self.timers.is_set(Timer::Work) {
            self.timers.set(Timer::Work, self.now + pace::CLOSE_LIMIT);
        }
    }

    pub(super) fn work_timed_out(&mut self) {
        if let Stage::Releasing(Leaving::Ending(ending)) = &self.stage {
            let leave = ending.leaves();
            self.leave_partition(leave);
        }
    }

    /// Publishes the release, while the lease lasts.
    fn release(&mut self) {
        let Stage::Releasing(Leaving::Ending(ending)) = &self.stage else { return };
        let (statement, proven, topic, leave) =
            (ending.statement, ending.proven, ending.topic, ending.leaves());
        if self.now >= ending.deadline {
            return self.leave_partition(leave);
        }
        let attempt = self.publish_record(Kind::Release { proven }, topic, statement);
        if let Stage::Releasing(Leaving::Ending(ending)) = &mut self.stage {
            ending.release = Some(attempt);
        }
        self.timers.set(Timer::Release, self.now + pace::CLOSE_LIMIT);
    }

    pub(super) fn is_release(&self, attempt: Attempt) -> bool {
        matches!(&self.stage, Stage::Releasing(Leaving::Ending(ending)) if ending.release == Some(attempt))
    }

    /// Leaves after the release was appended, or after the wait for it is over.
    pub(super) fn release_ended(&mut self) {
        if let Stage::Releasing(Leaving::Ending(ending)) = &self.stage {
            let leave = ending.leaves();
            self.leave_partition(leave);
        }
    }

    fn stop_owning(&mut self) {
        self.forget_proof();
        for timer in [Timer::Drain, Timer::Owed, Timer::Inspect, Timer::Release, Timer::Work] {
            self.timers.stop(timer);
        }
    }

    /// Gives up the partition: answers the revocation, and leaves the group if `leave` or the candidate's state demands
    /// it.
    pub(super) fn leave_partition(&mut self, leave: bool) {
        let revoked = match &self.stage {
            Stage::Racing(Race::Owner(owner)) => owner.revoked,
            Stage::Releasing(Leaving::Ending(ending)) => ending.revoked,
            _ => false,
        };
        self.stop_owning();
        self.giving_way.claim_ended(self.now);
        debug_assert!(self.term.is_none(), "I8: a term is lost before its partition is given up");
        if revoked {
            self.ask(Request::Yield);
        }
        let leave = leave || !self.own.open_commits.is_empty();
        if leave || !self.intent.in_race || !self.intent.healthy {
            self.stage = Stage::Releasing(Leaving::Group);
            self.timers.set(Timer::Close, self.now + LEAVE_LIMIT);
            self.ask(Request::Leave);
        } else {
            self.stage = Stage::Racing(Race::Member);
        }
    }

    pub(super) fn leaving_timed_out(&mut self) {
        let detail = "the client did not leave its group within 10 s, perhaps because its coordinator is away; \
                      it keeps closing, and its group counts it as a member until its session runs out";
        let fault = Fault { kind: FaultKind::Unreachable, detail: detail.into() };
        self.warn(Warning::Store(fault));
        self.move_on();
    }

    pub(super) fn has_left(&mut self) {
        self.own.left = true;
        if matches!(self.stage, Stage::Releasing(Leaving::Group)) {
            self.timers.stop(Timer::Close);
            self.move_on();
        }
    }
}
