//! A machine's own clock: its reading, and its rate.

use std::time::Duration;

use incumbent_core::Instant;

const MILLION: u64 = 1_000_000;

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
        let elapsed = now.as_nanos().saturating_sub(self.anchor.0.as_nanos());
        // In two parts, so that the products fit.
        let shown = elapsed / MILLION * self.rate() + elapsed % MILLION * self.rate() / MILLION;
        self.anchor.1 + Duration::from_nanos(shown)
    }

    /// The first moment of the world at which the clock reads `reading` or later.
    pub(crate) fn when(&self, reading: Instant) -> Instant {
        let ahead = reading.as_nanos().saturating_sub(self.anchor.1.as_nanos());
        let rate = self.rate();
        if ahead == 0 {
            return self.anchor.0;
        }
        if rate == 0 {
            return Instant::NEVER;
        }
        let rest = (ahead % rate * MILLION).div_ceil(rate);
        let world = (ahead / rate).saturating_mul(MILLION).saturating_add(rest);
        self.anchor.0 + Duration::from_nanos(world)
    }

    /// The millionths of a second that it shows in each second of the world.
    fn rate(&self) -> u64 {
        MILLION.saturating_add_signed(self.ppm)
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
