//! The host's clock.

use std::cell::Cell;

use incumbent_core::Instant;

use super::bindings::incumbent::election::clock;

/// The host's clock, made monotonic.
#[derive(Default)]
pub(super) struct Clock(Cell<Instant>);

impl Clock {
    pub(super) fn now(&self) -> Instant {
        let now = self.0.get().max(Instant::from_nanos(clock::now()));
        self.0.set(now);
        now
    }
}

/// Whether the clock is fit for deadlines.
pub(super) fn is_fit() -> bool {
    clock::counts_suspension()
}
