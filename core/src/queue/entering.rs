//! Entering the queue: a lease for the place, one for the companion, and one transaction that creates both keys.
//!
//! If the outcome of a grant is unknown, the lease is dropped and another number is drawn, because a revoked number can
//! be granted again (measured). A transaction with an unknown outcome is repeated under the same lease: if an earlier
//! attempt was applied, the repetition finds its place.

use alloc::boxed::Box;
use alloc::string::String;

use super::answers::Failure;
use super::io::{Action, LeaseId, Outcome, Own, Request, Write};
use super::leaving::Leftover;
use super::line::Line;
use super::timers::Timer;
use super::turns::Wanted;
use super::{Awaited, Keys, Placed, Purpose, Queue, Race};
use crate::campaign::pace;
use crate::candidacy::{Candidacy, Stage};
use crate::record::Attempt;
use crate::time::Instant;
use crate::token::Revision;

/// A candidate that has no place yet.
#[derive(Clone, Debug, Default, Hash)]
pub struct Entering {
    /// The lease asked for, to hold the place.
    lease: Option<LeaseId>,
    asked: Instant,
    granted: bool,
    /// The lease to which all transactions of this attempt attach the companion.
    companion: Option<LeaseId>,
    /// Whether a transaction was sent that is not known to have been applied or refused.
    doubtful: bool,
    /// Whether the companion got another lease, because its lease was gone in the first transaction.
    again: bool,
    /// Since when this attempt has wanted to send a request.
    pub(super) since: Option<Instant>,
}

/// A candidate that leaves its place for one at the end of the queue.
#[derive(Clone, Debug, Hash)]
pub(super) struct StepBehind {
    lease: LeaseId,
    /// The lease to which the transaction attaches the companion; `None` until the transaction is sent.
    sent: Option<LeaseId>,
}

impl Candidacy<Queue> {
    pub(super) fn enter(&mut self) {
        self.stage = Stage::Racing(Race::Entering(Entering::default()));
        self.try_to_enter();
    }

    /// Takes the next step towards a place. If it is not known whether a token above every observed token is possible,
    /// the candidate looks first.
    pub(super) fn try_to_enter(&mut self) {
        if self.rests() {
            return;
        }
        match self.own.store.is_barred() && !self.own.unborn {
            true => self.look(),
            false => self.plan(),
        }
    }

    /// Takes a candidate's next step towards its place.
    pub(super) fn plan(&mut self) {
        let Stage::Racing(Race::Entering(entering)) = &mut self.stage else { return };
        if self.own.awaited.is_some() || self.giving_way.rests(self.now) {
            return;
        }
        if self.own.unborn {
            return self.inspect();
        }
        if self.own.store.is_barred() {
            if !core::mem::replace(&mut self.own.reported.barred, true) {
                self.report_reset();
            }
            let later = self.now + pace::renew_every(self.lease);
            return self.timers.set(Timer::Retry, later);
        }
        if self.past.rest_until > self.now {
            return self.timers.set(Timer::Retry, self.past.rest_until);
        }
        let since = *entering.since.get_or_insert(self.now);
        let (lease, is_granted) = (entering.lease, entering.granted);
        match (lease, self.own.shared.lease) {
            (None, _) if self.may_ask(Wanted::Enter) => {
                let lease = self.draw_lease();
                let (asked, since) = (self.now, Some(since));
                self.stage = Stage::Racing(Race::Entering(Entering {
                    lease: Some(lease),
                    asked,
                    since,
                    ..Entering::default()
                }));
                self.grant(lease);
            }
            (Some(_), None) => self.share(),
            (Some(lease), Some(companion)) if is_granted && self.may_ask(Wanted::Enter) => {
                let Stage::Racing(Race::Entering(entering)) = &mut self.stage else { return };
                let companion = *entering.companion.get_or_insert(companion);
                self.write(Purpose::Enter, Action::Enter { lease, companion, replaces: None });
            }
            _ => {}
        }
    }

    /// Whether a candidate that has its lease is waiting to send the transaction for its place.
    pub(super) fn waits_to_enter(&self, entering: &Entering) -> bool {
        entering.has_lease() && self.own.turns.waits.contains(Wanted::Enter)
    }

    pub(super) fn draw_lease(&mut self) -> LeaseId {
        // A lease's number is positive and has 63 bits; zero asks the server to choose one.
        LeaseId((self.rng.rand_u64() >> 1).max(1))
    }

    fn grant(&mut self, lease: LeaseId) {
        self.await_answer(Awaited::Grant(lease));
        self.send(Request::Grant { lease, ttl: self.lease });
    }

    fn share(&mut self) {
        self.await_answer(Awaited::Share);
        self.send(Request::Share { gone: self.own.shared.gone, ttl: self.lease });
    }

    fn await_answer(&mut self, awaited: Awaited) {
        self.own.awaited = Some(awaited);
        self.timers.stop(Timer::Retry);
        self.timers.set(Timer::Write, self.now + self.attempt_limit());
    }

    /// Sends a transaction. Only one is under way at a time.
    pub(super) fn write(&mut self, purpose: Purpose, action: Action) {
        let attempt = self.next_attempt();
        self.await_answer(Awaited::Write(attempt, purpose));
        self.send(Request::Write(Write { attempt, action }));
    }

