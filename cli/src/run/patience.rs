//! The time limit for an election (`--wait`): counted from the start of the program, whatever the wait.

use std::time::Duration;

use tokio::time::{Instant, Sleep, sleep_until};

/// A wait without end, in practice (100 years).
const FOR_EVER: Duration = Duration::from_secs(100 * 365 * 24 * 3600);

/// `--wait`, counted from the creation of this value.
#[derive(Clone, Copy, Debug)]
pub(super) struct Patience {
    limit: Option<Duration>,
    until: Instant,
}

impl Patience {
    pub(super) fn new(limit: Option<Duration>) -> Self {
        let now = Instant::now();
        let far = now + FOR_EVER;
        Self { limit, until: limit.and_then(|limit| now.checked_add(limit)).unwrap_or(far).min(far) }
    }

    /// Whether there is a limit.
    pub(super) fn ends(self) -> bool {
        self.limit.is_some()
    }

    /// Sleeps until the limit.
    pub(super) fn sleep(self) -> Sleep {
        sleep_until(self.until)
    }

    /// The message at the limit, including the current state.
    pub(super) fn over(self, how_things_stand: &str) -> String {
        let limit = humantime::format_duration(self.limit.unwrap_or_default());
        format!("not elected within {limit}; {how_things_stand}")
    }
}

/// The current state where the store was not opened in time.
pub(super) const NO_STORE: &str = "the store has not answered yet";
