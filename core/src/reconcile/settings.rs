//! The waits of a reconciler.

use core::time::Duration;

/// The waits and retries of a [`Reconciler`](super::Reconciler). Every value is possible.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// The wait after *end* failed in an error until it is run again. 5 s by default.
    pub retry_every: Duration,
    /// The number of runs of *end* in an error before the reconciler gives up. 12 by default. The run that led to the
    /// error is not counted; a leader whose error is another has *end* run once even where this is 0.
    pub retries: u32,
    /// The wait after *error* succeeded until the candidacy resumes. 30 s by default.
    pub cool_down: Duration,
}

/// An *error* that fails at once is not run more often than this.
const LEAST_BEFORE_ERROR_AGAIN: Duration = Duration::from_secs(1);

impl Settings {
    /// The wait after *error* failed until it is run again: the cool-down, and a second at least.
    pub(super) fn before_error_again(&self) -> Duration {
        self.cool_down.max(LEAST_BEFORE_ERROR_AGAIN)
    }
}

impl Default for Settings {
    fn default() -> Self {
        Self { retry_every: Duration::from_secs(5), retries: 12, cool_down: Duration::from_secs(30) }
    }
}
