//! How long a candidate waits to be elected: from the start of the program, whatever it waits for.

use std::time::Duration;

use tokio::time::{Instant, Sleep, sleep_until};

/// Longer than anybody waits.
const FOR_EVER: Duration = Duration::from_secs(100 * 365 * 24 * 3600);

/// `--wait`, counted from when this was made.
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

    /// Whether it ever ends.
    pub(super) fn ends(self) -> bool {
        self.limit.is_some()
    }

    /// Until it ends.
    pub(super) fn sleep(self) -> Sleep {
        sleep_until(self.until)
    }

    /// What there is to say when it has ended, and how things stand.
    pub(super) fn over(self, how_things_stand: &str) -> String {
        let limit = humantime::format_duration(self.limit.unwrap_or_default());
        format!("not elected within {limit}; {how_things_stand}")
    }
}

/// How things stand where the store was not opened in time.
pub(super) const NO_STORE: &str = "the store has not answered yet";
