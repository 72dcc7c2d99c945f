//! Instants of the caller's clock.

use core::fmt;
use core::ops::Add;
use core::time::Duration;

/// A reading of the caller's monotonic clock, in nanoseconds since an origin of the caller's choice.
///
/// The clock must count the time the machine spends suspended (`CLOCK_BOOTTIME` on Linux, `mach_continuous_time` on
/// macOS): a lease runs down while a laptop sleeps. All arithmetic saturates, so the far future needs no special case.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Instant(u64);

impl Instant {
    /// The clock's origin.
    pub const ZERO: Self = Self(0);
    /// Later than anything that happens.
    pub const NEVER: Self = Self(u64::MAX);

    /// The instant `nanos` nanoseconds after the clock's origin.
    pub const fn from_nanos(nanos: u64) -> Self {
        Self(nanos)
    }

    /// Nanoseconds since the clock's origin.
    pub const fn as_nanos(self) -> u64 {
        self.0
    }

    /// Returns this instant minus `span`, but not before the clock's origin.
    pub fn before(self, span: Duration) -> Self {
        Self(self.0.saturating_sub(nanos(span)))
    }

    /// The time from `earlier` to this instant; zero if `earlier` is later.
    pub fn since(self, earlier: Self) -> Duration {
        Duration::from_nanos(self.0.saturating_sub(earlier.0))
    }
}

/// `span` in whole nanoseconds, at most `u64::MAX` (584 years).
pub(crate) fn nanos(span: Duration) -> u64 {
    u64::try_from(span.as_nanos()).unwrap_or(u64::MAX)
}

/// `span` rounded to the nearest millisecond, for people to read.
pub(crate) fn rounded(span: Duration) -> Duration {
    Duration::from_millis(u64::try_from((span.as_micros() + 500) / 1000).unwrap_or(u64::MAX))
}

impl Add<Duration> for Instant {
    type Output = Self;

    fn add(self, span: Duration) -> Self {
        Self(self.0.saturating_add(nanos(span)))
    }
}

impl fmt::Debug for Instant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if *self == Self::NEVER {
            f.write_str("never")
        } else {
            write!(f, "{:?}", Duration::from_nanos(self.0))
        }
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use proptest::test_runner::{Config, RngSeed};

    /// The number of cases of each property, the same in every run.
    pub(crate) fn cases() -> Config {
        Config { rng_seed: RngSeed::Fixed(1), failure_persistence: None, ..Config::with_cases(1000) }
    }

    #[test]
    fn arithmetic_saturates_at_both_ends() {
        assert_eq!(Instant::from_nanos(5).before(Duration::from_secs(1)), Instant::ZERO);
        assert_eq!(Instant::from_nanos(5) + Duration::MAX, Instant::NEVER);
        assert_eq!(Instant::from_nanos(5).since(Instant::from_nanos(9)), Duration::ZERO);
        assert_eq!(Instant::NEVER + Duration::from_secs(1), Instant::NEVER);
    }

    proptest::proptest! {
        #![proptest_config(cases())]

        #[test]
        fn a_span_is_rounded_to_the_nearest_millisecond(nanos: u64) {
            let span = Duration::from_nanos(nanos);
            let millis = (u128::from(nanos / 1000) + 500) / 1000;
            assert_eq!(rounded(span).as_millis(), millis);
        }

        #[test]
        fn nanoseconds_end_at_the_largest_number(secs: u64, nanos in 0u32..1_000_000_000) {
            let exact = u128::from(secs) * 1_000_000_000 + u128::from(nanos);
            assert_eq!(u128::from(super::nanos(Duration::new(secs, nanos))), exact.min(u64::MAX.into()));
        }
    }
}
