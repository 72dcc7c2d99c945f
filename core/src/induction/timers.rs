//! The timers of a campaign over a consumer group.

crate::timers! {
    /// When the lease can no longer be proven.
    Deadline,
    /// When to stop waiting for an append, or for the answer to a commit.
    Answer,
    /// When to stop waiting for the append of a release.
    Release,
    /// When a candidate leaves even if its work has not ended.
    Work,
    /// When to stop waiting for the client to leave its group.
    Close,
    /// When a draining term ends even if its work is not done.
    Drain,
    /// When the wait owed before a win is over.
    Owed,
    /// When to renew the lease, or to try again.
    Renew,
    /// When to publish a heartbeat that is not committed.
    Heartbeat,
    /// When to read the topic's id.
    Inspect,
    /// When to join the group again.
    Join,
    /// When the last leader read from the log no longer counts.
    Vacant,
    /// When the splay is over.
    Splay,
}

/// A wake-up, and the timer it is for.
pub type Wake = crate::timers::Wake<Timer>;
