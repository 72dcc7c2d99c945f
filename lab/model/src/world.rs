//! A small world: what it contains, and its bounds.

use std::fmt::Write as _;
use std::ops::Deref;

use crate::clock::{Clock, Tick};
use crate::property::Property;
use crate::store::Store;

/// A small world, to be explored to its end.
#[derive(Clone, Debug)]
pub struct World<S: Store> {
    pub(crate) name: &'static str,
    pub(crate) about: &'static str,
    pub(crate) candidates: usize,
    /// Whether the first candidate leads when the exploration begins, and each other candidate has observed it.
    /// Otherwise there is no leader yet.
    pub(crate) led: bool,
    /// The drift of each candidate's clock: by how many parts per million it is fast.
    pub(crate) drift: [i32; 3],
    /// The time that is explored.
    pub(crate) horizon: Tick,
    /// The longest time for which a message may be late, a watch silent, or a candidate stopped.
    pub(crate) hold: Tick,
    pub(crate) budget: Budget,
    pub(crate) without: Option<S::Part>,
    pub(crate) setting: S::Setting,
}

impl<S: Store> Deref for World<S> {
    type Target = S::Setting;

    fn deref(&self) -> &S::Setting {
        &self.setting
    }
}

impl<S: Store> World<S> {
    /// Its name.
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// The subject of the world, in one sentence.
    pub fn about(&self) -> &'static str {
        self.about
    }

    /// The world's bounds. Within them the exploration is complete; it proves nothing beyond them.
    pub fn bounds(&self) -> String {
        let mut text = format!("{} candidates, {} s", self.candidates, self.horizon);
        for (fault, what) in Fault::ALL.into_iter().filter(|(fault, _)| self.budget.has(*fault)) {
            let _ = write!(text, ", {} {what}", self.budget.0[fault as usize]);
        }
        text + &S::bounds(self)
    }

    /// The properties that are checked in each state of the world.
    pub fn properties() -> &'static [Property] {
        S::PROPERTIES
    }

    /// Disables a part of the rule by showing the candidates false states.
    #[must_use]
    pub fn without(mut self, part: S::Part) -> Self {
        self.without = Some(part);
        self
    }

    /// Returns true if this part of the rule is disabled.
    pub(crate) fn lacks(&self, part: S::Part) -> bool {
        self.without == Some(part)
    }

    /// The clock of the candidate with this index.
    pub(crate) fn clock(&self, place: usize) -> Clock {
        Clock::new(place, self.drift[place])
    }
}

/// A fault, on any store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// A request or an answer is lost.
    Lose,
    /// A request, an answer or a watch is late.
    Late,
    /// A request or an answer arrives twice, the second time late.
    Copy,
    /// The store answers a write without reporting its outcome: busy, not sent, unknown.
    Unresolved,
    /// The answer comes from a server that lags, or that led earlier.
    Stale,
    /// A process ends.
    Crash,
    /// A candidate starts, as a new process.
    Start,
    /// A process is stopped for a while.
    Pause,
    /// An operator deletes the key, or a place.
    Delete,
    /// An operator purges the key without a trace, while every candidate watches.
    Purge,
    /// An operator, or other software, writes a live record over the present entry.
    Seize,
    /// A candidate is asked to resign.
    Resign,
    /// A candidate is asked to hand over.
    HandOver,
    /// A candidate is closed.
    Close,
    /// The store or the topic is deleted and recreated.
    Recreate,
    /// From some time on, a candidate's inspections or reads are denied.
    Deny,
    /// An operator revokes the lease of a place.
    RevokeLease,
    /// Another member leads the store.
    Elect,
    /// The store revokes a live lease that was granted before an election.
    RevokeEarly,
    /// A connection gives up its companions' lease for another.
    Move,
    /// The coordinator removes a member at once, because the session or rebalance timeout ran out, or because an
    /// operator removed it.
    Remove,
    /// Another process with the same static id replaces an owner, in the same generation.
    Replace,
    /// A rebalance revokes the partition.
    Rebalance,
    /// A leader's handler fails, and its work continues.
    Fail,
}

impl Fault {
    /// All faults, in order, each with its name in the bounds of a world.
    const ALL: [(Self, &'static str); 24] = [
        (Self::Lose, "lost"),
        (Self::Late, "late"),
        (Self::Copy, "doubled"),
        (Self::Unresolved, "unresolved"),
        (Self::Stale, "stale"),
        (Self::Crash, "crashed"),
        (Self::Start, "started"),
        (Self::Pause, "paused"),
        (Self::Delete, "deleted"),
        (Self::Purge, "purged"),
        (Self::Seize, "overwritten"),
        (Self::Resign, "resigned"),
        (Self::HandOver, "handed over"),
        (Self::Close, "closed"),
        (Self::Recreate, "recreated"),
        (Self::Deny, "denied"),
        (Self::RevokeLease, "revoked"),
        (Self::Elect, "elected"),
        (Self::RevokeEarly, "revoked early"),
        (Self::Move, "moved"),
        (Self::Remove, "removed"),
        (Self::Replace, "replaced"),
        (Self::Rebalance, "rebalanced"),
        (Self::Fail, "failed"),
    ];
}

/// The number of times that each fault may happen, in any order and at any time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Budget([u8; Fault::ALL.len()]);

impl Budget {
    /// No further faults.
    pub(crate) const NONE: Self = Self([0; Fault::ALL.len()]);

    pub(crate) fn of<const N: usize>(faults: [(Fault, u8); N]) -> Self {
        let mut budget = Self::NONE;
        for (fault, times) in faults {
            budget.0[fault as usize] = times;
        }
        budget
    }

    /// Returns true if this fault may still happen.
    pub(crate) fn has(&self, fault: Fault) -> bool {
        self.0[fault as usize] > 0
    }

    /// Returns true if any other fault than these may still happen.
    pub(crate) fn has_more_than(&self, these: &[Fault]) -> bool {
        Fault::ALL.into_iter().any(|(fault, _)| self.has(fault) && !these.contains(&fault))
    }

    pub(crate) fn spend(&mut self, fault: Fault) {
        let left = &mut self.0[fault as usize];
        *left = left.saturating_sub(1);
    }
}
