//! A place in the queue: what a proof makes of it, and how a term begins and ends.

use alloc::string::String;

use super::entering::StepBehind;
use super::io::{Action, Outcome, Output, Snapshot};
use super::line::{self, Next};
use super::timers::Timer;
use super::{Campaign, Candidacy, Purpose, Stage};
use crate::campaign::{Event, Reason, Term};
use crate::candidacy::{Step, Tried};
use crate::time::Instant;

/// A leader that names its successor, and goes on leading.
#[derive(Clone, Debug, Hash)]
pub(super) struct HandOver {
    successor: String,
}

impl Campaign {
    /// What of our keys is not as we created it, in a linearised read: the reason for which a term ends.
    pub(super) fn missing(&self, snapshot: &Snapshot) -> Option<Reason> {
        let candidacy = &self.placed()?.candidacy;
        let created = |revision| candidacy.is_created_at(revision);
        let (Some(place), Some(companion)) = (&snapshot.place, &snapshot.companion) else {
            return Some(Reason::Deleted);
        };
        // A place without a lease would outlive us, and another value is another's candidate.
        let place_is_ours =
            created(place.created) && created(place.modified) && place.lease == Some(candidacy.lease);
        // One that moves is on either of two leases.
        let companion_is_ours = created(companion.created)
            && companion.lease.is_some_and(|lease| candidacy.has_companion_on(lease))
            && companion.nonce == Some(self.nonce);
        (!place_is_ours || !companion_is_ours).then_some(Reason::Usurped)
    }

    /// A proof: both leases and both keys stood, and the deadline that follows.
    pub(super) fn proven(&mut self, deadline: Instant, tried: Tried, snapshot: &Snapshot, whole: bool) {
        let now = self.now;
        match deadline > now {
            true => self.giving_way.proved(now),
            // It is over when it comes, and wins nothing.
            false => self.step_failed(Step::Read, tried, None),
        }
        if self.placed().is_none() {
            return;
        }
        self.check_places(snapshot);
        self.check_namesake(snapshot, whole);
        self.report_leader(line::leader(snapshot));
        self.remove_revived(snapshot);
        let Stage::Placed(placed) = &mut self.stage else { return };
        let revision = placed.candidacy.revision;
        placed.deadline = placed.deadline.max(Some(deadline));
        if let Some(companion) = &snapshot.companion {
            placed.candidacy.modified = companion.modified;
            placed.names_successor |= companion.successor.is_some();
        }
        let is_first_sight = placed.line.observe(snapshot, whole, revision, now);
        placed.first = line::is_first(snapshot, revision);
        if is_first_sight {
            self.owe(snapshot);
        }
        let Stage::Placed(placed) = &self.stage else { return };
        match (&placed.term, placed.first) {
            (None, true) => self.win(),
            (None, false) => self.step_behind(),
            (Some(_), true) => self.advance_hand_over(snapshot, whole),
            // No key is created ahead of one that stands, unless the store lost what it had.
            (Some(_), false) => self.lose(Reason::Usurped),
        }
    }

    /// The whole queue was read for the first time since the candidacy entered. What disappeared before it was never
    /// noticed, so what is owed to it counts from here on.
    fn owe(&mut self, snapshot: &Snapshot) {
        let longest = self.store.longest();
        self.owed = self.owed.max(self.now + self.rules.win_delay.least(longest));
        let owes = core::mem::take(&mut self.owes_a_lease);
        if owes || snapshot.may_have_a_former_leader() {
            self.owed = self.owed.max(self.now + longest);
        }
    }

    /// Reports the win, at the time of a proof that shows this candidate first, unless a wait is owed.
    fn win(&mut self) {
        let Some(placed) = self.placed() else { return };
        // A transaction under way replaces this place: others may win as soon as it is applied.
        if placed.step.as_ref().is_some_and(StepBehind::is_sent) {
            return;
        }
        let token = self.store.token(placed.candidacy.revision);
        let vanished = placed.line.vanished_until(self.store.longest()).unwrap_or_default();
        let until = self.store.trusted_at().max(self.owed).max(vanished);
        if until > self.now {
            return self.timers.set(Timer::Owed, until);
        }
        if placed.deadline.is_none_or(|deadline| deadline <= self.now) {
            return;
        }
        if self.store.largest_token().is_some_and(|largest| token <= largest) {
            return self.give_up_place();
        }
        let term = Term { token, started: self.now };
        self.timers.stop(Timer::Owed);
        self.store.observe_token(token);
        self.reported.barred = false;
        if let Stage::Placed(placed) = &mut self.stage {
            placed.term = Some(term);
        }
        self.giving_way.won(self.rules.lease, self.now);
        self.report(Event::Won(term));
    }

    /// Ends a term whose deadline has passed. A place without a term is what the store says it is.
    pub(super) fn expire(&mut self) {
        let over = self.lease().is_some_and(|lease| lease.deadline <= self.now);
        if over {
            self.lose(Reason::Expired);
        }
    }

    /// The place is lost, and the term with it, if there is one.
    pub(super) fn lose(&mut self, reason: Reason) {
        let Stage::Placed(placed) = &self.stage else { return };
        let working = placed.term.is_some() && placed.departure.is_some() && reason == Reason::Expired;
        self.end(reason, working);
    }

