//! Giving way in a group: an owner that cannot prove its claim leaves and rests; see [`GivingWay`].
//!
//! The membership keeps the claim, but the client does not report a membership while it lasts. So an owner whose step
//! failed asks the coordinator for the committed offset: an answer shows that the group still holds its members. If no
//! broker can be reached there is no answer, and nothing counts. A commit that is not answered, or is refused because
//! of the coordinator, does not count either, because the group itself removes a member that it does not hear from.

use super::io::{Failure, Request};
use super::proof::Awaited;
use super::record::Kind;
use super::timers::Timer;
use super::{Induction, Probe, Race};
use crate::candidacy::{Candidacy, Stage, Step, Tried};
use crate::record::{Attempt, TermInfo};
use crate::store::Fault;
use crate::time::Instant;
use crate::token::Incarnation;

impl Candidacy<Induction> {
    // ---- the claim ----

    /// Counts a failure of the awaited step, or its missing answer.
    pub(super) fn awaited_failed(&mut self, awaited: Option<Awaited>, sent: Instant, failure: &Failure) {
        let step = match (awaited, failure) {
            // If the topic is gone, no candidate can lead.
            (_, Failure::TopicGone) | (None, _) => return,
            (Some(Awaited::Append(_)), _) => Step::Append,
            (Some(Awaited::Commit(_) | Awaited::Token), Failure::Denied(_)) => Step::Commit,
            (Some(Awaited::Commit(_) | Awaited::Token), _) => return,
        };
        self.step_failed(step, sent, failure.fault());
    }

    fn step_failed(&mut self, step: Step, sent: Instant, fault: Option<&Fault>) {
        let (lease, now) = (self.lease, self.now);
        if self.owner().is_none() {
            return;
        }
        self.giving_way.failed(step, Tried::at(sent), lease, now);
        if let Some(fault) = fault {
            self.giving_way.answered_with(fault, now);
        }
        match step {
            // The coordinator answered.
            Step::Commit => self.is_held(),
            _ => {
                self.own.last_question += 1;
                self.ask(Request::Committed { number: self.own.last_question });
            }
        }
        self.give_way_if_due();
    }

    /// Notes that the coordinator answered, which shows that the group still holds its member.
    pub(super) fn is_held(&mut self) {
        if self.owner().is_some() {
            self.giving_way.kept(self.lease, self.now);
        }
    }

    /// Notes that a commit proved a record sent at `sent`. That proves the claim, unless a win is due and cannot be
    /// reported.
    ///
    /// An owner without a lease repeats the commit of its last appended record. That commit shows its membership, but
    /// proves no claim.
    pub(super) fn claim_proved(&mut self, sent: Instant) {
        self.is_held();
        let Some(owner) = self.owner().filter(|owner| owner.deadline.is_some()) else { return };
        match owner.unmet(sent).filter(|_| self.term.is_none()) {
            Some(step) => self.step_failed(step, sent, None),
            None => self.giving_way.proved(self.now),
        }
    }

    fn give_way_if_due(&mut self) {
        let (lease, now) = (self.lease, self.now);
        if !self.giving_way.gives_way(lease) {
            return;
        }
        let reads_nothing = self.giving_way.failing().contains(Step::ReadBack);
        if let Stage::Racing(Race::Owner(owner)) = &mut self.stage
            && reads_nothing
            && !core::mem::replace(&mut owner.reader_is_new, true)
        {
            // First its reader is replaced.
            return self.giving_way.count_again(now);
        }
        self.giving_way.withdraws(now);
        self.leave_partition(true);
    }

    // ---- the rest ----

    /// Checks who else claims the election, and repeats the failed steps that a client can take without being a member.
    pub(super) fn probe(&mut self) {
        let (lease, now) = (self.lease, self.now);
        // The records read may be out of date or incomplete, but the coordinator knows who is in the group.
        self.ask(Request::Members);
        let steps = self.giving_way.probe(lease, now);
        if steps.contains(Step::Inspect) {
            self.inspect();
        }
        if steps.contains(Step::Append) || steps.contains(Step::ReadBack) {
            // Nothing is published while other software writes, because any record would keep alive a goNELI member
            // that the group has removed.
            if self.own.log.has_foreign(now) {
                self.giving_way.probed(Step::Append, now, false, now);
            } else {
                let statement = TermInfo::of_acquire(Incarnation(0));
                let attempt = self.publish_record(Kind::Probe, self.own.topic.id, statement);
                self.own.probe = Some(Probe { attempt, sent: now });
            }
        }
    }

    /// Handles the count of the group's members. While this candidate rests, it is not one of them.
    pub(super) fn members_counted(&mut self, result: Result<usize, Fault>) {
        // A failed count is not reported as an observation.
        let Ok(count) = result else { return };
        let (now, was_resting) = (self.now, self.giving_way.rests(self.now));
        let worst = self.session() + self.rules.own.client.max_poll + self.lease * 2;
        self.giving_way.others_claim(count > 0 || self.own.log.is_claimed(now), worst, now);
        self.join_if_rested(was_resting);
    }

    /// Returns whether `attempt`, whose append was reported, is a probe.
    pub(super) fn is_probe(&mut self, attempt: Attempt, appended: bool) -> bool {
        let Some(probe) = self.own.probe.filter(|probe| probe.attempt == attempt) else { return false };
        self.probed(Step::Append, probe.sent, appended);
        true
    }

    pub(super) fn probe_read(&mut self, attempt: Attempt) {
        if let Some(probe) = self.own.probe.filter(|probe| probe.attempt == attempt) {
            self.probed(Step::ReadBack, probe.sent, true);
        }
    }

    pub(super) fn probed(&mut self, step: Step, sent: Instant, succeeded: bool) {
        let was_resting = self.giving_way.rests(self.now);
        self.giving_way.probed(step, sent, succeeded, self.now);
        self.join_if_rested(was_resting);
    }

    fn join_if_rested(&mut self, was_resting: bool) {
        if matches!(self.stage, Stage::Racing(Race::Away)) && was_resting && !self.giving_way.rests(self.now)
        {
            self.timers.stop(Timer::Join);
            self.join_when_rested();
        }
    }
}
