//! Requests that wait for a place in the session's queue: a campaign sends its request when its turn comes.
//!
//! The first request of each thing that the campaign does may wait, in four classes:
//!
//! - The round of a candidate that has proved its place is a renewal, ordered by its deadline, whether it leads or
//!   waits in line. If its leases run out, a leader's term ends, and a waiting candidate has to enter again at the end
//!   of the queue, which costs the store more than the round. Once such a deadline has passed, the round only shows
//!   what is left, and waits with the reads.
//! - Removing a former candidacy is a release.
//! - The first round of a new place, looks and probes are reads, so what has entered is proved before more enters.
//! - Entering the queue is an acquire, and so is moving a companion, which loses nothing by waiting. Among candidates
//!   that enter, the one that has waited longest goes first with all its requests: its lease would run out while others
//!   are granted theirs.
//!
//! Later requests of the same round, probe or step use its place, which an answer has just freed. The companions' lease
//! is asked for once per connection, and needs no place.

use core::time::Duration;

use super::io::{Answer, Request};
use super::timers::Timer;
use super::{Queue, Race};
use crate::candidacy::{self, Candidacy, Rule as _, Stage};
use crate::session::{Class, Wish};
use crate::time::Instant;

/// An activity of a campaign whose first request may have to wait. The most urgent one comes first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Wanted {
    Round,
    /// The read that confirms the newest proof.
    Confirm,
    Remove,
    /// The read that looks for a companion that should be gone.
    Check,
    Probe,
    Enter,
    StepBehind,
    Move,
}

impl Wanted {
    const ALL: [Self; 8] = [
        Self::Round,
        Self::Confirm,
        Self::Remove,
        Self::Check,
        Self::Probe,
        Self::Enter,
        Self::StepBehind,
        Self::Move,
    ];
}

/// The waiting requests.
#[derive(Clone, Debug, Default, Hash)]
pub(super) struct Waits {
    /// One bit each.
    these: u8,
    /// Since when the round that waits for a place has waited.
    round_since: Option<Instant>,
    /// How long the current round waited.
    round_waited: Duration,
}

pub(super) type Turns = candidacy::Turns<Waits>;

impl Waits {
    pub(super) fn contains(&self, wanted: Wanted) -> bool {
        self.these & 1 << wanted as u8 != 0
    }

    fn insert(&mut self, wanted: Wanted) {
        self.these |= 1 << wanted as u8;
    }

    fn remove(&mut self, wanted: Wanted) {
        self.these &= !(1 << wanted as u8);
    }

    /// Notes that a round was sent, or that its time was changed.
    pub(super) fn round_leaves(&mut self, now: Instant) {
        self.round_waited = self.round_since.take().map_or(Duration::ZERO, |since| now.since(since));
        self.remove(Wanted::Round);
        self.remove(Wanted::Confirm);
    }

    /// Stops waiting for everything but removals, because the place has changed, or there is none.
    pub(super) fn stop(&mut self) {
        let [remove, check] = [Wanted::Remove, Wanted::Check].map(|wanted| 1 << wanted as u8);
        self.these &= remove | check;
        (self.round_since, self.round_waited) = (None, Duration::ZERO);
    }

    /// The time at which a round's read was requested, minus the time that the round waited here.
    pub(super) fn without_wait(&self, asked: Instant) -> Instant {
        asked.before(self.round_waited)
    }
}

impl Candidacy<Queue> {
    /// Notes when the store answered a request of this campaign.
    pub(super) fn store_answered(&mut self, answer: &Answer) {
        if let Some((ticket, true)) = Queue::answers(answer) {
            self.own.turns.answered(ticket, self.now);
        }
    }

    /// Whether nothing was answered for as long as an attempt takes.
    pub(super) fn is_silent(&self) -> bool {
        self.own.turns.last_answers().any + self.attempt_limit() <= self.now
    }

