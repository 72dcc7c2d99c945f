//! The times of a campaign, as parts of its lease.

use core::time::Duration;

use crate::record::Nonce;
use crate::time::Instant;

/// The time from the sending of an applied write to the next renewal.
pub(crate) fn renew_every(lease: Duration) -> Duration {
    lease / 3
}

/// The number of instants between two renewals at which one of many campaigns may renew. Renewals of the same instant
/// are sent together, which takes half the processor time of sending each on its own.
const INSTANTS: u64 = 100;

/// Returns the instant, not after `due`, at which one of many campaigns renews. The time between two renewals has
/// [`INSTANTS`] instants. The remainder of the nonce selects one of them, and the campaign renews when that instant
/// last comes before `due`. So renewals are spread even if all leases began together, or if an outage delayed all of
/// them. This costs each lease at most one extra renewal.
pub(crate) fn spread(due: Instant, nonce: Nonce, lease: Duration) -> Instant {
    let every = u64::try_from(renew_every(lease).as_nanos()).unwrap_or(u64::MAX).max(1);
    let number = u64::try_from(nonce.0 % u128::from(INSTANTS)).unwrap_or(0);
    let remainder = number * (every / INSTANTS);
    let past = due.as_nanos() % every;
    let past = if past < remainder { past + (every - remainder) } else { past - remainder };
    due.before(Duration::from_nanos(past))
}

/// The time limit of an answer.
pub(crate) fn attempt_limit(lease: Duration) -> Duration {
    (lease / 12).clamp(Duration::from_millis(250), Duration::from_secs(2))
}

/// How long a candidate holds back to let another go first.
pub(super) fn hold_back(lease: Duration) -> Duration {
    (lease / 10).min(Duration::from_secs(1))
}

/// The longest jitter of a candidate when the key becomes vacant: none until it has lost a race, then doubled with
/// every lost race, since each shows that there are more candidates.
pub(super) fn jitter(races_lost: u32, lease: Duration) -> Duration {
    match races_lost {
        0 => Duration::ZERO,
        lost => Duration::from_millis(1 << lost.min(16)).min(hold_back(lease)),
    }
}

/// The wait before the key is read again, if a record is overdue by `overdue`.
pub(super) fn poll_again(overdue: Duration) -> Duration {
    if overdue < Duration::from_secs(1) { Duration::from_millis(100) } else { Duration::from_secs(1) }
}

/// The largest age of an inspection that a renewal relies on. Allowing more saves inspections when many elections share
/// a store, but shortens the lease.
pub(super) fn inspection_reuse(lease: Duration) -> Duration {
    lease / 60
}

/// How long a close waits for its release.
pub(crate) const CLOSE_LIMIT: Duration = Duration::from_secs(2);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_renewal_among_many_comes_at_the_instant_of_its_nonce_and_a_third_of_the_lease_after_the_last() {
        let lease = Duration::from_secs(30);
        let at = Instant::from_nanos;
        // A third of the lease is ten seconds, and one of its hundred instants 100 ms.
        let (nonce, first) = (Nonce(4_003), 300_000_000);
        assert_eq!(spread(at(10_000_000_000 + first), nonce, lease), at(10_000_000_000 + first));
        assert_eq!(spread(at(10_000_000_000 + first - 1), nonce, lease), at(first));
        assert_eq!(spread(at(19_999_999_999), nonce, lease), at(10_000_000_000 + first));
        let sent = spread(at(10_000_000_000 + first + 9), nonce, lease) + Duration::from_micros(50);
        assert_eq!(spread(sent + renew_every(lease), nonce, lease), at(20_000_000_000 + first));
        assert_eq!(spread(at(5), Nonce(200), lease), at(0));
    }

    #[test]
    fn an_attempt_takes_a_twelfth_of_the_lease_within_its_bounds() {
        assert_eq!(attempt_limit(Duration::from_secs(1)), Duration::from_millis(250));
        assert_eq!(attempt_limit(Duration::from_secs(12)), Duration::from_secs(1));
        assert_eq!(attempt_limit(Duration::from_secs(3600)), Duration::from_secs(2));
    }

    #[test]
    fn jitter_starts_with_the_first_lost_race_and_is_bounded_by_the_hold_back() {
        let lease = Duration::from_secs(30);
        let spans = [0, 1, 2, 9, 10, u32::MAX].map(|lost| jitter(lost, lease).as_millis());
        assert_eq!(spans, [0, 2, 4, 512, 1000, 1000]);
    }

    proptest::proptest! {
        #![proptest_config(crate::time::tests::cases())]

        /// For every lease, the steps of a campaign fit into it and keep their bounds.
        #[test]
        fn every_pace_keeps_its_bounds(lease in 1_000_000_000u64.., lost: u32, overdue: u64) {
            let (lease, overdue) = (Duration::from_nanos(lease), Duration::from_nanos(overdue));
            let second = Duration::from_secs(1);
            assert!(renew_every(lease) * 3 <= lease && renew_every(lease) * 4 > lease);
            assert!((second / 4..=second * 2).contains(&attempt_limit(lease)));
            assert!(attempt_limit(lease) + renew_every(lease) < lease);
            assert!(hold_back(lease) <= second && hold_back(lease) <= lease / 10);
            assert!(jitter(lost, lease) <= hold_back(lease));
            assert!(jitter(lost, lease) <= jitter(lost.saturating_add(1), lease));
            assert!((second / 10..=second).contains(&poll_again(overdue)));
            assert!(inspection_reuse(lease) * 20 <= renew_every(lease));
        }
    }
}