    pub(super) fn next_attempt(&mut self) -> Attempt {
        self.own.last_attempt = Attempt(self.own.last_attempt.0 + 1);
        self.own.last_attempt
    }

    fn answered(&mut self, awaited: Awaited) -> bool {
        let is_it = self.own.awaited == Some(awaited);
        if is_it {
            self.own.awaited = None;
            self.timers.stop(Timer::Write);
        }
        is_it
    }

    pub(super) fn granted(&mut self, lease: LeaseId, result: Result<core::time::Duration, Failure>) {
        if !self.answered(Awaited::Grant(lease)) {
            return;
        }
        match (&mut self.stage, result) {
            (Stage::Racing(Race::Entering(entering)), Ok(_)) => {
                entering.granted = true;
                self.succeeded();
                self.plan();
            }
            (Stage::Racing(Race::Entering(entering)), Err(failure)) => {
                entering.lease = None;
                match failure {
                    Failure::LeaseExists => self.plan(),
                    failure => self.entering_failed(&failure),
                }
            }
            (Stage::Racing(Race::Placed(placed)), Ok(_)) => {
                let (own, companion) = (placed.keys.own(), placed.keys.companion);
                // A candidate that has won in the meantime keeps its place.
                if self.term.is_some() {
                    if let Some(step) = placed.step.take() {
                        self.own.removal.push(step.leftover());
                        self.remove();
                    }
                } else if let Some(step) = &mut placed.step {
                    step.sent = Some(companion);
                    self.write(Purpose::StepBehind, Action::Enter { lease, companion, replaces: Some(own) });
                }
            }
            (Stage::Racing(Race::Placed(placed)), Err(_)) => placed.step = None,
            _ => {}
        }
    }

    pub(super) fn shared(&mut self, result: Result<LeaseId, Failure>) {
        if let Some(from) = self.own.shared.leaves.take() {
            self.another_is_shared(from, &result);
        }
        let asked = self.answered(Awaited::Share);
        match result {
            Ok(lease) if self.own.shared.gone != Some(lease) => {
                // An answer for an earlier lease may arrive after the answer for a later one.
                let newer = |shared: &LeaseId| shared.raft_term() > lease.raft_term();
                self.own.shared.lease = Some(self.own.shared.lease.filter(newer).unwrap_or(lease));
                self.plan();
            }
            Ok(_) if asked => self.entering_failed(&Failure::LeaseGone),
            Err(failure) if asked => self.entering_failed(&failure),
            _ => {}
        }
    }

    /// Notes that the lease of the connection's companions is gone, so that another one is needed.
    pub(super) fn shared_lease_is_gone(&mut self) {
        self.own.shared.gone = self.own.shared.lease.take().or(self.own.shared.gone);
    }

    /// Notes that a lease is gone. If it was the lease of the connection's companions, another one is needed.
    pub(super) fn lease_is_gone(&mut self, lease: LeaseId) {
        if self.own.shared.lease == Some(lease) {
            self.shared_lease_is_gone();
        }
    }

    pub(super) fn entering_failed(&mut self, failure: &Failure) {
        self.failed(failure);
        if let Stage::Racing(Race::Entering(entering)) = &mut self.stage {
            entering.since = None;
        }
        let in_the_way = matches!(&self.stage, Stage::Racing(Race::Entering(entering)) if entering.doubtful);
        // The user's back-off must not leave our place blocking other candidates.
        let wait = match in_the_way {
            true => crate::campaign::backoff::standard(self.own.failures, &mut self.rng),
            false => self.rules.backoff.wait(self.own.failures, &mut self.rng),
        };
        self.timers.set(Timer::Retry, self.now + wait);
    }

    pub(super) fn write_timed_out(&mut self) {
        match self.own.awaited {
            Some(Awaited::Grant(lease)) => self.granted(lease, Err(Failure::Unanswered)),
            Some(Awaited::Share) => self.shared(Err(Failure::Unanswered)),
            Some(Awaited::Write(attempt, _)) => self.wrote(attempt, Outcome::Failed(Failure::Unanswered)),
            None => {}
        }
    }

    pub(super) fn wrote(&mut self, attempt: Attempt, outcome: Outcome) {
        if self.own.removal.is_awaiting(attempt) {
            return self.left(outcome);
        }
        // Any other answer belongs to an abandoned attempt; the next read or attempt shows what that attempt did.
        let Some(Awaited::Write(awaited, purpose)) = self.own.awaited else { return };
        if awaited != attempt {
            return;
        }
        self.answered(Awaited::Write(awaited, purpose));
        match purpose {
            Purpose::Enter => self.entered(outcome),
            Purpose::StepBehind => self.stepped_behind(outcome),
            Purpose::Name => self.named(&outcome),
            Purpose::Move => self.moved(&outcome),
        }
    }

