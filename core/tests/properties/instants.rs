//! Instants: arithmetic that saturates at both ends.

use incumbent_core::Instant;
use proptest::prelude::*;

use crate::draw::*;

/// The same in numbers that cannot overflow.
fn exact(at: Instant) -> i128 {
    i128::from(at.as_nanos())
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn a_sum_is_exact_or_never(at in instants(), span in spans()) {
        let sum = u128::from(at.as_nanos()) + span.as_nanos();
        let nearest = u64::try_from(sum).unwrap_or(u64::MAX);
        prop_assert_eq!(at + span, Instant::from_nanos(nearest));
    }

    #[test]
    fn never_stays_never_whatever_is_added(span in spans()) {
        prop_assert_eq!(Instant::NEVER + span, Instant::NEVER);
    }

    #[test]
    fn a_difference_is_exact_or_the_origin(at in instants(), span in spans()) {
        let before = u128::from(at.as_nanos()).saturating_sub(span.as_nanos());
        prop_assert_eq!(u128::from(at.before(span).as_nanos()), before);
    }

    #[test]
    fn the_time_between_two_instants_is_exact_or_nothing(one in instants(), other in instants()) {
        let between = (exact(one) - exact(other)).max(0);
        prop_assert_eq!(one.since(other).as_nanos() as i128, between);
    }

    #[test]
    fn later_stays_later(one in instants(), other in instants(), span in spans()) {
        let (first, last) = (one.min(other), one.max(other));
        prop_assert!(first + span <= last + span);
        prop_assert!(first.before(span) <= last.before(span));
        prop_assert!(first.since(one) <= last.since(one));
    }

    #[test]
    fn there_and_back_is_no_later(at in instants(), span in spans()) {
        prop_assert!((at + span).before(span) <= at);
        prop_assert!(at.before(span) + span >= at);
    }
}