    /// Whether the stream on which keep-alives were sent at `sent` is silent, because a request sent considerably later
    /// was answered. In a process that is itself late, answers wait in the order in which they arrived.
    pub(super) fn is_stream_silent(&self, sent: Instant) -> bool {
        sent + self.attempt_limit() <= self.own.turns.last_answers().apart
    }

    /// Whether a request may be sent now; otherwise it waits.
    pub(super) fn may_ask(&mut self, wanted: Wanted) -> bool {
        if self.own.turns.has_place() {
            self.own.turns.waits.remove(wanted);
            return true;
        }
        self.own.turns.waits.insert(wanted);
        if matches!(wanted, Wanted::Round | Wanted::Confirm) {
            let now = self.now;
            self.own.turns.waits.round_since.get_or_insert(now);
        }
        false
    }

    /// Emits a request, which takes a place.
    pub(super) fn send(&mut self, request: Request) {
        if !matches!(request, Request::Share { .. }) {
            self.own.turns.leaves();
        }
        self.ask(request);
    }

    /// The most urgent waiting request, if there is still a reason for it. A request with a timer that is set does not
    /// count, because the timer will send it.
    fn waits(&self) -> Option<Wanted> {
        let waits = &self.own.turns.waits;
        if waits.these == 0 {
            return None;
        }
        Wanted::ALL.into_iter().find(|wanted| waits.contains(*wanted) && self.has_reason(*wanted))
    }

    fn has_reason(&self, wanted: Wanted) -> bool {
        let is_entering = matches!(self.stage, Stage::Racing(Race::Entering(_)));
        match wanted {
            Wanted::Round | Wanted::Confirm => self.placed().is_some() && !self.own.round.keeps_alive(),
            Wanted::Remove => self.own.removal.is_due() && !self.timers.is_set(Timer::Remove),
            Wanted::Check => self.own.removal.is_due(),
            Wanted::Probe => is_entering && !self.own.probe.is_under_way(),
            Wanted::Enter => is_entering && self.own.awaited.is_none() && !self.timers.is_set(Timer::Retry),
            Wanted::StepBehind => self.placed().is_some() && self.term.is_none(),
            Wanted::Move => self.own.awaited.is_none() && self.moves(),
        }
    }

    /// The wish for what waits.
    pub(crate) fn wish(&self) -> Option<Wish> {
        let now = self.now;
        let (class, by) = match self.waits()? {
            wanted @ (Wanted::Round | Wanted::Confirm) => {
                let placed = self.placed()?;
                let deadline = placed.deadline.filter(|deadline| *deadline > now);
                match deadline.filter(|_| wanted == Wanted::Round || self.term.is_some()) {
                    Some(deadline) => (Class::Renewal, deadline),
                    None => (Class::Read, now),
                }
            }
            Wanted::Remove | Wanted::Check => (Class::Release, now),
            Wanted::Probe => (Class::Read, now),
            Wanted::Enter => match &self.stage {
                Stage::Racing(Race::Entering(entering)) if !self.is_barred() => {
                    let since = entering.since.unwrap_or(now);
                    // One nanosecond puts this entry ahead of those that began at the same time and have no lease yet.
                    let by = if entering.has_lease() { since.before(Duration::from_nanos(1)) } else { since };
                    (Class::Acquire, by)
                }
                _ => (Class::Read, now),
            },
            Wanted::StepBehind | Wanted::Move => (Class::Acquire, now),
        };
        Some(Wish { class, by })
    }

    /// Sends waiting requests as long as there are places.
    pub(super) fn turn(&mut self) {
        while self.own.turns.has_place()
            && let Some(wanted) = self.waits()
        {
            self.own.turns.waits.remove(wanted);
            match wanted {
                Wanted::Round => self.begin_round(),
                Wanted::Confirm => self.confirm(),
                Wanted::Remove => self.remove(),
                Wanted::Check => self.check(),
                Wanted::Probe => self.probe(),
                Wanted::Enter => self.try_to_enter(),
                Wanted::StepBehind => self.step_behind(),
                Wanted::Move => self.put_companion(),
            }
        }
    }
}
