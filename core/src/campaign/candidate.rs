//! A candidate: waits for the seat to fall vacant, and tries to take it.

use core::time::Duration;

use super::backoff::{FIRST, LONGEST, up_to};
use super::event::Warning;
use super::ledger::{Answered, Purpose, Sent};
use super::settings::WinDelay;
use super::sight::Wait;
use super::timers::Timer;
use super::{Campaign, Stage, pace};
use crate::record::{Claim, Entry, Release, Stamp, live_headers, release_headers};
use crate::store::{Action, Expect, Put, Write};
use crate::time::Instant;

use super::io::Output;

impl Campaign {
    /// Enters the race, by way of the splay where this is the first time.
    pub(super) fn enter(&mut self) {
        self.in_race = !self.closing;
        if !self.in_race || !self.healthy || !matches!(self.stage, Stage::Idle) {
            return;
        }
        let survives = self.rules.survives();
        let fail_over = self.rules.store.fail_over;
        if survives < fail_over && !self.told.short_lease {
            self.told.short_lease = true;
            self.warning(Warning::ShortLease { survives, fail_over });
        }
        if self.splayed || self.rules.splay.is_zero() {
            return self.stand();
        }
        let splay = up_to(self.rules.splay, &mut self.rng);
        self.stage = Stage::Splaying;
        self.timers.set(Timer::Splay, self.now + splay);
    }

    /// Becomes a candidate.
    pub(super) fn stand(&mut self) {
        self.splayed = true;
        self.stage = Stage::Candidate;
        self.adjust_lease();
        self.plan();
    }

    /// Decides what a candidate does next and when, from what it sees.
    pub(super) fn plan(&mut self) {
        if !matches!(self.stage, Stage::Candidate) {
            return;
        }
        self.timers.stop(Timer::Acquire);
        self.timers.stop(Timer::Poll);
        if self.ledger.is_awaiting() {
            return;
        }
        let next = if self.stays_out() {
            if self.own_record_seen().is_some() {
                return self.remove_orphan();
            }
            (Timer::Poll, self.now + (self.lease / 3).max(FIRST))
        } else {
            match self.sight.entry() {
                None => (Timer::Poll, self.now),
                Some(Entry::Live(record)) if self.is_ours(record) => match self.retake() {
                    Some(_) => (Timer::Acquire, self.now),
                    None => (Timer::Poll, self.next_poll()),
                },
                Some(Entry::Live(_)) => (Timer::Poll, self.next_poll()),
                Some(Entry::Released(release)) if self.holds_back(release) => {
                    // No term comes of using up a number, so there is nothing to let others go first in.
                    let burns = self.is_our_release(release) && self.is_barred();
                    let back = if burns { FIRST } else { pace::hold_back(self.lease) };
                    (Timer::Acquire, self.sight.since() + back + self.jitter())
                }
                // The others hold back for us.
                Some(Entry::Released(Release { successor: Some(_), .. })) => (Timer::Acquire, self.now),
                Some(_) => (Timer::Acquire, self.sight.since() + self.jitter()),
            }
        };
        if self.own_record_seen().is_some() {
            // The failure may have been counted before the record was seen.
            self.not_before = self.not_before.min(self.now + LONGEST);
        }
        let (timer, at) = next;
        let rested = if timer == Timer::Acquire { self.resting_until } else { Instant::ZERO };
        self.timers.set(timer, at.max(self.now).max(self.not_before).max(rested));
    }

    /// Whether others should go first: the seat was handed to another, or given up by ourselves.
    fn holds_back(&self, release: &Release) -> bool {
        match &release.successor {
            Some(successor) => *successor != self.rules.name,
            None => self.is_our_release(release),
        }
    }

    /// How long after the seat was first seen vacant; drawn once for each vacancy.
    fn jitter(&mut self) -> Duration {
        let seen = self.sight.since();
        match self.jitter {
            Some((vacancy, jitter)) if vacancy == seen => jitter,
            _ => {
                let jitter = up_to(pace::jitter(self.races_lost, self.lease), &mut self.rng);
                self.jitter = Some((seen, jitter));
                jitter
            }
        }
    }

    /// When to read the key although the watch is silent: when the record seen last should be gone.
    fn next_poll(&self) -> Instant {
        let due = self.sight.since() + self.sight.lives(self.lease) + self.rules.store.granularity;
        let at = if self.looked < due { due } else { self.looked + pace::poll_again(self.now.since(due)) };
        self.rules.interval.map_or(at, |interval| at.min(self.looked.max(self.sight.since()) + interval))
    }

