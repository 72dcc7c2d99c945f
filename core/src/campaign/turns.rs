//! Requests that wait for a place in the session's queue: a campaign sends its request when its turn comes.

use super::io::{Answer, Request};
use super::timers::Timer;
use super::{KeyLease, Race};
use crate::candidacy::{self, Candidacy, Rule as _, Stage};
use crate::session::{Class, LastAnswers, Wish};

/// A request that a campaign wants to make.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Wanted {
    Read,
    Write,
}

/// The number of requests that may be sent, and the waiting request.
pub(super) type Turns = candidacy::Turns<Option<Wanted>>;

impl Candidacy<KeyLease> {
    /// Notes when the store answered a request of this campaign.
    pub(super) fn store_answered(&mut self, answer: &Answer) {
        if let Some((ticket, true)) = KeyLease::answers(answer) {
            self.own.turns.answered(ticket, self.now);
        }
    }

    /// Whether nothing of this kind was answered within the time that an attempt takes.
    pub(super) fn is_silent(&self, timed_out: Wanted) -> bool {
        let LastAnswers { any, apart: write } = self.own.turns.last_answers();
        let answered = match timed_out {
            Wanted::Read => any,
            Wanted::Write => write,
        };
        answered + self.attempt_limit() <= self.now
    }

    /// Whether a request may leave now; otherwise it waits.
    pub(super) fn may_ask(&mut self, wanted: Wanted) -> bool {
        let may = self.own.turns.has_place();
        if !may {
            self.own.turns.waits = Some(wanted);
        }
        may
    }

    /// Emits a request, which takes a place.
    pub(super) fn send(&mut self, request: Request) {
        self.own.turns.leaves();
        self.own.turns.waits = None;
        self.ask(request);
    }

    /// The waiting request, if there is still a reason for it. A request with a timer does not count, because the timer
    /// will send it.
    fn waits(&self) -> Option<Wanted> {
        let waits = self.own.turns.waits?;
        let is_set = |timer| self.timers.is_set(timer);
        let has_reason = match (&self.stage, waits) {
            (_, Wanted::Write) if self.own.attempts.is_awaiting() => false,
            (_, Wanted::Read) if self.own.key.is_reading() => false,
            (Stage::Racing(Race::Holder(holder)), Wanted::Read) => holder.must_read,
            (Stage::Racing(Race::Holder(holder)), Wanted::Write) => {
                !holder.must_read && !is_set(Timer::Renew) && !is_set(Timer::Retry)
            }
            (Stage::Releasing(_), Wanted::Read) => true,
            (Stage::Releasing(_), Wanted::Write) => !is_set(Timer::Retry) && !self.own.key.is_reading(),
            // A resting candidate's probe is a read in addition to the reads that the timers start.
            (Stage::Racing(Race::Candidate), Wanted::Read) if self.giving_way.rests(self.now) => true,
            (Stage::Racing(Race::Candidate), _) => !is_set(Timer::Acquire) && !is_set(Timer::Poll),
            (Stage::Idle | Stage::Splaying | Stage::Closed, _) => false,
        };
        has_reason.then_some(waits)
    }

    /// An acquire over our own record ranks with the releases, because this record without a term keeps other
    /// candidates waiting.
    pub(crate) fn wish(&self) -> Option<Wish> {
        let waits = self.waits()?;
        let (class, by) = match &self.stage {
            Stage::Racing(Race::Holder(holder)) => (Class::Renewal, self.deadline_of(holder)),
            // Our record without a term keeps other candidates waiting.
            Stage::Racing(Race::Candidate)
                if waits == Wanted::Write && self.own_record_observed().is_none() =>
            {
                (Class::Acquire, self.now)
            }
            Stage::Racing(Race::Candidate) if waits == Wanted::Read => (Class::Read, self.now),
            _ => (Class::Release, self.now),
        };
        Some(Wish { class, by })
    }

    /// Sends the waiting request, if its turn has come.
    pub(super) fn turn(&mut self) {
        if !self.own.turns.has_place() {
            return;
        }
        let waits = self.waits();
        self.own.turns.waits = None;
        match (&self.stage, waits) {
            (_, None) => {}
            (_, Some(Wanted::Read)) => self.read(),
            (Stage::Racing(Race::Holder(_)), _) => self.renew(),
            (Stage::Releasing(_), _) => self.release(),
            _ => self.acquire(),
        }
    }
}
