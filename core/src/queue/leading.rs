//! A place in the queue: what a proof means for it, and how a term begins and ends.

use alloc::string::String;

use super::entering::StepBehind;
use super::io::{Action, Outcome, Snapshot, Tell};
use super::line::{self, Next};
use super::timers::Timer;
use super::{Keys, Purpose, Queue, Race};
use crate::campaign::Reason;
use crate::candidacy::{Candidacy, Stage, Step, Tried};
use crate::time::Instant;

/// A leader that has named its successor and still leads.
#[derive(Clone, Debug, Hash)]
pub(super) struct HandOver {
    successor: String,
}

impl Candidacy<Queue> {
    /// The reason for ending the term, if a linearised read shows that our keys changed.
    pub(super) fn missing(&self, snapshot: &Snapshot) -> Option<Reason> {
        let keys = &self.placed()?.keys;
        let created = |revision| keys.is_created_at(revision);
        let (Some(place), Some(companion)) = (&snapshot.place, &snapshot.companion) else {
            return Some(Reason::Deleted);
        };
        // A place without a lease would outlive us, and another value belongs to another candidate.
        let place_is_ours =
            created(place.created) && created(place.modified) && place.lease == Some(keys.lease);
        // A companion that is moving is on one of two leases.
        let companion_is_ours = created(companion.created)
            && companion.lease.is_some_and(|lease| keys.has_companion_on(lease))
            && companion.nonce == Some(self.nonce);
        (!place_is_ours || !companion_is_ours).then_some(Reason::Usurped)
    }

    /// Handles a proof, which showed both leases and both keys and gives this deadline.
    pub(super) fn proven(&mut self, deadline: Instant, tried: Tried, snapshot: &Snapshot, whole: bool) {
        let now = self.now;
        match deadline > now {
            true => self.giving_way.proved(now),
            // The proof is already out of date when it arrives, and wins nothing.
            false => self.step_failed(Step::Read, tried, None),
        }
        if self.placed().is_none() {
            return;
        }
        self.check_places(snapshot);
        self.check_namesake(snapshot, whole);
        self.report_leader(line::leader(snapshot));
        self.remove_revived(snapshot);
        let Stage::Racing(Race::Placed(placed)) = &mut self.stage else { return };
        let revision = placed.keys.revision;
        placed.deadline = placed.deadline.max(Some(deadline));
        if let Some(companion) = &snapshot.companion {
            placed.keys.modified = companion.modified;
            placed.names_successor |= companion.successor.is_some();
        }
        let is_first_sight = placed.line.observe(snapshot, whole, revision, now);
        placed.first = line::is_first(snapshot, revision);
        if is_first_sight {
            self.owe(snapshot);
        }
        let Stage::Racing(Race::Placed(placed)) = &self.stage else { return };
        match (&self.term, placed.first) {
            (None, true) => self.win(),
            (None, false) => {
                self.leave_the_lease_in_the_way();
                self.step_behind();
            }
            (Some(_), true) => self.advance_hand_over(snapshot, whole),
            // No key is created ahead of an existing one, unless the store lost data.
            (Some(_), false) => self.lose(Reason::Usurped),
        }
    }

    /// Sets the wait that is owed after the first read of the whole queue since this candidacy entered. Disappearances
    /// before that read went unnoticed, so the wait for them counts from now.
    fn owe(&mut self, snapshot: &Snapshot) {
        let longest = self.own.store.longest();
        self.own.owed = self.own.owed.max(self.now + self.rules.win_delay.least(longest));
        let owes = core::mem::take(&mut self.own.owes_a_lease);
        if owes || snapshot.may_have_a_former_leader() {
            self.own.owed = self.own.owed.max(self.now + longest);
        }
    }

    /// Reports the win when a proof shows this candidate first, unless a wait is owed.
    fn win(&mut self) {
        let Some(placed) = self.placed() else { return };
        // A transaction that replaces this place is in flight: other candidates may win as soon as it is applied.
        if placed.step.as_ref().is_some_and(StepBehind::is_sent) {
            return;
        }
        let token = self.own.store.token(placed.keys.revision);
        let vanished = placed.line.vanished_until(self.own.store.longest()).unwrap_or_default();
        let until = self.own.store.trusted_at().max(self.own.owed).max(vanished);
        if until > self.now {
            return self.timers.set(Timer::Owed, until);
        }
        if placed.deadline.is_none_or(|deadline| deadline <= self.now) {
            return;
        }
        if self.own.store.largest_token().is_some_and(|largest| token <= largest) {
            return self.give_up_place();
        }
        self.timers.stop(Timer::Owed);
        self.own.store.observe_token(token);
        self.own.reported.barred = false;
        self.won(token);
    }

