//! The content of a small world, and its bounds.

use std::fmt::Write as _;
use std::time::Duration;

use crate::clock::{Clock, DRIFT, LEASE, Tick};

/// A small world, to be explored to its end.
#[derive(Clone, Debug)]
pub struct World {
    pub(crate) name: &'static str,
    pub(crate) about: &'static str,
    pub(crate) candidates: usize,
    pub(crate) start: Start,
    /// The attributes that the candidates share, though they should differ.
    pub(crate) alike: Alike,
    /// The lease of each candidate.
    pub(crate) leases: [Tick; 3],
    /// The largest difference of the servers' clocks, and the largest drift of a clock in parts per million, by the
    /// candidates' settings.
    pub(crate) skew: Tick,
    pub(crate) drift_setting: u32,
    /// Parts per million by which each candidate's clock is fast.
    pub(crate) drift: [i32; 3],
    /// The end of the exploration.
    pub(crate) horizon: Tick,
    /// Actions of an operator, or faults, may happen to a candidate at every multiple of this, and whenever anything else
    /// happens.
    pub(crate) stride: Tick,
    /// The longest time before, and after, the end of its lease at which a record may vanish.
    pub(crate) early: Tick,
    pub(crate) late: Tick,
    /// Expiry leaves a marker, which watches report.
    pub(crate) markers: bool,
    /// Acknowledgements carry the store's incarnation.
    pub(crate) acked: bool,
    pub(crate) watch: Watch,
    /// The candidate whose watch never works, where those of other candidates do.
    pub(crate) unwatched: Option<usize>,
    /// Whether inspections can go wrong; otherwise each is answered at once.
    pub(crate) inspections_fail: bool,
    /// Candidates enter with a watch, and their campaigns begin at any later time: the first inspection may be late, fail, or
    /// show settings that are refused.
    pub(crate) enters: bool,
    /// A campaign that begins knows nothing of what its watch showed before.
    pub(crate) forgets: bool,
    /// Only watches are late, and no messages.
    pub(crate) only_watches: bool,
    /// The longest time for which a message may be late, a watch silent, a candidate stopped.
    pub(crate) hold: Tick,
    pub(crate) budget: Budget,
    /// So few faults happen that none may cost a term, though candidates may be slow to retry.
    pub(crate) keeps: bool,
    /// The number of ticks within which a candidate leads without further faults.
    pub(crate) fail_over: Tick,
}

/// The beginning of a world.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Start {
    /// There is no candidate yet, and the key was never written.
    Empty,
    /// The first candidate has just begun to lead; the other candidates have observed it.
    Led,
}

/// The attributes that candidates share where their random numbers repeat.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Alike {
    /// Nothing.
    Not,
    /// Their nonce.
    Nonce,
    /// Their nonce and their name.
    NonceAndName,
}

/// The way in which candidates learn of changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Watch {
    /// Not at all: they depend on the poll.
    Dead,
    /// At once.
    Prompt,
    /// In the same tick, in any order with everything else.
    Loose,
}

/// The number of times that each fault may happen, in any order and at any time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub(crate) struct Budget {
    /// A request or an answer is lost.
    pub(crate) lose: u8,
    /// A request, an answer or a watch is late.
    pub(crate) hold: u8,
    /// A request or an answer arrives twice, the second time late.
    pub(crate) copy: u8,
    /// The store answers a write without its outcome: busy, not sent, unknown.
    pub(crate) unresolved: u8,
    /// A server that lags answers a read or refuses a write.
    pub(crate) stale: u8,
    /// A candidate crashes.
    pub(crate) crash: u8,
    /// A candidate starts, as a new process.
    pub(crate) start: u8,
    /// A candidate is stopped for a while.
    pub(crate) pause: u8,
    /// An operator deletes the key.
    pub(crate) delete: u8,
    /// An operator purges the key, without a trace, while every candidate watches.
    pub(crate) purge: u8,
    /// An operator, or other software, writes a live record over what is there.
    pub(crate) seize: u8,
    /// A candidate is asked to resign.
    pub(crate) resign: u8,
    /// A candidate is asked to hand over to the next one.
    pub(crate) hand_over: u8,
    /// A candidate is closed.
    pub(crate) close: u8,
    /// The store is deleted and made again, numbered so that the next record has the last one's revision.
    pub(crate) recreate: u8,
    /// From some time on, the inspections of a candidate are denied.
    pub(crate) deny: u8,
}

