//! The time limit for an election (`--wait`): counted from the start of the program, whatever the wait.

use std::time::Duration;

use tokio::time::{Instant, Sleep, sleep_until};

/// A wait without end, in practice (100 years).
const UNLIMITED: Duration = Duration::from_secs(100 * 365 * 24 * 3600);

/// `--wait`, counted from the creation of this value.
#[derive(Clone, Copy, Debug)]
pub(super) struct ElectionTimeout {
    limit: Option<Duration>,
    until: Instant,
}

impl ElectionTimeout {
    pub(super) fn new(limit: Option<Duration>) -> Self {
        let now = Instant::now();
        let far = now + UNLIMITED;
        Self { limit, until: limit.and_then(|limit| now.checked_add(limit)).unwrap_or(far).min(far) }
    }

    /// Whether there is a limit.
    pub(super) fn is_set(self) -> bool {
        self.limit.is_some()
    }

    /// Sleeps until the limit.
    pub(super) fn sleep(self) -> Sleep {
        sleep_until(self.until)
    }

    /// The message at the limit, including the current state.
    pub(super) fn message(self, state: &str) -> String {
        let limit = humantime::format_duration(self.limit.unwrap_or_default());
        format!("not elected within {limit}; {state}")
    }
}

/// The current state where the store was not opened in time.
pub(super) const NO_STORE: &str = "the store has not answered yet";
