//! The owner of partition zero: its claim, its win, and the end of its term.

use alloc::boxed::Box;
use alloc::string::String;

use super::ending::leaves_the_group;
use super::io::Loss;
use super::owner::{Open, Owner};
use super::record::Kind;
use super::timers::Timer;
use super::{Induction, Leaving, Race};
use crate::campaign::{Reason, WinDelay};
use crate::candidacy::{Candidacy, Stage};
use crate::record::{Attempt, TermInfo};
use crate::time::Instant;
use crate::token::{Revision, Token};

impl Candidacy<Induction> {
    /// Handles the assignment of partition zero. The claim is sent once the committed token is known.
    pub(super) fn assigned(&mut self, member: String) {
        if matches!(self.stage, Stage::Racing(Race::Owner(_)) | Stage::Releasing(Leaving::Ending(_))) {
            // The end of the previous ownership was never reported.
            self.group_lost(Loss::Rejoins);
        }
        if !matches!(self.stage, Stage::Racing(Race::Member)) {
            return;
        }
        let (now, longest) = (self.now, self.own.log.longest());
        let owed = match self.rules.win_delay {
            WinDelay::Automatic => Instant::ZERO,
            WinDelay::Cautious => now + longest,
            WinDelay::Fixed(wait) => now + wait,
        };
        self.forget_proof();
        self.own.failures = 0;
        self.stage = Stage::Racing(Race::Owner(Box::new(Owner {
            member,
            assigned_at: now,
            owed,
            first_question: self.own.last_question + 1,
            informed: false,
            stated: None,
            claim: None,
            deadline: None,
            topic: None,
            revoked: false,
            reader_is_new: false,
        })));
        self.claim();
    }

    // ---- the claim ----

    pub(super) fn claim(&mut self) {
        if self.owner().is_some_and(|owner| !owner.informed) {
            return self.ask_token();
        }
        let gaps = self.own.log.gaps();
        let time_of_day = self.own.topic.time_of_day.saturating_add(self.now.since(self.own.topic.asked_at));
        let incarnation = self.own.log.claimed_incarnation(time_of_day);
        let attempt = self.publish(Kind::Claim, TermInfo::of_acquire(incarnation));
        if let Stage::Racing(Race::Owner(owner)) = &mut self.stage {
            let (appended, below) = (None, None);
            owner.claim =
                Some(Open { attempt, incarnation, gaps, appended, below, asked: false, confirmed: false });
        }
    }

    /// The committed token is known.
    pub(super) fn informed(&mut self, token: Option<Token>) {
        self.own.failures = 0;
        self.stop_waiting();
        if let Stage::Racing(Race::Owner(owner)) = &mut self.stage {
            (owner.informed, owner.stated) = (true, token);
            self.claim();
        }
    }

    fn open_claim(&mut self) -> Option<&mut Open> {
        match &mut self.stage {
            Stage::Racing(Race::Owner(owner)) => owner.claim.as_mut(),
            _ => None,
        }
    }

    /// Notes that the append of a record was reported. If the record is the claim, the topic's id is read next.
    pub(super) fn claim_appended(&mut self, attempt: Attempt, offset: Revision) {
        let now = self.now;
        let Some(claim) = self.open_claim().filter(|claim| claim.attempt == attempt) else { return };
        claim.appended = Some((offset, now));
        self.inspect();
    }

    /// Notes that the claim was read back, so that the records below it are known.
    pub(super) fn claim_read(&mut self, attempt: Attempt) {
        let Some(owner) = self.owner().filter(|_| self.term.is_none()) else { return };
        let (below, gaps) = (self.own.log.below(owner.stated), self.own.log.gaps());
        let Some(claim) = self.open_claim().filter(|claim| claim.attempt == attempt) else { return };
        if claim.gaps != gaps {
            // Records that were skipped since this claim was published may state a larger incarnation.
            return self.claim();
        }
        claim.below = Some(below);
        self.own.log.settle();
        self.win();
    }

    /// Replaces a claim that lies in a part of the log that was not read.
    pub(super) fn claim_again_if_passed(&mut self) {
        let Some(owner) = self.owner() else { return };
        let unread = owner.claim.filter(|claim| claim.below.is_none()).and_then(|claim| claim.appended);
        let passed = unread.is_some_and(|(offset, _)| self.own.log.has_passed(offset));
        if passed && self.term.is_none() {
            self.claim();
        }
    }

    /// Begins to read the log of a topic whose id has just become known. Records read so far count as first observed
    /// now.
    pub(super) fn begin_reading(&mut self) {
        let now = self.now;
        match self.own.log.has_read() {
            true => self.own.log.gap(now),
            false => self.own.log.begin(now),
        }
        if let Some(below) = self.open_claim().and_then(|claim| claim.below.as_mut()) {
            (below.first_sight, below.released) = (now, false);
        }
        // A claim appended earlier is confirmed by the next answer.
        if self.open_claim().is_some() {
            self.inspect();
        }
    }

    /// Notes that the topic was inspected at `asked_at`. `same` states whether its id is the log's; otherwise the
    /// brokers report no id.
    pub(super) fn confirm_claim(&mut self, asked_at: Instant, same: bool) {
        let after = |claim: &&mut Open| claim.appended.is_some_and(|(_, at)| asked_at >= at);
        if let Some(claim) = self.open_claim().filter(after) {
            claim.asked = true;
            claim.confirmed |= same;
            self.win();
        }
    }

