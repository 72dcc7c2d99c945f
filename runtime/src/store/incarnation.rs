//! Incarnations of the stores that this crate creates: nanoseconds since 1970, always growing.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use incumbent_core::Incarnation;

/// The largest incarnation that this process has created or read. The wall clock may be set back
/// between two incarnations of a store; a process that saw the first still creates a larger second
/// one.
static LARGEST: AtomicU64 = AtomicU64::new(0);

/// An incarnation for a new store, larger than every one this process knows.
pub(crate) fn next() -> Incarnation {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let now = u64::try_from(now.as_nanos()).unwrap_or(u64::MAX);
    let larger = |largest: u64| now.max(largest.saturating_add(1));
    let largest = LARGEST.fetch_update(Ordering::AcqRel, Ordering::Acquire, |l| Some(larger(l)));
    Incarnation(larger(largest.unwrap_or_else(|largest| largest)))
}

/// Remembers an incarnation read from a store, so that the next new one is larger.
#[cfg(feature = "sqlite")]
pub(crate) fn met(incarnation: Incarnation) {
    LARGEST.fetch_max(incarnation.0, Ordering::AcqRel);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_is_larger_than_the_one_before() {
        let made: Vec<_> = (0..100).map(|_| next()).collect();
        assert!(made.windows(2).all(|pair| pair[0] < pair[1]));
    }

    #[test]
    #[cfg(feature = "sqlite")]
    fn a_wall_clock_that_was_set_back_does_not_make_a_smaller_one() {
        let ahead = Incarnation(next().0 + 3_600_000_000_000);
        met(ahead);
        assert!(next() > ahead);
    }
}
