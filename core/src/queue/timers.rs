//! The timers of a campaign in a queue.

crate::timers! {
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
    /// When to remove the keys of a term even if its work has not ended.
    Release,
    /// When a draining term ends even if its work is not done.
    Drain,
    /// When to give up a hand-over because the successor is not next.
    HandOver,
    /// When the wait owed before a win is over.
    Owed,
    /// When to begin a round.
    Round,
    /// When to try again to enter.
    Retry,
    /// When a candidate that gave way probes the store, or when its rest is over.
    Rest,
    /// When the splay is over.
    Splay,
}

/// A wake-up, and the timer it is for.
pub type Wake = crate::timers::Wake<Timer>;