    // ---- the win ----

    /// Reports the win, unless a wait is owed or something that the win needs is not known yet.
    pub(super) fn win(&mut self) {
        let now = self.now;
        let Some(owner) = self.owner().filter(|_| self.term.is_none()) else { return };
        let Some((claim, below)) = owner.claim.and_then(|claim| Some((claim, claim.below?))) else { return };
        let Some(token) = claim.token() else { return };
        // The candidate was a member after its claim was appended, so every later owner's claim lies above this claim
        // with a larger token.
        let proven = self.own.proof.proven_offset().is_some_and(|proven| proven >= token.sequence);
        if !proven || !claim.asked || owner.deadline.is_none_or(|deadline| deadline <= now) {
            return;
        }
        if !self.own.proof.has_stated(token) {
            // Another candidate has meanwhile claimed with a larger incarnation; the next commit states that
            // incarnation.
            return self.renew_unless_waiting();
        }
        if let Some(since) = self.own.open_commits.below(token) {
            // If the coordinator applied that open commit last, the commit would hide this token from the next owner.
            if now.since(since) > self.lease {
                self.leave_partition(true);
            }
            return;
        }
        let waited_from = match claim.confirmed && !below.missed {
            true if below.released => None,
            true => Some(owner.assigned_at.min(below.first_sight)),
            // This may be another log than the last leader's, so the first sights in it prove nothing.
            false => Some(owner.assigned_at),
        };
        let until = waited_from.map_or(Instant::ZERO, |from| from + below.lease).max(owner.owed);
        if until > now {
            return self.timers.set(Timer::Owed, until);
        }
        if let Some(largest) = self.own.log.largest_token().filter(|largest| token <= *largest) {
            self.report_reset(Some(token));
            self.own.log.exceed(largest.incarnation);
            return self.claim();
        }
        let topic = self.own.topic.id;
        self.own.log.observe_token(token);
        self.timers.stop(Timer::Owed);
        if let Stage::Racing(Race::Owner(owner)) = &mut self.stage {
            owner.topic = topic;
        }
        self.won(token);
        if let Some(every) = self.rules.own.heartbeat {
            self.timers.set(Timer::Heartbeat, now + every);
        }
        // Observers learn of a term by its first heartbeat.
        self.renew_unless_waiting();
    }

    fn renew_unless_waiting(&mut self) {
        if !self.timers.is_set(Timer::Answer) {
            self.timers.set(Timer::Renew, self.now);
        }
    }

    // ---- the end ----

    /// Ends the lease that has run out, and the term, if any. This candidate may still own the partition; a commit will
    /// show whether it does.
    pub(super) fn lose(&mut self, reason: Reason) {
        let Stage::Racing(Race::Owner(owner)) = &mut self.stage else { return };
        (owner.deadline, owner.claim) = (None, None);
        let departure = self.departure.take();
        self.lost(reason);
        for timer in [Timer::Heartbeat, Timer::Drain, Timer::Owed] {
            self.timers.stop(timer);
        }
        if let Some(departure) = departure {
            // The work must stop at once, so there is nothing left to wait for.
            self.leave_partition(leaves_the_group(departure.reason));
        }
    }

    /// Handles the end of the membership, with which the partition is lost.
    pub(super) fn group_lost(&mut self, loss: Loss) {
        let mut leave = match &self.stage {
            Stage::Racing(Race::Owner(_)) => {
                let leave = self.departure.take().is_some_and(|departure| leaves_the_group(departure.reason));
                self.lose(Reason::Revoked);
                leave
            }
            Stage::Releasing(Leaving::Ending(ending)) => ending.leaves(),
            Stage::Racing(Race::Member) => false,
            Stage::Idle
            | Stage::Splaying
            | Stage::Racing(Race::Away)
            | Stage::Releasing(Leaving::Group)
            | Stage::Closed => return,
        };
        match loss {
            Loss::Rejoins => {}
            Loss::Dead(fault) => {
                leave = true;
                self.own.deaths = self.own.deaths.saturating_add(1);
                let wait = self.rules.backoff.wait(self.own.deaths, &mut self.rng);
                self.past.rest_until = self.past.rest_until.max(self.now + wait);
                self.report_fault(fault);
            }
            Loss::Replaced(fault) => {
                leave = true;
                self.intent.in_race = false;
                self.report_fault(fault);
            }
        }
        self.leave_partition(leave);
    }

    /// Ends the term and begins all waits again, because the log was replaced, or lost acknowledged records.
    pub(super) fn is_another_log(&mut self) {
        let now = self.now;
        self.report_reset(None);
        self.own.log.reset(now);
        self.lose(Reason::StoreReset);
        self.report_leader(None);
        match &mut self.stage {
            Stage::Racing(Race::Owner(owner)) => {
                owner.assigned_at = now;
                self.forget_proof();
                self.inspect();
                self.claim();
            }
            // A log that does not contain the term needs no release.
            Stage::Releasing(Leaving::Ending(ending)) if !ending.is_released() => {
                let leave = ending.leaves();
                self.leave_partition(leave);
            }
            _ => {}
        }
    }
}
