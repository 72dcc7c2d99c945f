//! The wait before another try.

use alloc::sync::Arc;
use core::fmt;
use core::time::Duration;

use oorandom::Rand64;

use crate::time::nanos;

/// The first wait after a failure. Each further wait is twice as long, up to [`LONGEST`].
pub(crate) const FIRST: Duration = Duration::from_millis(100);
/// The longest wait of the default back-off.
pub(super) const LONGEST: Duration = Duration::from_secs(1);
/// The deviation of a wait from its mean, in percent, so that many candidates do not retry together.
pub(super) const STRAY_PERCENT: u32 = 20;

/// The wait of a *candidate* after its n-th failure in a row, counting from one.
///
/// A leader does not use it: it repeats a failed renewal as fast as its deadline demands.
#[derive(Clone)]
pub enum Backoff {
    /// 100 ms, doubled with every failure up to 1 s, ±20 %.
    Standard,
    /// Always the same wait.
    Fixed(Duration),
    /// A rule of the user's own: the number of failures gives the wait.
    Custom(Arc<dyn Fn(u32) -> Duration + Send + Sync>),
}

impl Backoff {
    pub(crate) fn wait(&self, failures: u32, rng: &mut Rand64) -> Duration {
        match self {
            Self::Standard => standard(failures, rng),
            Self::Fixed(wait) => *wait,
            Self::Custom(rule) => rule(failures),
        }
    }
}

/// Two custom rules are equal if they are the same object.
impl PartialEq for Backoff {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Standard, Self::Standard) => true,
            (Self::Fixed(one), Self::Fixed(other)) => one == other,
            (Self::Custom(one), Self::Custom(other)) => Arc::ptr_eq(one, other),
            (Self::Standard | Self::Fixed(_) | Self::Custom(_), _) => false,
        }
    }
}

impl fmt::Debug for Backoff {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Standard => f.write_str("Standard"),
            Self::Fixed(wait) => f.debug_tuple("Fixed").field(wait).finish(),
            Self::Custom(_) => f.write_str("Custom"),
        }
    }
}

/// The default back-off, and the only one for a holder.
pub(crate) fn standard(failures: u32, rng: &mut Rand64) -> Duration {
    let doublings = failures.saturating_sub(1).min(16);
    let mean = FIRST.saturating_mul(1 << doublings).min(LONGEST);
    let stray = mean * STRAY_PERCENT / 100;
    mean - stray + up_to(stray * 2, rng)
}

/// The longest wait of [`standard`].
pub(crate) fn longest() -> Duration {
    LONGEST + LONGEST * STRAY_PERCENT / 100
}

/// A random span from zero to `most`.
pub(crate) fn up_to(most: Duration, rng: &mut Rand64) -> Duration {
    Duration::from_nanos(rng.rand_range(0..nanos(most).saturating_add(1)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_standard_wait_doubles_up_to_a_second_and_strays_by_a_fifth() {
        let mut rng = Rand64::new(1);
        for (failures, mean) in
            [(1, 100), (2, 200), (3, 400), (4, 800), (5, 1000), (40, 1000), (u32::MAX, 1000)]
        {
            for _ in 0..100 {
                let wait = standard(failures, &mut rng).as_millis();
                assert!((mean * 80 / 100..=mean * 120 / 100).contains(&wait), "{failures}: {wait} ms");
            }
        }
    }

    proptest::proptest! {
        #![proptest_config(crate::time::tests::cases())]

        #[test]
        fn whatever_the_failures_a_wait_is_80_ms_to_1200_ms(failures: u32, seed: u64) {
            let wait = standard(failures, &mut Rand64::new(seed.into()));
            assert!((Duration::from_millis(80)..=longest()).contains(&wait));
        }

        #[test]
        fn a_random_span_is_no_longer_than_asked_for(most: u64, seed: u64) {
            let most = Duration::from_nanos(most);
            assert!(up_to(most, &mut Rand64::new(seed.into())) <= most);
        }
    }

    #[test]
    fn the_longest_spans_overflow_nothing() {
        let mut rng = Rand64::new(1);
        for most in [Duration::from_nanos(u64::MAX), Duration::MAX] {
            assert!(up_to(most, &mut rng) <= most);
        }
    }

    #[test]
    fn a_custom_rule_is_asked_with_the_number_of_failures() {
        let backoff = Backoff::Custom(Arc::new(|failures| Duration::from_secs(failures.into())));
        assert_eq!(backoff.wait(3, &mut Rand64::new(1)), Duration::from_secs(3));
    }
}