    /// The poll: reads the key, or asks whether a larger token has become possible.
    pub(super) fn look(&mut self) {
        if self.stays_out() {
            self.inspect(self.now);
            self.plan();
        } else {
            self.read();
        }
    }

    /// Sends an acquire for what is seen, if it may be sent.
    pub(super) fn acquire(&mut self) {
        if !matches!(self.stage, Stage::Candidate) || self.ledger.is_awaiting() || self.stays_out() {
            return;
        }
        let (expect, wait, before) = match self.sight.entry() {
            Some(Entry::Live(record)) if self.is_ours(record) => {
                let expect = Expect::Revision(record.revision);
                match self.retake() {
                    Some((wait, before)) => (expect, wait, before),
                    None => return self.plan(),
                }
            }
            None => return self.plan(),
            Some(Entry::Live(_)) => return self.plan(),
            Some(entry) => {
                let expect = entry.revision().map_or(Expect::Absent, Expect::Revision);
                (expect, self.win_wait(entry), Instant::NEVER)
            }
        };
        self.write(Purpose::Acquire, expect, wait, before, None);
    }

    /// The win delay of an acquire that takes the seat from `entry`, which is not a live record.
    fn win_wait(&self, entry: &Entry) -> Wait {
        let mut wait = self.sight.wait();
        let absent = matches!(entry, Entry::Vacant | Entry::Expired { .. });
        match self.rules.win_delay {
            WinDelay::Cautious if absent && self.sight.is_cold() => {
                wait.until = wait.until.max(self.now + self.lease)
            }
            WinDelay::Fixed(least) => wait.until = wait.until.max(self.now + least),
            WinDelay::Automatic | WinDelay::Cautious => {}
        }
        wait
    }

    /// With which wait, and until when, our own live record outside a term may be retaken; `None`
    /// where the store's marker may be on its way, because that time is over or not known.
    fn retake(&self) -> Option<(Wait, Instant)> {
        let record = self.sight.record()?;
        let sent = self.sent_as(record);
        let wait = self.wait_of(sent, self.sight.since());
        let before = if self.rules.store.expiry_pushed {
            // Nor may an orphan be retaken that is itself a retaking of one whose time is over.
            sent.map(|sent| self.lease_end(sent.at).min(sent.counts_before))?
        } else {
            Instant::NEVER
        };
        (self.now < before).then_some((wait, before))
    }

    /// The wait that goes with a record of ours; a whole lease from its first sight where nothing
    /// is known of the attempt that wrote it.
    ///
    /// An attempt that was under way for long may have found vacant what was somebody's meanwhile, and
    /// vanished: what was seen since it was sent counts too.
    pub(super) fn wait_of(&self, sent: Option<Sent>, first_seen: Instant) -> Wait {
        sent.map_or(Wait { until: first_seen + self.longest_lease(), renewal: true }, |sent| {
            sent.wait.and(self.sight.wait())
        })
    }

    /// Hands out a write and waits for its answer.
    pub(super) fn write(
        &mut self,
        purpose: Purpose,
        expect: Expect,
        wait: Wait,
        counts_before: Instant,
        successor: Option<&str>,
    ) {
        let attempt = self.ledger.next();
        let stamp = Stamp { nonce: self.nonce, attempt };
        let incarnation = self.life.incarnation();
        // A candidate that sees no more than this record waits for those that its holder waits for, whose leases may be
        // longer. The record stays as long: an absence says nothing of what the holder knew.
        let said = self.rules.lease.max(wait.owed(self.now));
        let claim = match purpose {
            Purpose::Renew => self.seat().map(|seat| seat.claim(self.now)),
            Purpose::Acquire | Purpose::Release => None,
        };
        let claim = claim.unwrap_or_else(|| Claim::of_acquire(incarnation));
        let put = || Put {
            value: self.rules.name.clone(),
            headers: live_headers(stamp, said, claim, &self.rules.metadata),
            lease: said,
        };
        let action = match purpose {
            Purpose::Acquire => Action::Acquire(put()),
            Purpose::Renew => Action::Renew(put()),
            Purpose::Release => Action::Release {
                headers: release_headers(stamp, wait.owed(self.now), incarnation, successor),
            },
        };
        self.ledger.send(Sent {
            attempt,
            purpose,
            expect,
            at: self.now,
            wait,
            lives: said,
            mark: self.life.mark(),
            counts_before,
            incarnation,
            open: true,
            answered: Answered::Open,
        });
        self.timers.set(Timer::Attempt, self.now + pace::attempt_limit(self.lease));
        self.outputs.push_back(Output::Write(Write { attempt, expect, action }));
    }
}
