//! The one watch of a connection, which begins again when it ends.

use alloc::string::String;
use alloc::vec::Vec;
use core::time::Duration;

use super::candidates::hash;
use super::doubled;
use crate::time::Instant;

/// The first wait before watching again. Each further wait is twice as long, up to [`LONGEST`].
const FIRST: Duration = Duration::from_millis(100);
/// The longest wait before watching again. A longer time without a watch only delays a campaign, because its polls
/// still elect.
const LONGEST: Duration = Duration::from_secs(2);

/// The watch of all elections.
///
/// Watches are numbered. A watch no longer counts once the store has another incarnation, whether the watch was ready
/// or not.
#[derive(Clone, Debug, Default)]
pub(super) struct Watch {
    state: State,
    wanted: bool,
    number: u64,
    shown: Shown,
    /// The elections whose initial entries the watch has shown completely.
    complete: Option<Scope>,
    /// How often in a row a watch ended or failed to begin without delivering anything.
    failures: u32,
}

/// The elections that a watch shows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Scope {
    /// All of the store.
    All,
    /// These elections only. A connection with few elections is thus spared the changes of all others.
    Elections(Vec<String>),
}

impl Scope {
    /// Whether it contains an election.
    pub fn contains(&self, election: &str) -> bool {
        match self {
            Self::All => true,
            Self::Elections(these) => these.iter().any(|this| this == election),
        }
    }
}

/// The elections about which a watch has shown anything, as bits by hash. Another election may share a bit with one of
/// them; then its key is read.
#[derive(Clone, Debug, Default)]
struct Shown {
    /// The bits of the elections while there are few.
    few: Vec<u32>,
    bits: Vec<u64>,
}

/// The number of bits, 32 KiB in all. After ten thousand elections were shown, one in thirty other elections seems to
/// have been shown.
const BITS: u32 = 1 << 18;
/// Up to so many elections are listed, since most watches show few.
const FEW: usize = 32;

impl Shown {
    fn add(&mut self, election: &str) {
        let bit = hash(election) % BITS;
        if self.may_have(election) {
            return;
        }
        if self.bits.is_empty() && self.few.len() < FEW {
            return self.few.push(bit);
        }
        if self.bits.is_empty() {
            self.bits.resize((BITS / 64) as usize, 0);
            core::mem::take(&mut self.few).into_iter().for_each(|bit| self.set(bit));
        }
        self.set(bit);
    }

    fn set(&mut self, bit: u32) {
        self.bits[(bit / 64) as usize] |= 1 << (bit % 64);
    }

    fn may_have(&self, election: &str) -> bool {
        let bit = hash(election) % BITS;
        let has = |bits: &u64| bits & (1 << (bit % 64)) != 0;
        self.few.contains(&bit) || self.bits.get((bit / 64) as usize).is_some_and(has)
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum State {
    #[default]
    Down,
    Beginning,
    Standing {
        since: Instant,
    },
    /// The store offers no watches.
    NotOffered,
}

impl Watch {
    /// Returns the number of the watch to begin now, for the first campaign or observer that wants one.
    pub(super) fn want(&mut self) -> Option<u64> {
        if core::mem::replace(&mut self.wanted, true) { None } else { self.begin() }
    }

    /// Returns the number of the watch to begin now, if there is none.
    pub(super) fn begin(&mut self) -> Option<u64> {
        if self.state != State::Down {
            return None;
        }
        self.state = State::Beginning;
        self.shown = Shown::default();
        self.complete = None;
        self.number += 1;
        Some(self.number)
    }

    /// Ends the present watch because the store has another incarnation. Returns the number of the watch to begin now,
    /// if a watch is wanted.
    pub(super) fn restart(&mut self) -> Option<u64> {
        if self.state == State::NotOffered {
            return None;
        }
        self.state = State::Down;
        if self.wanted { self.begin() } else { None }
    }

    /// Whether this watch has begun and still counts.
    pub(super) fn is_ready(&self, number: u64) -> bool {
        self.number == number && matches!(self.state, State::Standing { .. })
    }

    /// When the current watch became ready.
    pub(super) fn since(&self) -> Option<Instant> {
        match self.state {
            State::Standing { since } => Some(since),
            _ => None,
        }
    }

    /// Notes that a watch is ready. Returns whether it is the awaited watch.
    pub(super) fn began(&mut self, number: u64, now: Instant) -> bool {
        let is_present = self.number == number && self.state == State::Beginning;
        if is_present {
            self.state = State::Standing { since: now };
        }
        is_present
    }

    /// Whether there is a watch, ready or not, that has not shown this election yet.
    pub(super) fn is_yet_to_show(&self, election: &str) -> bool {
        match self.state {
            State::Beginning => true,
            State::Standing { .. } => !self.is_complete(election),
            State::Down | State::NotOffered => false,
        }
    }

    /// Notes that a watch has shown all entries of these elections. Returns whether it is the present watch.
    pub(super) fn showed_all(&mut self, number: u64, of: Scope) -> bool {
        let is_present = self.is_ready(number);
        if is_present {
            self.complete = Some(of);
        }
        is_present
    }

    /// Whether the watch has shown this election completely and found nothing.
    pub(super) fn has_shown_nothing_of(&self, election: &str) -> bool {
        let stands = matches!(self.state, State::Standing { .. });
        stands && self.is_complete(election) && !self.shown.may_have(election)
    }

    fn is_complete(&self, election: &str) -> bool {
        self.complete.as_ref().is_some_and(|shown| shown.contains(election))
    }

    /// Notes that the watch delivered an entry, which shows that it works.
    pub(super) fn showed(&mut self, election: &str, shows_all: bool) {
        self.failures = 0;
        if shows_all {
            self.shown.add(election);
        }
    }

    /// Notes that a watch ended, or could not begin. If it was the present watch, returns when to begin again.
    pub(super) fn ended(&mut self, number: u64, now: Instant) -> Option<Instant> {
        let is_present =
            self.number == number && matches!(self.state, State::Beginning | State::Standing { .. });
        if !is_present {
            return None;
        }
        self.state = State::Down;
        let wait = doubled(FIRST, self.failures, LONGEST);
        self.failures = self.failures.saturating_add(1);
        Some(now + wait)
    }

    /// Notes that the store offers no watches, so that no other watch is requested.
    pub(super) fn is_not_offered(&mut self, number: u64) {
        if self.number == number {
            self.state = State::NotOffered;
        }
    }
}
