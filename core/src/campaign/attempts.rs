//! The writes that a campaign has sent, in flight or answered, and what follows if each was applied.

use alloc::collections::VecDeque;
use core::time::Duration;

use super::key::Wait;
use crate::record::{Attempt, Record};
use crate::store::{Expect, Outcome};
use crate::time::Instant;
use crate::token::{Incarnation, Revision};

/// The number of attempts that are remembered. If an older attempt turns out to have been applied, its record still
/// counts as ours, but nothing is known about its attempt. That is safe, only slower.
const REMEMBERED: usize = 128;
/// The number of answered attempts that are kept after a newer acknowledged write has overtaken them. A watch that lags
/// behind, by up to a lease, may still show their records, and needs their times. None of these records is the present
/// one. If the key is deleted and the server then applies a second copy of a write that expected no key, that record
/// counts as foreign. That is safe, only slower.
const OVERTAKEN: usize = 2;

/// The purpose of a write.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Purpose {
    Acquire,
    Renew,
    Release,
}

/// A write that was sent.
#[derive(Clone, Copy, Debug, Hash)]
pub(super) struct Sent {
    pub(super) attempt: Attempt,
    pub(super) purpose: Purpose,
    pub(super) expect: Expect,
    /// The clock's reading `c0` before the write was handed out.
    pub(super) at: Instant,
    /// The win delay owed for a record of this attempt.
    pub(super) wait: Wait,
    /// The time for which other candidates wait after first observing its record. The store keeps the record at least
    /// that long.
    pub(super) stated_lease: Duration,
    /// The highest revision known when the write was sent; an acknowledgement must be above it.
    pub(super) mark: Revision,
    /// An acknowledgement at or after this instant does not make this candidate a holder.
    pub(super) counts_before: Instant,
    /// The incarnation for which the write was meant.
    pub(super) incarnation: Incarnation,
    /// Whether its outcome is still open, even if the campaign no longer waits for the answer.
    pub(super) open: bool,
    /// The store's answer to this very write.
    pub(super) answered: Answered,
}

impl Sent {
    /// Returns the revision that the write replaces; zero for an absent key.
    pub(super) fn expected(&self) -> Revision {
        match self.expect {
            Expect::Absent => Revision(0),
            Expect::Revision(revision) => revision,
        }
    }
}

/// The store's answer to a write.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Answered {
    /// No answer has shown yet whether the write was applied.
    Open {
        /// After this instant an answer would prove nothing. `NEVER` until a later acknowledged attempt overtakes it.
        until: Instant,
    },
    /// The write was applied, and is this revision.
    At(Revision),
    /// The write was not applied.
    Never,
}

/// The writes that a campaign has sent under one nonce.
#[derive(Clone, Debug, Default, Hash)]
pub(super) struct Attempts {
    last: Attempt,
    awaited: Option<Attempt>,
    sent: VecDeque<Sent>,
    /// The newest attempt that was forgotten before a later one overtook it.
    lost: Attempt,
}

impl Answered {
    /// The state of a write when it is sent.
    pub(super) const NOT: Self = Self::Open { until: Instant::NEVER };
}

impl Attempts {
    /// The number for the next write.
    pub(super) fn next(&mut self) -> Attempt {
        self.last.0 += 1;
        self.last
    }

    /// Remembers a write that is being sent; its answer is awaited.
    pub(super) fn send(&mut self, sent: Sent) {
        debug_assert!(self.awaited.is_none(), "I6: one write is awaited at a time");
        if self.sent.len() == REMEMBERED
            && let Some(oldest) = self.sent.pop_front()
        {
            self.lost = oldest.attempt;
        }
        self.awaited = Some(sent.attempt);
        // An undisturbed leader remembers the [`OVERTAKEN`] answered attempts, its newest attempt, and the attempt that
        // it is sending.
        match self.sent.len() {
            0 => self.sent.reserve_exact(1),
            1 => self.sent.reserve_exact(OVERTAKEN + 1),
            _ => {}
        }
        self.sent.push_back(sent);
    }

    pub(super) fn is_bounded(&self) -> bool {
        self.sent.len() <= REMEMBERED
    }

    pub(super) fn was_sent(&self, attempt: Attempt) -> bool {
        (1..=self.last.0).contains(&attempt.0)
    }

    /// Whether an answer is awaited.
    pub(super) fn is_awaiting(&self) -> bool {
        self.awaited.is_some()
    }

    /// The purpose of the write whose answer is awaited.
    pub(super) fn awaited(&self) -> Option<Purpose> {
        let awaited = self.awaited?;
        self.find(awaited).map(|sent| sent.purpose)
    }

