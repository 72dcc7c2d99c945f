//! Out of the partition: the drain, the release, and the end of the membership.
//!
//! A revocation is answered only when the work has drained or its bound is up; the lease is renewed meanwhile, since
//! commits succeed during a rebalance (measured). The release is appended before the partition is given away, so that it
//! lies below the successor's claim. Where the work is not known to have ended, there is no release: the successor waits
//! the lease out.

use super::io::{Request, TopicId};
use super::record::Kind;
use super::timers::Timer;
use super::{Campaign, Stage};
use crate::campaign::{Event, Reason, Warning, pace};
use crate::record::{Attempt, TermInfo};
use crate::store::{Fault, FaultKind};
use crate::time::Instant;
use crate::token::Revision;
use core::time::Duration;

/// The time that a client may take to leave its group, goNELI's; after that it closes on a thread of its own.
const LEAVE_LIMIT: Duration = Duration::from_secs(10);

/// A term that was lost, whose owner goes.
#[derive(Clone, Debug, Hash)]
pub(super) struct Ending {
    reason: Reason,
    /// A revocation waits for its answer.
    revoked: bool,
    /// The release, where it is published; before that, the work has not ended.
    release: Option<Attempt>,
    /// The statement of the release, and the newest proof of the term.
    statement: TermInfo,
    proven: Revision,
    /// The topic in which the term was proven.
    topic: Option<TopicId>,
    deadline: Instant,
}

impl Ending {
    pub(super) fn leaves(&self) -> bool {
        leaves_the_group(self.reason)
    }

    /// Its release was published.
    pub(super) fn is_released(&self) -> bool {
        self.release.is_some()
    }
}

/// Whether a term that ends for this reason ends the membership.
pub(super) fn leaves_the_group(reason: Reason) -> bool {
    matches!(reason, Reason::Resigned | Reason::Unhealthy | Reason::Closed | Reason::HandlerFailed)
}

impl Campaign {
    /// The group takes the partition away, and waits for an answer.
    pub(super) fn revoked(&mut self) {
        match &mut self.stage {
            Stage::Owner(owner) => {
                owner.revoked = true;
                match (owner.term, owner.departure) {
                    (None, _) => self.leave_partition(false),
                    (Some(_), None) => self.depart(Reason::Revoked),
                    (Some(_), Some(_)) => {}
                }
            }
            Stage::Ending(ending) => {
                ending.revoked = true;
                if ending.release.is_none() {
                    // The time of the work is up.
                    let leave = ending.leaves();
                    self.leave_partition(leave);
                }
            }
            // A client that is leaving never closes while a revocation is unanswered (measured).
            _ => self.ask(Request::Yield),
        }
    }

    /// The leader leaves of its own will, or its partition is revoked: its work drains while the lease is kept.
    pub(super) fn depart(&mut self, reason: Reason) {
        let until = self.now + self.rules.drain;
        let Stage::Owner(owner) = &mut self.stage else { return };
        let Some(term) = owner.term.filter(|_| owner.departure.is_none()) else { return };
        owner.departure = Some(reason);
        self.timers.set(Timer::Drain, until);
        self.report(Event::Draining { term, until, reason });
    }

    pub(super) fn drained(&mut self) {
        self.end_drain(false);
        let ended = matches!(&self.stage, Stage::Ending(ending) if ending.release.is_none());
        if ended {
            self.timers.stop(Timer::Work);
            self.release();
        }
    }

    pub(super) fn end_drain(&mut self, timed_out: bool) {
        if let Some(reason) = self.owner().and_then(|owner| owner.departure) {
            self.end(reason, timed_out);
        }
    }

    pub(super) fn handler_failed(&mut self) {
        let Some(term) = self.owner().and_then(|owner| owner.term) else { return };
        let soon = self.now.since(term.started) < self.rules.lease;
        self.handler_failures = if soon { self.handler_failures.saturating_add(1) } else { 1 };
        self.rest_until = self.now + self.rules.backoff.wait(self.handler_failures, &mut self.rng);
        self.end(Reason::HandlerFailed, true);
    }

