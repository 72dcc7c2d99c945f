//! A machine's own clock: its reading, and its rate.

use std::time::Duration;

use incumbent_core::Instant;

const MILLION: i128 = 1_000_000;

/// The world's time when a run begins. It is large enough for clocks to differ in both directions.
pub(crate) const START: Instant = Instant::from_nanos(1_000_000_000_000);

/// A clock that runs at a constant rate until another rate is set.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Clock {
    /// A moment of the world, and the clock's reading at that moment.
    anchor: (Instant, Instant),
    /// By how many parts per million the clock runs fast. At minus a million it is stopped.
    ppm: i64,
}

impl Clock {
    pub(crate) fn new(now: Instant, shows: Instant, ppm: i64) -> Self {
        Self { anchor: (now, shows), ppm }
    }

    /// The clock's reading at a moment of the world.
    pub(crate) fn at(&self, now: Instant) -> Instant {
        let elapsed = i128::from(now.since(self.anchor.0).as_nanos() as u64);
        let shown = elapsed * (MILLION + i128::from(self.ppm)) / MILLION;
        self.anchor.1 + Duration::from_nanos(shown as u64)
    }

    /// The first moment of the world at which the clock reads `reading` or later.
    pub(crate) fn when(&self, reading: Instant) -> Instant {
        let ahead = i128::from(reading.since(self.anchor.1).as_nanos() as u64);
        let rate = MILLION + i128::from(self.ppm);
        if ahead == 0 {
            return self.anchor.0;
        }
        if rate == 0 {
            return Instant::NEVER;
        }
        let world = (ahead * MILLION + rate - 1) / rate;
        self.anchor.0 + Duration::from_nanos(u64::try_from(world).unwrap_or(u64::MAX))
    }

    /// Makes the clock run at another rate from `now` on.
    pub(crate) fn set_rate(&mut self, now: Instant, ppm: i64) {
        *self = Self::new(now, self.at(now), ppm);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_moment_a_reading_is_reached_is_the_first() {
        for ppm in [-999_999, -9_900, -7, 0, 3, 9_900, 400_000] {
            let clock = Clock::new(Instant::from_nanos(1_000), Instant::from_nanos(77), ppm);
            for reading in [77, 78, 1_000_003, 10_000_000_007] {
                let reading = Instant::from_nanos(reading);
                let when = clock.when(reading);
                assert!(clock.at(when) >= reading, "{ppm} {reading:?}");
                let before = when.before(Duration::from_nanos(1));
                assert!(
                    when == Instant::from_nanos(1_000) || clock.at(before) < reading,
                    "{ppm} {reading:?}"
                );
            }
        }
    }

    #[test]
    fn a_stopped_clock_reaches_nothing() {
        let mut clock = Clock::new(Instant::ZERO, Instant::ZERO, 0);
        clock.set_rate(Instant::from_nanos(5), -1_000_000);
        assert_eq!(clock.at(Instant::from_nanos(90)), Instant::from_nanos(5));
        assert_eq!(clock.when(Instant::from_nanos(6)), Instant::NEVER);
    }
}
