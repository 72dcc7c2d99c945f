//! The timing that results from settings on a given store, computed without a campaign.

use core::time::Duration;

use super::pace;
use super::settings::{InvalidSettings, Rules, Settings, rules};
use crate::store::{Capabilities, StoreInfo};

/// The timing that results from settings on a given store.
///
/// Computed by the rules that a campaign follows, so the forecast matches what happens.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Forecast {
    /// The lease in force.
    pub lease: Duration,
    /// The time from a leader's deadline to the end of its lease, as other candidates count it.
    pub margin: Duration,
    /// The time from one renewal to the next.
    pub renew_every: Duration,
    /// The time limit of an answer.
    pub attempt: Duration,
    /// The longest silence of the store before a leader loses its term, in the worst case: the silence begins just
    /// before a renewal.
    pub survives: Duration,
    /// The longest silence of the store when one of its servers fails.
    pub store_fail_over: Duration,
    /// The longest vacancy after the leader crashes, if a candidate waits and the store answers each attempt in time.
    /// In the worst case the leader crashed just after a renewal.
    pub after_a_crash: Duration,
    /// The longest vacancy after an operator's deletion, under the same conditions. A leader that does not notice the
    /// deletion leads until its deadline, so the next leader waits for the longest possible lease.
    pub after_a_deletion: Duration,
}

impl Forecast {
    /// Computes the timing of `settings` on a store with these capabilities and this inspection.
    ///
    /// # Errors
    ///
    /// Refuses a setting that [`Campaign::new`](super::Campaign::new) refuses.
    pub fn new(settings: Settings, store: Capabilities, info: &StoreInfo) -> Result<Self, InvalidSettings> {
        Ok(Self::of(&rules(settings, store, info)?, info.max_age))
    }

    /// Computes the timing of a campaign on a store with this maximum age.
    pub(super) fn of(rules: &Rules, max_age: Option<Duration>) -> Self {
        let lease = rules.lease;
        let vacant = Vacant::at_most(rules, max_age.map_or(lease, |age| age.max(lease)));
        Self {
            lease,
            margin: rules.margin.of(lease),
            renew_every: pace::renew_every(lease),
            attempt: pace::attempt_limit(lease),
            survives: rules.survives(),
            store_fail_over: rules.own.store.fail_over,
            after_a_crash: vacant.after_a_crash,
            after_a_deletion: vacant.after_a_deletion,
        }
    }

    /// Whether a term outlasts the failure of one of the store's servers.
    pub fn survives_a_server(&self) -> bool {
        self.survives >= self.store_fail_over
    }

    /// The number of writes that one leader makes in a day.
    pub fn writes_a_day(&self) -> u64 {
        let day = Duration::from_secs(24 * 3600);
        u64::try_from(day.as_nanos() / self.renew_every.as_nanos().max(1)).unwrap_or(u64::MAX)
    }
}

/// The longest vacancies, if a candidate waits and the store answers each attempt in time.
pub(super) struct Vacant {
    after_a_crash: Duration,
    after_a_deletion: Duration,
}

impl Vacant {
    /// Computes the longest vacancies if no leader has a lease longer than `longest`.
    pub(super) fn at_most(rules: &Rules, longest: Duration) -> Self {
        let (lease, store) = (rules.lease, rules.own.store);
        let attempt = pace::attempt_limit(lease);
        // If the store does not report an expiry, a candidate reads the key to find it, and may read just before it.
        let looking = if store.expiry_pushed { Duration::ZERO } else { pace::poll_again(Duration::ZERO) };
        Self {
            after_a_crash: lease + store.granularity + looking + attempt,
            after_a_deletion: longest.saturating_add(attempt),
        }
    }

    /// The worst fail-over.
    pub(super) fn worst(&self) -> Duration {
        self.after_a_crash.max(self.after_a_deletion)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::time::Instant;
    use crate::token::Incarnation;

    const MILLI: Duration = Duration::from_millis(1);

    fn store(max_age: u64, expiry_pushed: bool, fail_over: u64) -> (Capabilities, StoreInfo) {
        let age = Duration::from_secs(max_age);
        let store = Capabilities {
            own_lease: false,
            lease_step: MILLI,
            shortest: age,
            longest: age,
            granularity: MILLI * 350,
            expiry_pushed,
            incarnation_acked: false,
            watch_shows_all: false,
            window: 256,
            fail_over: Duration::from_secs(fail_over),
        };
        let info = StoreInfo {
            asked_at: Instant::ZERO,
            incarnation: Incarnation(1),
            age: None,
            never_used: false,
            max_age: Some(age),
            newest: None,
        };
        (store, info)
    }

    #[test]
    fn a_record_that_states_a_lease_without_end_is_waited_for_without_end() {
        let (store, info) = store(30, false, 7);
        let rules = rules(Settings::new("a"), store, &info).unwrap();
        assert_eq!(Vacant::at_most(&rules, Duration::MAX).worst(), Duration::MAX);
    }

    #[test]
    fn a_bucket_of_thirty_seconds_on_three_servers() {
        let (store, info) = store(30, false, 7);
        let forecast = Forecast::new(Settings::new("a"), store, &info).unwrap();
        let expected = Forecast {
            lease: MILLI * 30_000,
            margin: MILLI * 1_550,
            renew_every: MILLI * 10_000,
            attempt: MILLI * 2_000,
            survives: MILLI * 18_450,
            store_fail_over: MILLI * 7_000,
            after_a_crash: MILLI * (30_000 + 350 + 100 + 2_000),
            after_a_deletion: MILLI * 32_000,
        };
        assert_eq!(forecast, expected);
        assert!(forecast.survives_a_server());
        assert_eq!(forecast.writes_a_day(), 8_640);
    }

    #[test]
    fn a_pushed_expiry_spares_the_poll_and_a_short_lease_does_not_outlast_a_server() {
        let (store, info) = store(6, true, 7);
        let forecast = Forecast::new(Settings::new("a"), store, &info).unwrap();
        assert_eq!(forecast.after_a_crash, MILLI * (6_000 + 350 + 500));
        assert!(!forecast.survives_a_server());
    }

    #[test]
    fn what_a_campaign_refuses_is_not_foretold() {
        let (store, info) = store(4, true, 7);
        assert_eq!(Forecast::new(Settings::new("a"), store, &info).unwrap_err().setting, "lease");
    }
}