impl Budget {
    /// No further faults.
    pub(crate) const NONE: Self = Self {
        lose: 0,
        hold: 0,
        copy: 0,
        unresolved: 0,
        stale: 0,
        crash: 0,
        start: 0,
        pause: 0,
        delete: 0,
        purge: 0,
        seize: 0,
        resign: 0,
        hand_over: 0,
        close: 0,
        recreate: 0,
        deny: 0,
    };

    /// Whether any fault is left that no message causes.
    pub(crate) fn has_faults(&self) -> bool {
        [
            self.crash,
            self.pause,
            self.delete,
            self.purge,
            self.seize,
            self.resign,
            self.hand_over,
            self.close,
            self.recreate,
            self.deny,
        ]
        .iter()
        .any(|left| *left > 0)
    }

    fn named(&self) -> [(u8, &'static str); 16] {
        [
            (self.lose, "lost"),
            (self.hold, "late"),
            (self.copy, "doubled"),
            (self.unresolved, "unresolved"),
            (self.stale, "stale"),
            (self.crash, "crashed"),
            (self.start, "started"),
            (self.pause, "paused"),
            (self.delete, "deleted"),
            (self.purge, "purged"),
            (self.seize, "overwritten"),
            (self.resign, "resigned"),
            (self.hand_over, "handed over"),
            (self.close, "closed"),
            (self.recreate, "recreated"),
            (self.deny, "denied"),
        ]
    }
}

impl World {
    /// Its name.
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// Its subject, in a sentence.
    pub fn about(&self) -> &'static str {
        self.about
    }

    /// Its bounds: exploration is complete within them and proves nothing beyond.
    pub fn bounds(&self) -> String {
        let mut text = format!("{} candidates, {} s", self.candidates, self.horizon);
        for (left, what) in self.budget.named().into_iter().filter(|(left, _)| *left > 0) {
            let _ = write!(text, ", {left} {what}");
        }
        if self.leases != [LEASE; 3] {
            let leases: Vec<_> =
                self.leases[..self.candidates].iter().map(|lease| format!("{lease} s")).collect();
            let _ = write!(text, ", leases of {}", leases.join(", "));
        }
        if self.drift_setting != DRIFT {
            let _ = write!(text, ", clocks {} % wrong", self.drift_setting / 10_000);
        }
        if self.early > 1 {
            let _ = write!(text, ", records {} s early", self.early);
        }
        if self.budget.hold + self.budget.copy + self.budget.pause > 0 {
            let _ = write!(text, ", for up to {} s", self.hold);
        }
        text
    }

    /// This world with records that vanish this many seconds before the end of their lease: beyond one second, more than
    /// the candidates' settings allow for.
    #[must_use]
    pub fn expiring_early(mut self, seconds: u32) -> Self {
        self.early = seconds.min(LEASE - 1);
        self
    }

    /// This world with a first candidate whose clock is slow by `parts_per_million`: beyond 10,000, more than its
    /// settings allow for.
    #[must_use]
    pub fn with_a_slow_clock(mut self, parts_per_million: u32) -> Self {
        self.drift[0] = -i32::try_from(parts_per_million.min(500_000)).unwrap_or_default();
        self
    }

    /// This world with campaigns that know nothing of what their watches showed before they began.
    #[must_use]
    pub fn forgetting_what_was_shown_early(mut self) -> Self {
        self.forgets = true;
        self
    }

    /// This world with candidates that get no time at all to agree on a leader.
    #[must_use]
    pub fn in_a_hurry(mut self) -> Self {
        self.fail_over = 0;
        self
    }

    /// The lease of the candidate with this index.
    pub(crate) fn lease(&self, place: usize) -> Duration {
        Duration::from_secs(self.leases[place].into())
    }

    /// Whether the candidate with this index has a watch that works.
    pub(crate) fn is_watching(&self, place: usize) -> bool {
        self.watch != Watch::Dead && self.unwatched != Some(place)
    }

    /// The longest lease of any candidate.
    pub(crate) fn longest(&self) -> Duration {
        Duration::from_secs(self.leases.into_iter().max().unwrap_or_default().into())
    }

    /// The distance of the candidate's deadline from the end of its lease; the settings leave no slack, so it is tight.
    pub(crate) fn margin(&self, place: usize) -> Duration {
        let drift = self.lease(place).as_nanos() as u64 * 2 * u64::from(self.drift_setting) / 1_000_000;
        Duration::from_secs(self.skew.into()) + Duration::from_nanos(drift)
    }

    /// The clock of the candidate with this index.
    pub(crate) fn clock(&self, place: usize) -> Clock {
        Clock::new(place, self.drift[place])
    }

    /// Clocks as far apart as the settings allow.
    pub(crate) const DRIFTING: [i32; 3] = [-(DRIFT as i32), DRIFT as i32, 0];
}