    fn entered(&mut self, outcome: Outcome) {
        let Stage::Racing(Race::Entering(entering)) = &mut self.stage else { return };
        let (Some(lease), Some(companion)) = (entering.lease, entering.companion) else { return };
        let (doubtful, again) = (entering.doubtful, entering.again);
        match outcome {
            Outcome::Applied { revision } | Outcome::Refused { created: Some(revision) } => {
                self.succeeded();
                let modified = revision;
                self.take_place(Keys { lease, companion, moves: None, modified, revision, doubtful }, None);
            }
            // Only part of what an earlier attempt created still exists, so there is no place any more.
            Outcome::Refused { created: None } => self.enter_again(lease, companion, true),
            // The lease of the place or of the companion is gone. While the candidate waits, the place's lease can run
            // out, but only when a lease has passed since it was asked for.
            Outcome::Failed(Failure::LeaseGone) => {
                let is_companions = self.now < entering.asked + self.lease;
                if is_companions && !doubtful && !core::mem::replace(&mut entering.again, true) {
                    entering.companion = None;
                    self.lease_is_gone(companion);
                    return self.plan();
                }
                if is_companions && !again {
                    self.lease_is_gone(companion);
                }
                self.enter_again(lease, companion, doubtful);
            }
            Outcome::Failed(failure) => {
                entering.doubtful |= failure.may_be_applied();
                self.entering_failed(&failure);
            }
        }
    }

    /// Gives up a lease that led to no place. The candidate enters again once no key attached to that lease can appear
    /// any more.
    fn enter_again(&mut self, lease: LeaseId, companion: LeaseId, doubtful: bool) {
        self.leave(Leftover::unknown(lease, Some(companion), doubtful), false);
    }

    fn take_place(&mut self, keys: Keys, stepped_for: Option<(String, String)>) {
        self.own.round.stop();
        self.own.turns.waits.stop();
        self.own.round.given_up = None;
        self.stage = Stage::Racing(Race::Placed(Box::new(Placed {
            keys,
            line: Line::default(),
            deadline: None,
            first: false,
            hand_over: None,
            names_successor: false,
            step: None,
            stepped_for,
        })));
        self.begin_round();
    }

    /// Goes to the end of the queue if the leader hands over to a candidate behind this candidate.
    pub(super) fn step_behind(&mut self) {
        let Stage::Racing(Race::Placed(placed)) = &mut self.stage else { return };
        let Some((leader, successor)) = placed.line.handing_over() else { return };
        let asked = Some((String::from(leader), String::from(successor)));
        let goes = placed.line.is_known()
            && self.term.is_none()
            && placed.step.is_none()
            && self.own.awaited.is_none()
            && asked != placed.stepped_for
            && successor != self.rules.name
            && !placed.line.has_ahead(successor);
        if !goes || !self.may_ask(Wanted::StepBehind) {
            return;
        }
        if let Stage::Racing(Race::Placed(placed)) = &mut self.stage {
            placed.stepped_for = asked;
        }
        let lease = self.draw_lease();
        if let Stage::Racing(Race::Placed(placed)) = &mut self.stage {
            placed.step = Some(StepBehind { lease, sent: None });
        }
        self.grant(lease);
    }

    fn stepped_behind(&mut self, outcome: Outcome) {
        let Stage::Racing(Race::Placed(placed)) = &mut self.stage else { return };
        let Some(step) = placed.step.take() else { return };
        match outcome {
            Outcome::Applied { revision } => {
                let (before, stepped_for) = (placed.keys.clone(), placed.stepped_for.take());
                self.succeeded();
                self.own.removal.push(Leftover::left(&before));
                let (modified, companion) = (revision, step.sent.unwrap_or(before.companion));
                let keys =
                    Keys { lease: step.lease, companion, moves: None, modified, revision, doubtful: false };
                self.take_place(keys, stepped_for);
                self.remove();
            }
            Outcome::Failed(failure) if !failure.may_be_applied() && failure != Failure::LeaseGone => {
                self.own.removal.push(Leftover::unknown(step.lease, None, false));
                self.failed(&failure);
                self.remove();
            }
            // Whatever the transaction did, this candidate leaves both its places and takes a third.
            _ => {
                placed.step = Some(step);
                self.give_up_place();
            }
        }
    }
}

impl StepBehind {
    pub(super) fn is_sent(&self) -> bool {
        self.sent.is_some()
    }

    pub(super) fn leftover(&self) -> Leftover {
        Leftover::unknown(self.lease, self.sent, self.sent.is_some())
    }
}

impl Entering {
    pub(super) fn has_lease(&self) -> bool {
        self.granted
    }

    /// The lease and the keys that a candidate leaves behind if it stops while entering. `sent` states whether one of
    /// its transactions has no answer.
    pub(super) fn leftover(&self, sent: bool) -> Option<Leftover> {
        let lease = self.lease.filter(|_| self.granted)?;
        Some(Leftover::unknown(lease, self.companion, self.doubtful || sent))
    }

    pub(super) fn has_companion_on(&self, lease: LeaseId) -> bool {
        self.companion == Some(lease)
    }
}

impl Keys {
    pub(super) fn own(&self) -> Own {
        Own { lease: self.lease, revision: self.revision }
    }

    pub(super) fn is_created_at(&self, revision: Revision) -> bool {
        self.revision == revision
    }
}
