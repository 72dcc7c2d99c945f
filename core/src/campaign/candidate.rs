//! A candidate: waits until the key is free, and tries to acquire it.

#[cfg(feature = "testing")]
use core::hash::{Hash, Hasher};
use core::time::Duration;

use oorandom::Rand64;

use super::attempts::{Answered, Purpose, Sent};
use super::backoff::{FIRST, LONGEST, up_to};
use super::event::Warning;
use super::key::Wait;
use super::settings::WinDelay;
use super::timers::Timer;
use super::turns::Wanted;
use super::{KeyLease, Race, pace};
use crate::candidacy::{Candidacy, Stage};
use crate::record::{Entry, Release};
use crate::store::Expect;
use crate::time::Instant;

/// Earlier failures, and how long this candidate holds back because of them.
#[derive(Clone, Debug, Default)]
pub(super) struct Setbacks {
    /// The candidate does nothing before this instant, because something failed.
    not_before: Instant,
    /// The number of acquires in a row that led to no term because their tokens were too small.
    tokens_used_up: u64,
    /// The number of races lost in excess of those won.
    races_lost: u32,
    /// The jitter, and the vacancy for which it was drawn.
    jitter: Option<(Instant, Duration)>,
}

impl Setbacks {
    pub(super) fn wait_until(&mut self, at: Instant) {
        self.not_before = at;
    }

    pub(super) fn wait_at_least_until(&mut self, at: Instant) {
        self.not_before = self.not_before.max(at);
    }

    fn wait_at_most_until(&mut self, at: Instant) {
        self.not_before = self.not_before.min(at);
    }

    pub(super) fn token_used_up(&mut self) {
        self.tokens_used_up += 1;
    }

    pub(super) fn forget_used_up_tokens(&mut self) {
        self.tokens_used_up = 0;
    }

    pub(super) fn tokens_used_up(&self) -> u64 {
        self.tokens_used_up
    }

    pub(super) fn race_lost(&mut self) {
        self.races_lost = self.races_lost.saturating_add(1);
    }

    pub(super) fn race_won(&mut self) {
        self.races_lost = self.races_lost.saturating_sub(1);
    }

    /// The random wait after a vacancy was first observed; drawn once per vacancy.
    fn jitter(&mut self, vacancy: Instant, lease: Duration, rng: &mut Rand64) -> Duration {
        match self.jitter {
            Some((drawn_for, jitter)) if drawn_for == vacancy => jitter,
            _ => {
                let jitter = up_to(pace::jitter(self.races_lost, lease), rng);
                self.jitter = Some((vacancy, jitter));
                jitter
            }
        }
    }

    /// Hashes everything that decides what happens after `now`. A wait that is over is hashed as none, whenever it
    /// ended.
    #[cfg(feature = "testing")]
    pub(super) fn hash_at(&self, now: Instant, hasher: &mut impl Hasher) {
        let ahead = |at: Instant| if at <= now { Instant::ZERO } else { at };
        let Self { not_before, tokens_used_up, races_lost, jitter } = self;
        (ahead(*not_before), tokens_used_up, races_lost, jitter).hash(hasher);
    }
}

impl Candidacy<KeyLease> {
    /// Warns if a term cannot outlast the election of a new leader among the store's servers.
    pub(super) fn warn_of_a_short_lease(&mut self) {
        let survives = self.rules.survives();
        let fail_over = self.rules.own.store.fail_over;
        if survives < fail_over && !self.own.reported.short_lease {
            self.own.reported.short_lease = true;
            self.warn(Warning::ShortLease { survives, fail_over });
        }
    }

    /// Becomes a candidate.
    pub(super) fn become_candidate(&mut self) {
        self.stage = Stage::Racing(Race::Candidate);
        self.adjust_lease();
        self.plan();
    }

    /// Decides what a candidate does next and when, from what it observed.
    pub(super) fn plan(&mut self) {
        if !matches!(self.stage, Stage::Racing(Race::Candidate)) {
            return;
        }
        self.timers.stop(Timer::Acquire);
        self.timers.stop(Timer::Poll);
        if self.own.attempts.is_awaiting() {
            return;
        }
        let rests = self.giving_way.rests(self.now);
        let next = if rests || self.stays_out() {
            if self.own_record_observed().is_some() {
                return self.remove_orphan();
            }
            let later = self.now + (self.lease / 3).max(FIRST);
            (Timer::Poll, self.giving_way.wakes_at(self.now).unwrap_or(later))
        } else {
            match self.own.key.entry() {
                None => (Timer::Poll, self.now),
                Some(Entry::Live(record)) if self.is_ours(record) => match self.retake() {
                    Some(_) => (Timer::Acquire, self.now),
                    None => (Timer::Poll, self.next_poll()),
                },
                Some(Entry::Live(_)) => (Timer::Poll, self.next_poll()),
                Some(Entry::Released(release)) if self.holds_back(release) => {
                    // Using up a token leads to no term, so other candidates need not go first.
                    let uses_up = self.is_our_release(release) && self.is_barred();
                    let back = if uses_up { FIRST } else { pace::hold_back(self.lease) };
                    (Timer::Acquire, self.own.key.first_observed() + back + self.jitter())
                }
                // The other candidates hold back for the successor, which is this candidate.
                Some(Entry::Released(Release { successor: Some(_), .. })) => (Timer::Acquire, self.now),
                Some(_) => (Timer::Acquire, self.own.key.first_observed() + self.jitter()),
            }
        };
        if self.own_record_observed().is_some() {
            // The failure may have been counted before the record was observed, so its wait may be longer than a record
            // of ours allows.
            self.own.setbacks.wait_at_most_until(self.now + LONGEST);
        }
        let (timer, at) = next;
        self.timers.set(timer, at.max(self.now).max(self.earliest(timer)));
    }