    /// Leaves the place: the loss is reported first, and the keys are removed after that.
    pub(super) fn end(&mut self, reason: Reason, working: bool) {
        let Some(term) = self.placed().map(|placed| placed.term) else { return };
        if let Some(term) = term {
            self.giving_way.lost(self.now);
            self.report(Event::Lost { term, reason });
        }
        self.leave_place(working);
    }

    /// A candidate that does not lead gives its place up.
    pub(super) fn give_up_place(&mut self) {
        if self.placed().is_some_and(|placed| placed.term.is_none()) {
            self.leave_place(false);
        }
    }

    // ---- leaving of its own will ----

    /// The leader leaves of its own will: its work drains while the lease is kept.
    pub(super) fn depart(&mut self, reason: Reason) {
        let (now, drain) = (self.now, self.rules.drain);
        let Stage::Placed(placed) = &mut self.stage else { return };
        let Some(term) = placed.term.filter(|_| placed.departure.is_none()) else { return };
        placed.departure = Some(reason);
        let given_up = placed.hand_over.take();
        self.timers.stop(Timer::HandOver);
        self.timers.set(Timer::Drain, now + drain);
        self.report(Event::Draining { term, until: now + drain, reason });
        if let Some(hand_over) = given_up.filter(|_| reason != Reason::HandedOver) {
            self.outputs.push_back(Output::NotNext { successor: hand_over.successor, before: None });
        }
    }

    pub(super) fn end_drain(&mut self, timed_out: bool) {
        if let Some(reason) = self.placed().and_then(|placed| placed.departure) {
            self.end(reason, timed_out);
        }
    }

    pub(super) fn handler_failed(&mut self) {
        let Some(term) = self.placed().and_then(|placed| placed.term) else { return };
        let soon = self.now.since(term.started) < self.rules.lease;
        self.handler_failures = if soon { self.handler_failures.saturating_add(1) } else { 1 };
        self.rest_until = self.now + self.rules.backoff.wait(self.handler_failures, &mut self.rng);
        self.end(Reason::HandlerFailed, true);
    }

    // ---- hand over ----

    pub(super) fn hand_over(&mut self, successor: String) {
        let until = self.now + self.rules.drain;
        let Stage::Placed(placed) = &mut self.stage else { return };
        if placed.term.is_none() || placed.departure.is_some() || successor == self.rules.name {
            return;
        }
        placed.hand_over = Some(HandOver { successor });
        self.timers.set(Timer::HandOver, until);
        self.begin_round();
    }

    /// Releases once a proof shows the successor next; names it where candidates of ours are to step behind.
    fn advance_hand_over(&mut self, snapshot: &Snapshot, whole: bool) {
        let Some(placed) = self.placed() else { return };
        let revision = placed.candidacy.revision;
        let Some(hand_over) = placed.hand_over.as_ref().filter(|_| whole) else {
            return self.name_no_successor();
        };
        match line::next(snapshot, revision, &hand_over.successor) {
            Next::Is => self.depart(Reason::HandedOver),
            Next::Foreign(name) => self.not_next(Some(name)),
            Next::Absent => self.not_next(None),
            Next::Behind if placed.names_successor || self.awaited.is_some() => {}
            Next::Behind => {
                let successor = Some(hand_over.successor.clone());
                self.write_name(successor);
            }
        }
    }

    fn write_name(&mut self, successor: Option<String>) {
        let Stage::Placed(placed) = &mut self.stage else { return };
        // From the send on, as it may be applied whatever is answered.
        placed.names_successor |= successor.is_some();
        let Candidacy { companion, modified, .. } = placed.candidacy;
        let own = placed.candidacy.own();
        self.write(Purpose::Name, Action::Name { own, modified, companion, successor });
    }

    pub(super) fn named(&mut self, outcome: &Outcome) {
        let Stage::Placed(placed) = &mut self.stage else { return };
        let names = placed.hand_over.is_some();
        match outcome {
            Outcome::Applied { .. } => placed.names_successor = names,
            // The companion is not as it was: a read says what it is.
            Outcome::Refused { .. } => {
                placed.names_successor &= !names;
                self.begin_round();
            }
            // The next proof shows whether it is still needed.
            Outcome::Failed(failure) => {
                placed.names_successor &= !names || failure.may_be_applied();
                self.failed(failure);
            }
        }
    }

    /// A successor that was named is not to be named any more.
    fn name_no_successor(&mut self) {
        let goes_on = |placed: &super::Placed| {
            placed.names_successor && placed.hand_over.is_none() && placed.departure.is_none()
        };
        if self.placed().is_some_and(goes_on) && self.awaited.is_none() {
            self.write_name(None);
        }
    }

    /// The hand over came to nothing, and the term goes on.
    fn not_next(&mut self, before: Option<String>) {
        let Stage::Placed(placed) = &mut self.stage else { return };
        let Some(hand_over) = placed.hand_over.take() else { return };
        self.timers.stop(Timer::HandOver);
        self.outputs.push_back(Output::NotNext { successor: hand_over.successor, before });
        self.name_no_successor();
    }

    pub(super) fn hand_over_timed_out(&mut self) {
        self.not_next(None);
    }
}
