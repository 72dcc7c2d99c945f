//! The timers of a campaign in a queue.

use crate::timers;

/// What a wake-up is for. Where several are due at once, they fire in this order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Timer {
    /// When the lease can no longer be proven.
    Deadline,
    /// When to stop waiting for the answers of a round.
    Answer,
    /// When to stop waiting for a grant, or for the answer to a transaction.
    Write,
    /// When to stop waiting for a delete or a revocation, or to repeat it.
    Remove,
    /// When to stop waiting for the release after a close.
    Close,
    /// When the keys of a term whose work has not ended are removed all the same.
    Release,
    /// When a draining term ends though its work is not done.
    Drain,
    /// When to give a hand over up because the successor is not next.
    HandOver,
    /// When the wait that a win owes is over.
    Owed,
    /// When to begin a round.
    Round,
    /// When to try again to enter.
    Retry,
    /// When the splay is over.
    Splay,
}

/// A wake-up, and the timer it is for.
pub type Wake = timers::Wake<Timer>;

pub(super) type Timers = timers::Timers<Timer, 12>;

impl timers::Kind<12> for Timer {
    const ALL: [Self; 12] = [
        Self::Deadline,
        Self::Answer,
        Self::Write,
        Self::Remove,
        Self::Close,
        Self::Release,
        Self::Drain,
        Self::HandOver,
        Self::Owed,
        Self::Round,
        Self::Retry,
        Self::Splay,
    ];

    fn place(self) -> usize {
        self as usize
    }
}
