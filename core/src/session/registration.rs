//! Registers the candidates of a connection, with one registration for all changes since the last.

use core::time::Duration;

use super::doubled;

/// The first wait before repeating a failed registration. It is doubled each time, up to [`LONGEST_WAIT`].
const FIRST_WAIT: Duration = Duration::from_secs(1);
/// The longest wait before repeating a failed registration. Only lists of candidates depend on it.
const LONGEST_WAIT: Duration = Duration::from_secs(60);

/// What the store knows about this connection's candidates.
#[derive(Clone, Debug, Default)]
pub(super) struct Registration {
    /// Whether the candidates have changed since the last registration began.
    changed: bool,
    under_way: bool,
    failures: u32,
}

impl Registration {
    /// The candidates have changed.
    pub(super) fn change(&mut self) {
        self.changed = true;
    }

    /// Begins a registration if one is due, and returns whether it did.
    pub(super) fn begin(&mut self) -> bool {
        let now = self.changed && !self.under_way;
        if now {
            (self.changed, self.under_way) = (false, true);
        }
        now
    }

    /// Ends the registration, whether it was done or failed. Returns the wait before repeating it, unless something
    /// changes first.
    pub(super) fn ended(&mut self, done: bool) -> Option<Duration> {
        self.under_way = false;
        if done {
            self.failures = 0;
            return None;
        }
        let wait = doubled(FIRST_WAIT, self.failures, LONGEST_WAIT);
        self.failures = self.failures.saturating_add(1);
        Some(wait)
    }

    /// Whether the store knows every candidate.
    pub(super) fn is_done(&self) -> bool {
        !self.changed && !self.under_way && self.failures == 0
    }
}