    /// Loses the place, and the term, if any. The loss is reported first, then the keys are removed. A place without a
    /// term remains until the store shows otherwise.
    pub(super) fn lose(&mut self, reason: Reason) {
        if self.placed().is_some() {
            let working = self.departure.is_some() && reason == Reason::Expired;
            let had_a_term = self.lost(reason).is_some();
            self.leave_place(had_a_term && working);
        }
    }

    /// Gives up the place of a candidate that does not lead.
    pub(super) fn give_up_place(&mut self) {
        if self.placed().is_some() && self.term.is_none() {
            self.leave_place(false);
        }
    }

    /// Ends a hand-over that is under way. If the leader leaves for another reason, it hands over to no candidate.
    pub(super) fn departs(&mut self, reason: Reason) {
        let Stage::Racing(Race::Placed(placed)) = &mut self.stage else { return };
        let given_up = placed.hand_over.take();
        self.timers.stop(Timer::HandOver);
        if let Some(hand_over) = given_up.filter(|_| reason != Reason::HandedOver) {
            self.tell(Tell::NotNext { successor: hand_over.successor, before: None });
        }
    }

    // ---- hand over ----

    pub(super) fn hand_over(&mut self, successor: String) {
        let until = self.now + self.rules.drain;
        let Stage::Racing(Race::Placed(placed)) = &mut self.stage else { return };
        if self.term.is_none() || self.departure.is_some() || successor == self.rules.name {
            return;
        }
        placed.hand_over = Some(HandOver { successor });
        self.timers.set(Timer::HandOver, until);
        self.begin_round();
    }

    /// Releases once a proof shows that the successor is next. Names the successor in the companion if other candidates
    /// of ours have to step behind it.
    fn advance_hand_over(&mut self, snapshot: &Snapshot, whole: bool) {
        let Some(placed) = self.placed() else { return };
        let revision = placed.keys.revision;
        let Some(hand_over) = placed.hand_over.as_ref().filter(|_| whole) else {
            return self.name_no_successor();
        };
        match line::next(snapshot, revision, &hand_over.successor) {
            Next::Is => self.depart(Reason::HandedOver, None),
            Next::Foreign(name) => self.not_next(Some(name)),
            Next::Absent => self.not_next(None),
            Next::Behind if placed.names_successor || self.own.awaited.is_some() => {}
            Next::Behind => {
                let successor = Some(hand_over.successor.clone());
                self.write_name(successor);
            }
        }
    }

    fn write_name(&mut self, successor: Option<String>) {
        let Stage::Racing(Race::Placed(placed)) = &mut self.stage else { return };
        // The successor counts as named from now on, because this write may be applied whatever its answer is.
        placed.names_successor |= successor.is_some();
        let Keys { companion, modified, .. } = placed.keys;
        let own = placed.keys.own();
        self.write(Purpose::Name, Action::Name { own, modified, companion, successor });
    }

    pub(super) fn named(&mut self, outcome: &Outcome) {
        let Stage::Racing(Race::Placed(placed)) = &mut self.stage else { return };
        let names = placed.hand_over.is_some();
        match outcome {
            Outcome::Applied { .. } => placed.names_successor = names,
            // The companion has changed, and a read will show how.
            Outcome::Refused { .. } => {
                placed.names_successor &= !names;
                self.begin_round();
            }
            // The next proof will show whether the write is still needed.
            Outcome::Failed(failure) => {
                placed.names_successor &= !names || failure.may_be_applied();
                self.failed(failure);
            }
        }
    }

    /// Stops naming the successor.
    fn name_no_successor(&mut self) {
        let names = self.placed().is_some_and(|placed| placed.names_successor && placed.hand_over.is_none());
        if names && self.departure.is_none() && self.own.awaited.is_none() {
            self.write_name(None);
        }
    }

    /// Gives up the hand-over, which could not be carried out. The term continues.
    fn not_next(&mut self, before: Option<String>) {
        let Stage::Racing(Race::Placed(placed)) = &mut self.stage else { return };
        let Some(hand_over) = placed.hand_over.take() else { return };
        self.timers.stop(Timer::HandOver);
        self.tell(Tell::NotNext { successor: hand_over.successor, before });
        self.name_no_successor();
    }

    pub(super) fn hand_over_timed_out(&mut self) {
        self.not_next(None);
    }
}
