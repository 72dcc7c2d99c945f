//! The timers of a campaign.

use crate::timers;

/// The reason of a wake-up. Where several are due at once, they fire in this order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Timer {
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
    /// When a release has been tried for long enough, or the lease has run out before the work of its term ended.
    Release,
    /// When a draining term ends though its work is not done.
    Drain,
    /// When to report the win of a holder, or to give up because it cannot prove the incarnation.
    Win,
    /// When to renew the lease.
    Renew,
    /// When to repeat what failed.
    Retry,
    /// When the splay is over.
    Splay,
    /// When to send an acquire.
    Acquire,
    /// When to read the key, because the watch has been silent.
    Poll,
}

/// A wake-up, and the timer it is for.
pub type Wake = timers::Wake<Timer>;

pub(super) type Timers = timers::Timers<Timer, 13>;

impl timers::Kind<13> for Timer {
    const ALL: [Self; 13] = [
        Self::Deadline,
        Self::Attempt,
        Self::Read,
        Self::Inspect,
        Self::Close,
        Self::Release,
        Self::Drain,
        Self::Win,
        Self::Renew,
        Self::Retry,
        Self::Splay,
        Self::Acquire,
        Self::Poll,
    ];

    fn place(self) -> usize {
        self as usize
    }
}
