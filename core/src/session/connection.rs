//! The connection to the store, which is replaced when a campaign asks for another one.

use core::time::Duration;

use super::{FIRST_WAIT, doubled};
use crate::time::Instant;

/// The longest wait between attempts to connect again; the wait doubles from [`FIRST_WAIT`].
const LONGEST_WAIT: Duration = Duration::from_secs(2);

/// The current connection, and the attempts to make a new one.
#[derive(Clone, Debug, Default)]
pub(super) struct Connection {
    /// When the connection was made; `None` for the first one.
    made: Option<Instant>,
    replacement: Replacement,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Replacement {
    #[default]
    None,
    UnderWay {
        failures: u32,
    },
    Waiting {
        failures: u32,
    },
}

impl Connection {
    /// Whether the connection was made after `time`.
    pub(super) fn is_newer_than(&self, time: Instant) -> bool {
        self.made.is_some_and(|made| time < made)
    }

    /// Handles a campaign's request for another connection. Returns whether to begin an attempt, which is not so while
    /// another attempt is under way.
    pub(super) fn replace(&mut self) -> bool {
        let is_news = self.replacement == Replacement::None;
        if is_news {
            self.replacement = Replacement::UnderWay { failures: 0 };
        }
        is_news
    }

    /// Whether an attempt to connect again is in progress.
    pub(super) fn is_replaced(&self) -> bool {
        matches!(self.replacement, Replacement::UnderWay { .. })
    }

    /// Notes that the attempt failed. Returns the wait before the next one.
    pub(super) fn failed(&mut self) -> Option<Duration> {
        let Replacement::UnderWay { failures } = self.replacement else { return None };
        self.replacement = Replacement::Waiting { failures: failures.saturating_add(1) };
        Some(doubled(FIRST_WAIT, failures, LONGEST_WAIT))
    }

    /// Notes that the wait is over. Returns whether to begin another attempt.
    pub(super) fn try_again(&mut self) -> bool {
        let Replacement::Waiting { failures } = self.replacement else { return false };
        self.replacement = Replacement::UnderWay { failures };
        true
    }

    /// A new connection was made.
    pub(super) fn made(&mut self, now: Instant) {
        *self = Self { made: Some(now), replacement: Replacement::None };
    }
}