    /// Whether other candidates should go first: the release names another candidate, or is our own.
    fn holds_back(&self, release: &Release) -> bool {
        match &release.successor {
            Some(successor) => *successor != self.rules.name,
            None => self.is_our_release(release),
        }
    }

    /// The earliest time at which `timer` may fire.
    pub(super) fn earliest(&self, timer: Timer) -> Instant {
        let rested = if timer == Timer::Acquire { self.past.rest_until } else { Instant::ZERO };
        self.own.setbacks.not_before.max(rested)
    }

    fn jitter(&mut self) -> Duration {
        self.own.setbacks.jitter(self.own.key.first_observed(), self.lease, &mut self.rng)
    }

    /// When to read the key if the watch stays silent: when the last observed record should have expired.
    fn next_poll(&self) -> Instant {
        let due = self.own.key.first_observed()
            + self.own.key.entry_lease(self.lease)
            + self.rules.own.store.granularity;
        let read = self.own.key.last_read();
        let at = if read < due { due } else { read + pace::poll_again(self.now.since(due)) };
        self.rules
            .own
            .interval
            .map_or(at, |interval| at.min(read.max(self.own.key.first_observed()) + interval))
    }

    /// Reads the key. A resting candidate instead probes whether the failed steps work again, and a candidate that
    /// stays out inspects whether a larger token has become possible.
    pub(super) fn poll_key(&mut self) {
        if self.giving_way.rests(self.now) {
            self.probe();
        } else if self.stays_out() {
            self.inspect(self.now);
            self.plan();
        } else {
            self.read();
        }
    }

    /// Sends an acquire over the observed entry, if allowed.
    pub(super) fn acquire(&mut self) {
        let waits = self.own.attempts.is_awaiting() || self.stays_out() || self.giving_way.rests(self.now);
        if waits || !matches!(self.stage, Stage::Racing(Race::Candidate)) {
            return;
        }
        let (expect, wait, before) = match self.own.key.entry() {
            Some(Entry::Live(record)) if self.is_ours(record) => {
                let expect = Expect::Revision(record.revision);
                match self.retake() {
                    Some((wait, before)) => (expect, wait, before),
                    None => return self.plan(),
                }
            }
            None | Some(Entry::Live(_)) => return self.plan(),
            Some(entry) => {
                let expect = entry.revision().map_or(Expect::Absent, Expect::Revision);
                (expect, self.win_wait(entry), Instant::NEVER)
            }
        };
        if self.may_ask(Wanted::Write) {
            self.write(Purpose::Acquire, expect, wait, before, None);
        }
    }

    /// The win delay of an acquire over `entry`, which is not a live record.
    fn win_wait(&self, entry: &Entry) -> Wait {
        let mut wait = self.own.key.wait();
        let absent = matches!(entry, Entry::Vacant | Entry::Expired { .. });
        wait.delayed |= match self.rules.win_delay {
            WinDelay::Automatic => false,
            WinDelay::Cautious => absent && self.own.key.saw_no_holder(),
            WinDelay::Fixed(_) => true,
        };
        wait
    }

    /// The minimum win delay that the settings demand.
    pub(super) fn least_delay(&self) -> Duration {
        self.rules.win_delay.least(self.lease)
    }

    /// The wait for a record of ours whose attempt is forgotten, counted from the record's first observation.
    pub(super) fn unknown_wait(&self) -> Duration {
        self.longest_lease().max(self.least_delay())
    }

    /// Returns the win delay if this candidate retakes its own live record outside a term, and the instant before which
    /// the retake must be sent. Returns `None` if that instant has passed or is unknown, because the store's marker may
    /// then be on its way.
    fn retake(&self) -> Option<(Wait, Instant)> {
        let record = self.own.key.record()?;
        let sent = self.sent_as(record);
        let wait = self.wait_of(sent, self.own.key.first_observed());
        let before = if self.rules.own.store.expiry_pushed {
            // The same limit applies if the orphan is itself a retake.
            sent.map(|sent| self.lease_end(sent.at).min(sent.counts_before))?
        } else {
            Instant::NEVER
        };
        (self.now < before).then_some((wait, before))
    }

    /// The wait owed for a record of ours. If its attempt is unknown, the wait is a whole lease from the record's first
    /// observation, or the settings' delay if that is longer.
    ///
    /// If an attempt was in flight for a long time, another candidate may have held the key and vanished before the
    /// attempt was applied. So everything observed since the attempt was sent counts too.
    pub(super) fn wait_of(&self, sent: Option<Sent>, first_observed: Instant) -> Wait {
        sent.map_or(Wait::new(first_observed + self.unknown_wait(), true), |sent| {
            sent.wait.and(self.own.key.wait())
        })
    }

    /// Whether this candidate wrote this release. The answer decides only whether the candidate holds back.
    fn is_our_release(&self, release: &Release) -> bool {
        let write_id = release.write_id.filter(|write_id| write_id.nonce == self.nonce);
        let sent = write_id.and_then(|write_id| self.own.attempts.find(write_id.attempt));
        sent.is_some_and(|sent| {
            sent.purpose == Purpose::Release
                && matches!(sent.answered, Answered::Open { .. } | Answered::At(_))
        })
    }
}
