//! The worlds of a key: the setting that distinguishes them, and their modifications.

use std::fmt::Write as _;
use std::time::Duration;

use super::Key;
use crate::clock::{DRIFT, LEASE, Tick};
use crate::world::{Fault, World};

/// The setting that distinguishes one world of a key from another.
#[derive(Clone, Debug)]
pub struct Setting {
    /// The attributes that candidates share although they should differ.
    pub(super) alike: Alike,
    /// The lease of each candidate.
    pub(super) leases: [Tick; 3],
    /// The largest difference between the servers' clocks, and the largest drift of a clock in parts per million, that
    /// the candidates' settings allow for.
    pub(super) skew: Tick,
    pub(super) drift_setting: u32,
    /// The interval at which an operator's actions, and faults, may affect a candidate. They may also do so whenever
    /// anything else happens.
    pub(super) stride: Tick,
    /// How long before and after the end of its lease a record may vanish.
    pub(super) early: Tick,
    pub(super) late: Tick,
    /// Whether expiry leaves a marker, which watches report.
    pub(super) markers: bool,
    /// Acknowledgements carry the store's incarnation.
    pub(super) acked: bool,
    pub(super) watch: Watch,
    /// The one candidate whose watch never works, if there is one.
    pub(super) unwatched: Option<usize>,
    /// Whether inspections can go wrong; otherwise each is answered at once.
    pub(super) inspections_fail: bool,
    /// Whether candidates enter with a watch, and their campaigns begin at any later time. The first inspection may be
    /// late, fail, or show settings that are refused.
    pub(super) enters: bool,
    /// Whether a campaign that begins knows nothing of what its watch showed before.
    pub(super) forgets: bool,
    /// Whether only watches are late, and not messages.
    pub(super) only_watches: bool,
    /// Whether the faults are so few that none may cost a term, although candidates may be slow to retry.
    pub(super) keeps: bool,
    /// The number of ticks within which a candidate leads if there are no further faults.
    pub(super) fail_over: Tick,
}

/// The attributes that candidates share if their random numbers repeat.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Alike {
    /// Nothing.
    Not,
    /// Their nonce.
    Nonce,
    /// Their nonce and their name.
    NonceAndName,
}

/// The way in which candidates learn of changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Watch {
    /// They do not learn of changes, and depend on polling.
    Dead,
    /// At once.
    Prompt,
    /// They learn of changes in the same tick, in any order with everything else.
    Loose,
}

impl World<Key> {
    /// The bounds that the world's setting adds.
    pub(super) fn bounds_of_setting(&self) -> String {
        let mut text = String::new();
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
        if [Fault::Late, Fault::Copy, Fault::Pause].into_iter().any(|fault| self.budget.has(fault)) {
            let _ = write!(text, ", for up to {} s", self.hold);
        }
        text
    }

    /// Makes records vanish this many seconds before the end of their lease. The candidates' settings allow for one
    /// second.
    #[must_use]
    pub fn expiring_early(mut self, seconds: u32) -> Self {
        self.setting.early = seconds.min(LEASE - 1);
        self
    }

    /// Makes the first candidate's clock slow by `parts_per_million`. Its settings allow for 10,000.
    #[must_use]
    pub fn with_a_slow_clock(mut self, parts_per_million: u32) -> Self {
        self.drift[0] = -i32::try_from(parts_per_million.min(500_000)).unwrap_or_default();
        self
    }

    /// Makes campaigns know nothing of what their watches showed before they began.
    #[must_use]
    pub fn forgetting_what_was_shown_early(mut self) -> Self {
        self.setting.forgets = true;
        self
    }

    /// Gives candidates no time at all to agree on a leader.
    #[must_use]
    pub fn in_a_hurry(mut self) -> Self {
        self.setting.fail_over = 0;
        self
    }

    /// The lease of the candidate with this index.
    pub(super) fn lease(&self, place: usize) -> Duration {
        Duration::from_secs(self.leases[place].into())
    }

    /// Returns true if the candidate with this index has a watch that works.
    pub(super) fn is_watching(&self, place: usize) -> bool {
        self.watch != Watch::Dead && self.unwatched != Some(place)
    }

    /// The longest lease of any candidate.
    pub(super) fn longest(&self) -> Duration {
        Duration::from_secs(self.leases.into_iter().max().unwrap_or_default().into())
    }

    /// The time from the candidate's deadline to the end of its lease. The settings add no slack, so it is as short as
    /// the rule allows.
    pub(super) fn margin(&self, place: usize) -> Duration {
        let drift = self.lease(place).as_nanos() as u64 * 2 * u64::from(self.drift_setting) / 1_000_000;
        Duration::from_secs(self.skew.into()) + Duration::from_nanos(drift)
    }

    /// The drifts of clocks that differ by as much as the settings allow.
    pub(super) const DRIFTING: [i32; 3] = [-(DRIFT as i32), DRIFT as i32, 0];
}
