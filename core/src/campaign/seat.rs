//! A seat that is held, and one that is being given back.

use alloc::string::String;

use super::event::{Reason, Term};
use super::ledger::Sent;
use super::sight::Wait;
use crate::record::{Attempt, Claim};
use crate::time::Instant;
use crate::token::{Incarnation, Revision, Token};

/// The seat, held: our newest record is there, as far as we can know.
#[derive(Clone, Debug, Hash)]
pub(super) struct Seat {
    /// The newest revision known to be ours; the next renewal expects it.
    pub(super) revision: Revision,
    /// When the newest write that is known applied was sent.
    pub(super) proven: Instant,
    pub(super) wait: Wait,
    /// Whether a renewal later than the acknowledgement of the acquire was acknowledged.
    pub(super) renewed: bool,
    /// The revision of the acquire: the token of the term.
    sequence: Revision,
    incarnation: Incarnation,
    /// When the acquire was acknowledged.
    pub(super) acknowledged: Instant,
    /// The attempt that was the acquire.
    attempt: Attempt,
    /// Whether the watch showed that the acquire was applied in the life of the store that is known.
    witnessed: bool,
    /// The term, once it is told.
    pub(super) term: Option<Term>,
    /// Set while the holder leaves of its own will.
    pub(super) leaving: Option<Leave>,
    /// Whether a refusal has to be explained by a read before anything else is written.
    pub(super) check: bool,
    /// The number of the connection over which the key was found absent.
    pub(super) absent: Option<u64>,
}

/// Why and for whom a holder leaves.
#[derive(Clone, Debug, Hash)]
pub(super) struct Leave {
    pub(super) reason: Reason,
    pub(super) successor: Option<String>,
}

impl Seat {
    pub(super) fn taken(sent: &Sent, revision: Revision, incarnation: Incarnation, now: Instant) -> Self {
        Self {
            revision,
            proven: sent.at,
            wait: sent.wait,
            renewed: false,
            sequence: revision,
            incarnation,
            acknowledged: now,
            attempt: sent.attempt,
            witnessed: false,
            term: None,
            leaving: None,
            check: false,
            absent: None,
        }
    }

    /// Notes that a later write of ours was applied; the token stays that of the acquire.
    pub(super) fn extend(&mut self, revision: Revision, sent_at: Instant) {
        self.revision = self.revision.max(revision);
        self.proven = self.proven.max(sent_at);
        self.renewed |= sent_at >= self.acknowledged;
        self.check = false;
        self.absent = None;
    }

    pub(super) fn token(&self) -> Token {
        Token { incarnation: self.incarnation, sequence: self.sequence }
    }

    /// What a record says of the term that is sent now.
    pub(super) fn claim(&self, now: Instant) -> Claim {
        Claim { token: self.token(), led_for: self.term.map(|term| now.since(term.started)) }
    }

    /// The watch showed that `attempt` was applied at `revision`.
    pub(super) fn witness(&mut self, attempt: Attempt, revision: Revision) {
        self.witnessed |= (attempt, revision) == (self.attempt, self.sequence);
    }

    /// Whether the newest record known to be ours was known, and expected, when `sent` was sent: an attempt of this term
    /// that `expected` that record.
    pub(super) fn knew(&self, sent: &Sent, expected: Revision) -> bool {
        sent.attempt > self.attempt && sent.incarnation == self.incarnation && expected >= self.revision
    }

    /// Whether the acquire is known to be of the life of the store that is known: the watch saw it
    /// there, or the store was shown to live that life after it was acknowledged.
    pub(super) fn is_confirmed(&self, shown: Instant) -> bool {
        self.witnessed || shown >= self.acknowledged
    }
}

/// A seat that is being given back, or that might turn out to be held although it is not wanted.
#[derive(Clone, Debug, Hash)]
pub(super) struct Leaving {
    /// The newest revision known to be ours; `None` while that is open.
    pub(super) expect: Option<Revision>,
    pub(super) wait: Wait,
    pub(super) successor: Option<String>,
    /// When the release was first sent.
    pub(super) first_sent: Option<Instant>,
    /// The work of the term is not known to have ended: nothing is released before it is.
    pub(super) works: bool,
}

impl Leaving {
    /// Nothing was sent yet.
    pub(super) fn new(expect: Option<Revision>, wait: Wait, successor: Option<String>) -> Self {
        Self { expect, wait, successor, first_sent: None, works: false }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::campaign::ledger::{Answered, Purpose};
    use crate::record::Attempt;
    use crate::store::Expect;
    use core::time::Duration;

    fn at(secs: u64) -> Instant {
        Instant::ZERO + Duration::from_secs(secs)
    }

    /// Sent at 5 s, acknowledged at 7 s with revision 10.
    fn seat() -> Seat {
        let sent = Sent {
            attempt: Attempt(1),
            purpose: Purpose::Acquire,
            expect: Expect::Absent,
            at: at(5),
            wait: Wait { until: at(30), renewal: true },
            lives: Duration::from_secs(30),
            mark: Revision(9),
            counts_before: Instant::NEVER,
            incarnation: Incarnation(3),
            open: true,
            answered: Answered::Open,
        };
        Seat::taken(&sent, Revision(10), Incarnation(3), at(7))
    }

    #[test]
    fn a_seat_counts_from_when_it_was_asked_for_and_keeps_that_attempts_wait() {
        let seat = seat();
        assert_eq!((seat.proven, seat.wait.until, seat.revision), (at(5), at(30), Revision(10)));
    }

    #[test]
    fn the_token_stays_that_of_the_acquire() {
        let mut seat = seat();
        seat.extend(Revision(11), at(15));
        assert_eq!(seat.token(), Token { incarnation: Incarnation(3), sequence: Revision(10) });
        assert_eq!((seat.proven, seat.revision), (at(15), Revision(11)));
    }

    #[test]
    fn answers_out_of_order_take_nothing_back() {
        let mut seat = seat();
        seat.extend(Revision(12), at(15));
        seat.extend(Revision(11), at(14));
        assert_eq!((seat.proven, seat.revision), (at(15), Revision(12)));
    }

    #[test]
    fn only_what_was_sent_after_the_acquire_was_acknowledged_is_a_later_renewal() {
        let mut seat = seat();
        seat.extend(Revision(11), at(6));
        assert!(!seat.renewed);
        seat.extend(Revision(12), at(7));
        assert!(seat.renewed);
    }

    #[test]
    fn only_what_was_asked_after_the_acquire_was_acknowledged_confirms_the_life() {
        assert!(!seat().is_confirmed(at(6)));
        assert!(seat().is_confirmed(at(7)));
    }

    #[test]
    fn a_write_that_was_applied_answers_every_question_about_the_seat() {
        let mut seat = seat();
        seat.check = true;
        seat.absent = Some(2);
        seat.extend(Revision(11), at(15));
        assert_eq!((seat.check, seat.absent), (false, None));
    }
}