    /// Ends the term of an owner that goes: the loss is reported first, and the release is sent after that.
    fn end(&mut self, reason: Reason, working: bool) {
        let Stage::Owner(owner) = &self.stage else { return };
        let (Some(term), Some(deadline)) = (owner.term, owner.deadline) else { return };
        let (revoked, topic, statement) = (owner.revoked, owner.topic, owner.statement(self.now));
        let proof = self.proof.proven_offset();
        self.giving_way.lost(self.now);
        self.report(Event::Lost { term, reason });
        if reason == Reason::Resigned {
            // Time for another member to be assigned the partition.
            self.rest_until = self.now + self.rules.lease;
        }
        let (Some(statement), Some(proven)) = (statement, proof) else {
            return self.leave_partition(leaves_the_group(reason));
        };
        self.stop_owning();
        self.stage =
            Stage::Ending(Ending { reason, revoked, release: None, statement, proven, topic, deadline });
        if !working {
            return self.release();
        }
        if revoked {
            return self.leave_partition(leaves_the_group(reason));
        }
        self.timers.set(Timer::Work, self.now + self.rules.lease);
        self.limit_work();
    }

    /// A close waits for work that has not ended no longer than for a release.
    pub(super) fn limit_work(&mut self) {
        if self.intent.closing && self.timers.is_set(Timer::Work) {
            self.timers.set(Timer::Work, self.now + pace::CLOSE_LIMIT);
        }
    }

    pub(super) fn work_timed_out(&mut self) {
        if let Stage::Ending(ending) = &self.stage {
            let leave = ending.leaves();
            self.leave_partition(leave);
        }
    }

    /// Publishes the release, while the lease lasts.
    fn release(&mut self) {
        let Stage::Ending(ending) = &self.stage else { return };
        let (statement, proven, topic, leave) =
            (ending.statement, ending.proven, ending.topic, ending.leaves());
        if self.now >= ending.deadline {
            return self.leave_partition(leave);
        }
        let attempt = self.publish_record(Kind::Release { proven }, topic, statement);
        if let Stage::Ending(ending) = &mut self.stage {
            ending.release = Some(attempt);
        }
        self.timers.set(Timer::Release, self.now + pace::CLOSE_LIMIT);
    }

    pub(super) fn is_release(&self, attempt: Attempt) -> bool {
        matches!(&self.stage, Stage::Ending(ending) if ending.release == Some(attempt))
    }

    /// The release was appended, or is not waited for any more.
    pub(super) fn release_ended(&mut self) {
        if let Stage::Ending(ending) = &self.stage {
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

    /// Gives the partition up: answers the revocation, and leaves the group where this candidate is to be out of it.
    pub(super) fn leave_partition(&mut self, leave: bool) {
        let revoked = match &self.stage {
            Stage::Owner(owner) => owner.revoked,
            Stage::Ending(ending) => ending.revoked,
            _ => false,
        };
        self.stop_owning();
        self.giving_way.claim_ended(self.now);
        if revoked {
            self.ask(Request::Yield);
        }
        let leave = leave || !self.open_commits.is_empty();
        if leave || !self.intent.in_race || !self.intent.healthy {
            self.stage = Stage::Leaving;
            self.timers.set(Timer::Close, self.now + LEAVE_LIMIT);
            self.ask(Request::Leave);
        } else {
            self.stage = Stage::Member;
        }
    }

    pub(super) fn leaving_timed_out(&mut self) {
        let detail = "the client did not leave its group within 10 s, as one does not whose coordinator is away; \
                      it goes on closing, and its group takes it for a member until its session runs out";
        let fault = Fault { kind: FaultKind::Unreachable, detail: detail.into() };
        self.report(Event::Warning(Warning::Store(fault)));
        self.move_on();
    }

    pub(super) fn has_left(&mut self) {
        self.left = true;
        if matches!(self.stage, Stage::Leaving) {
            self.timers.stop(Timer::Close);
            self.move_on();
        }
    }

    /// Out of the group: the campaign closes, joins again later, or rests.
    fn move_on(&mut self) {
        self.claim_removed();
        if self.intent.closing {
            self.stage = Stage::Closed;
        } else if self.intent.in_race && self.intent.healthy {
            self.join_when_rested();
        } else {
            self.stage = Stage::Idle;
        }
    }
}
