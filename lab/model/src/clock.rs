//! Time: one real clock that advances in ticks, and the reading of each candidate's own clock.

use std::time::Duration;

use incumbent_core::Instant;

/// Seconds since the world began.
pub(crate) type Tick = u32;

/// The length of a tick in nanoseconds.
const TICK: u64 = 1_000_000_000;

/// A candidate's lease in ticks, unless a world sets another.
pub(crate) const LEASE: Tick = 12;

/// A candidate's lease as a duration.
pub(crate) const LEASE_TIME: Duration = Duration::from_secs(LEASE as u64);

/// The largest drift of each clock under the candidates' settings, in parts per million.
pub(crate) const DRIFT: u32 = 10_000;

/// A candidate's clock, which has its own origin and drifts from the real clock.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Clock {
    origin: u64,
    pace: u64,
}

impl Clock {
    /// The clock of the candidate with this index; `drift` is how fast it is, in parts per million.
    pub(crate) fn new(place: usize, drift: i32) -> Self {
        let origin = (3_600 + 100 * place as u64) * TICK;
        Self { origin, pace: TICK.saturating_add_signed(i64::from(drift) * 1_000) }
    }

    /// The reading at a real instant.
    pub(crate) fn at(self, tick: Tick) -> Instant {
        Instant::from_nanos(self.origin + self.pace * u64::from(tick))
    }

    /// The first tick at which the clock reads `at` or later.
    pub(crate) fn when(self, at: Instant) -> Tick {
        let ticks = at.as_nanos().saturating_sub(self.origin).div_ceil(self.pace);
        Tick::try_from(ticks).unwrap_or(Tick::MAX)
    }

    /// A reading of the clock as seconds of real time since the world began, for people to read.
    pub(crate) fn seconds(self, at: Instant) -> f64 {
        at.as_nanos().saturating_sub(self.origin) as f64 / self.pace as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reading_is_reached_at_the_first_tick_that_is_not_before_it() {
        for drift in [-10_000, 0, 10_000] {
            let clock = Clock::new(1, drift);
            let at = clock.at(7);
            assert_eq!(clock.when(at), 7);
            assert_eq!(clock.when(at + Duration::from_nanos(1)), 8);
        }
    }

    #[test]
    fn a_slow_clock_counts_less_than_really_passes() {
        let slow = Clock::new(0, -10_000);
        assert_eq!(slow.at(100).since(slow.at(0)), Duration::from_secs(99));
    }
}