    /// Stops waiting for the answer; the write remains open.
    pub(super) fn stop_waiting(&mut self) {
        self.awaited = None;
    }

    /// Notes an answer to `attempt`; `settled` states whether the answer settles it. Returns the attempt as it was
    /// before this answer, or `None` if the attempt is forgotten, and whether this answer was the awaited one.
    pub(super) fn answer(&mut self, attempt: Attempt, settled: bool) -> (Option<Sent>, bool) {
        let was_awaited = self.awaited == Some(attempt);
        if was_awaited {
            self.awaited = None;
        }
        let sent = self.find_mut(attempt).map(|sent| {
            let before = *sent;
            sent.open &= !settled;
            before
        });
        (sent, was_awaited)
    }

    /// Remembers the answer to a write. Once a write is known to be applied, no later answer changes that.
    ///
    /// A request that arrives twice is answered twice, perhaps by a server that is isolated or lags. Only a refusal
    /// that names a newer revision, or an absent key, proves that the write was not applied.
    pub(super) fn remember(&mut self, attempt: Attempt, outcome: &Outcome) {
        let Some(sent) = self.find_mut(attempt) else { return };
        let expected = sent.expected();
        sent.answered = match (outcome, sent.answered) {
            (Outcome::Applied { revision, .. }, Answered::Open { .. } | Answered::Never) => {
                Answered::At(*revision)
            }
            (Outcome::Refused { current }, Answered::Open { .. })
                if *current > expected || *current == Revision(0) =>
            {
                Answered::Never
            }
            (_, answered) => answered,
        };
    }

    /// Forgets the attempts that the attempt `acknowledged` has overtaken, except the newest answered ones.
    /// `acknowledged` was applied as `revision`, and this was observed at `now`.
    ///
    /// An unanswered attempt is kept for a `lease`. If the store went back, the only sign may be a late acknowledgement
    /// below the revision that was known when the attempt was sent. A lease later, every lease that the store undid is
    /// over.
    pub(super) fn forget_overtaken(
        &mut self,
        acknowledged: Attempt,
        revision: Revision,
        lease: Duration,
        now: Instant,
    ) {
        let is_overtaken = |sent: &Sent| sent.attempt < acknowledged && sent.expected() < revision;
        let says_nothing = |sent: &Sent| match sent.answered {
            Answered::Open { until } => until <= now,
            Answered::At(_) | Answered::Never => is_overtaken(sent),
        };
        let mut kept = 0;
        for sent in &mut self.sent {
            if let Answered::Open { until } = sent.answered
                && is_overtaken(sent)
            {
                sent.answered = Answered::Open { until: until.min(now + lease) };
            }
            kept += usize::from(says_nothing(sent));
        }
        self.sent.retain(|sent| {
            let is_kept = kept <= OVERTAKEN || !says_nothing(sent);
            kept -= usize::from(!is_kept);
            is_kept
        });
    }

    /// Whether this attempt may have written the live `record`, which was observed in the incarnation `present`.
    ///
    /// If random numbers repeat, another process may have the same nonce; but the store's answers belong to this
    /// campaign alone. A forgotten attempt that was overtaken may have written a record of an earlier incarnation,
    /// which a restored store shows again. Or its record names an earlier incarnation, because it arrived after the
    /// store was made again, at a revision that happened to match. Any other forgotten attempt may have written any
    /// record.
    pub(super) fn may_have_written(&self, attempt: Attempt, record: &Record, present: Incarnation) -> bool {
        let Some(sent) = self.find(attempt) else {
            let meant_for = record.term_info.as_ref().map(|info| info.token.incarnation);
            let newest = self.sent.back().map(|newest| newest.incarnation);
            let in_another = [meant_for, newest].into_iter().flatten().any(|other| other != present);
            return self.was_sent(attempt) && (attempt <= self.lost || in_another);
        };
        let may_be_present = match sent.answered {
            Answered::Open { .. } => true,
            Answered::At(acknowledged) => acknowledged == record.revision || sent.incarnation != present,
            Answered::Never => false,
        };
        may_be_present && sent.purpose != Purpose::Release
    }

    pub(super) fn find(&self, attempt: Attempt) -> Option<Sent> {
        self.sent.iter().rev().find(|sent| sent.attempt == attempt).copied()
    }

    fn find_mut(&mut self, attempt: Attempt) -> Option<&mut Sent> {
        self.sent.iter_mut().rev().find(|sent| sent.attempt == attempt)
    }

    /// Whether any write that makes a live record may have been applied, or may still be.
    pub(super) fn may_hold(&self) -> bool {
        self.newest_open().is_some()
    }

