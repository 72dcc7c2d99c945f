//! The timers of a campaign.

crate::timers! {
    /// When the lease can no longer be proven.
    Deadline,
    /// When to stop waiting for the answer to a write.
    Attempt,
    /// When to stop waiting for the answer to a read.
    Read,
    /// When to inspect the store again, because the last inspection gave no answer.
    Inspect,
    /// When to stop waiting for the release after a close.
    Close,
    /// When to give up a release: it has been tried long enough, or the lease has run out before the term's work ended.
    Release,
    /// When a draining term ends even if its work is not done.
    Drain,
    /// When to report the win of a holder.
    Win,
    /// When to renew the lease.
    Renew,
    /// When to repeat what failed.
    Retry,
    /// When the splay is over.
    Splay,
    /// When to send an acquire.
    Acquire,
    /// When to read the key, because the watch is silent, or because this candidate rests and probes.
    Poll,
}

/// A wake-up, and the timer it is for.
pub type Wake = crate::timers::Wake<Timer>;