    /// The latest open write that would make a live record.
    pub(super) fn newest_open(&self) -> Option<Sent> {
        self.sent.iter().rev().find(|sent| sent.open && sent.purpose != Purpose::Release).copied()
    }

    /// Closes every write that expected a revision older than `revision`. Now that `revision` is known to exist, their
    /// compares can no longer succeed.
    pub(super) fn close_outdated(&mut self, revision: Revision) {
        for sent in &mut self.sent {
            if sent.expected() < revision && Some(sent.attempt) != self.awaited {
                sent.open = false;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::TermInfo;
    use crate::token::Token;

    fn send(attempts: &mut Attempts, purpose: Purpose, expect: Expect) -> Attempt {
        let attempt = attempts.next();
        attempts.send(Sent {
            attempt,
            purpose,
            expect,
            at: Instant::ZERO,
            wait: Wait::default(),
            stated_lease: Duration::from_secs(30),
            mark: Revision(0),
            counts_before: Instant::NEVER,
            incarnation: Incarnation(1),
            open: true,
            answered: Answered::NOT,
        });
        attempt
    }

    const OVER_9: Expect = Expect::Revision(Revision(9));

    #[test]
    fn attempts_are_numbered_from_one() {
        let mut attempts = Attempts::default();
        assert!(!attempts.was_sent(Attempt(0)) && !attempts.was_sent(Attempt(1)));
        assert_eq!(send(&mut attempts, Purpose::Acquire, Expect::Absent), Attempt(1));
        assert!(
            !attempts.was_sent(Attempt(0)) && attempts.was_sent(Attempt(1)) && !attempts.was_sent(Attempt(2))
        );
    }

    #[test]
    fn the_awaited_answer_is_distinguished_from_a_late_one() {
        let mut attempts = Attempts::default();
        let first = send(&mut attempts, Purpose::Acquire, Expect::Absent);
        attempts.stop_waiting();
        let second = send(&mut attempts, Purpose::Renew, OVER_9);
        assert_eq!(attempts.awaited(), Some(Purpose::Renew));
        assert!(!attempts.answer(first, true).1);
        assert!(attempts.is_awaiting());
        assert!(attempts.answer(second, true).1);
        assert!(!attempts.is_awaiting());
        assert!(!attempts.answer(second, true).1, "once");
    }

    #[test]
    fn a_write_is_open_until_it_is_settled() {
        let mut attempts = Attempts::default();
        let attempt = send(&mut attempts, Purpose::Acquire, Expect::Absent);
        attempts.answer(attempt, false);
        assert!(attempts.may_hold(), "unknown");
        assert_eq!(attempts.newest_open().map(|sent| sent.attempt), Some(attempt));
        attempts.answer(attempt, true);
        assert!(!attempts.may_hold());
        assert!(attempts.newest_open().is_none());
    }

    #[test]
    fn a_release_that_is_open_makes_no_live_record() {
        let mut attempts = Attempts::default();
        send(&mut attempts, Purpose::Release, OVER_9);
        assert!(!attempts.may_hold());
    }

    #[test]
    fn a_write_that_expected_an_older_revision_than_the_present_is_closed() {
        let mut attempts = Attempts::default();
        send(&mut attempts, Purpose::Acquire, Expect::Absent);
        attempts.stop_waiting();
        send(&mut attempts, Purpose::Acquire, Expect::Revision(Revision(8)));
        attempts.stop_waiting();
        let newest = send(&mut attempts, Purpose::Acquire, OVER_9);
        attempts.stop_waiting();
        attempts.close_outdated(Revision(9));
        assert_eq!(
            attempts.sent.iter().map(|sent| sent.open).collect::<alloc::vec::Vec<_>>(),
            [false, false, true]
        );
        assert_eq!(attempts.newest_open().map(|sent| sent.attempt), Some(newest));
    }

    #[test]
    fn the_awaited_write_stays_open_until_its_answer_comes() {
        let mut attempts = Attempts::default();
        send(&mut attempts, Purpose::Acquire, Expect::Absent);
        attempts.close_outdated(Revision(9));
        assert!(attempts.may_hold());
    }

    const LEASE: Duration = Duration::from_secs(30);

    fn at(secs: u64) -> Instant {
        Instant::ZERO + Duration::from_secs(secs)
    }

    fn record(revision: u64, meant_for: Option<Incarnation>) -> Record {
        let token = |incarnation| Token { incarnation, sequence: Revision(revision) };
        Record {
            revision: Revision(revision),
            candidate: "a".into(),
            write_id: None,
            lease: None,
            term_info: meant_for.map(|incarnation| TermInfo { token: token(incarnation), led_for: None }),
            metadata: alloc::vec::Vec::new(),
            oversize: None,
        }
    }

    fn remembered(attempts: &Attempts) -> alloc::vec::Vec<u64> {
        attempts.sent.iter().map(|sent| sent.attempt.0).collect()
    }

    /// Sends a renewal over the revision `present` and acknowledges it, as for an undisturbed leader that renews every
    /// ten seconds.
    fn renew(attempts: &mut Attempts, present: u64) {
        let attempt = send(attempts, Purpose::Renew, Expect::Revision(Revision(present)));
        attempts.answer(attempt, true);
        let revision = Revision(present + 1);
        attempts.close_outdated(revision);
        attempts.remember(attempt, &Outcome::Applied { revision, incarnation: None });
        attempts.forget_overtaken(attempt, revision, LEASE, at(10 * present));
    }

    #[test]
    fn attempts_that_an_acknowledged_one_has_overtaken_are_forgotten_but_for_the_newest() {
        let mut attempts = Attempts::default();
        (1..=10).for_each(|present| renew(&mut attempts, present));
        assert_eq!(remembered(&attempts), [8, 9, 10]);
        assert_eq!(attempts.sent.capacity(), 4);
        send(&mut attempts, Purpose::Renew, Expect::Revision(Revision(90)));
        attempts.stop_waiting();
        (11..=14).for_each(|present| renew(&mut attempts, present));
        assert_eq!(remembered(&attempts), [11, 13, 14, 15], "an attempt that may still be applied is kept");
    }

    #[test]
    fn an_attempt_that_is_not_answered_is_kept_for_a_lease_after_it_was_overtaken() {
        let mut attempts = Attempts::default();
        send(&mut attempts, Purpose::Acquire, Expect::Absent);
        attempts.stop_waiting();
        (1..=3).for_each(|present| renew(&mut attempts, present));
        assert_eq!(remembered(&attempts), [1, 2, 3, 4], "overtaken at 10 s");
        renew(&mut attempts, 4);
        assert_eq!(
            remembered(&attempts),
            [3, 4, 5],
            "an answer to attempt 1 that comes a lease later proves nothing"
        );
    }

    #[test]
    fn an_attempt_that_is_answered_after_it_was_overtaken_is_forgotten_with_the_next() {
        let mut attempts = Attempts::default();
        let unanswered = send(&mut attempts, Purpose::Acquire, Expect::Absent);
        attempts.stop_waiting();
        (1..=3).for_each(|present| renew(&mut attempts, present));
        attempts.remember(unanswered, &Outcome::Refused { current: Revision(9) });
        assert_eq!(remembered(&attempts), [1, 2, 3, 4]);
        attempts.forget_overtaken(Attempt(4), Revision(4), LEASE, at(31));
        assert_eq!(remembered(&attempts), [2, 3, 4]);
    }

    #[test]
    fn a_forgotten_attempt_that_was_overtaken_may_be_the_record_of_another_incarnation_alone() {
        let mut attempts = Attempts::default();
        (1..=10).for_each(|present| renew(&mut attempts, present));
        let may_have_written = |attempt, incarnation| {
            attempts.may_have_written(Attempt(attempt), &record(11, None), Incarnation(incarnation))
        };
        assert!(!may_have_written(1, 1) && may_have_written(1, 2));
        assert!(!may_have_written(9, 1) && may_have_written(10, 1), "its answer was another revision");
        assert!(!may_have_written(11, 2), "it was never sent");
    }

    #[test]
    fn a_forgotten_attempt_that_was_meant_for_another_incarnation_may_be_applied_in_this_one() {
        let mut attempts = Attempts::default();
        (1..=10).for_each(|present| renew(&mut attempts, present));
        let may_have_written = |meant_for| {
            attempts.may_have_written(Attempt(1), &record(12, Some(Incarnation(meant_for))), Incarnation(1))
        };
        assert!(may_have_written(7) && !may_have_written(1));
    }

    #[test]
    fn the_oldest_attempts_are_forgotten_and_still_known_to_have_been_made() {
        let mut attempts = Attempts::default();
        for _ in 0..=REMEMBERED {
            send(&mut attempts, Purpose::Renew, OVER_9);
            attempts.stop_waiting();
        }
        assert!(attempts.find(Attempt(1)).is_none() && attempts.find(Attempt(2)).is_some());
        assert!(attempts.was_sent(Attempt(1)));
        assert!(attempts.may_have_written(Attempt(1), &record(9, None), Incarnation(1)));
        assert!(attempts.answer(Attempt(1), true).0.is_none());
    }
}
