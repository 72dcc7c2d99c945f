//! Leases and margins: accepted settings leave enough time, and all others are refused.

use std::time::Duration;

use incumbent_core::campaign::{Campaign, InvalidSettings, Preset, Settings};
use incumbent_core::record::Nonce;
use incumbent_core::store::{Capabilities, StoreInfo};
use incumbent_core::{Incarnation, Instant};
use proptest::prelude::*;

use crate::*;

/// The parts of a margin.
#[derive(Clone, Copy, Debug)]
pub struct Parts {
    pub lease: Duration,
    pub skew: Option<Duration>,
    pub drift_ppm: u32,
    pub slack: Option<Duration>,
}

impl Parts {
    /// Any parts.
    pub fn any() -> BoxedStrategy<Self> {
        let part = || prop_oneof![2 => Just(None), 1 => spans().prop_map(Some)].boxed();
        let lease = || prop_oneof![spans(), (1u64..3600).prop_map(Duration::from_secs)];
        let drift = prop_oneof![Just(5_000), any::<u32>(), 0u32..200_000];
        (lease(), part(), drift, part())
            .prop_map(|(lease, skew, drift_ppm, slack)| Self { lease, skew, drift_ppm, slack })
            .boxed()
    }

    /// Parts that are mostly accepted, from 1 s to a year.
    pub fn usual() -> BoxedStrategy<Self> {
        let lease = prop_oneof![1_000_000_000u64..60_000_000_000, 1_000_000_000u64..31_536_000_000_000_000];
        let part = || prop::option::of(0u64..80);
        (lease, part(), prop_oneof![Just(5_000), 0u32..60_000], part())
            .prop_map(|(lease, skew, drift_ppm, slack)| {
                let lease = Duration::from_nanos(lease);
                let thousandths = |part: u64| lease / 1000 * u32::try_from(part).unwrap_or(0);
                Self { lease, skew: skew.map(thousandths), drift_ppm, slack: slack.map(thousandths) }
            })
            .boxed()
    }

    pub fn campaign(self, now: Instant) -> Result<Campaign, InvalidSettings> {
        let store = Capabilities {
            own_lease: true,
            lease_step: Duration::ZERO,
            shortest: Duration::ZERO,
            longest: Duration::MAX,
            granularity: Duration::ZERO,
            expiry_pushed: true,
            incarnation_acked: true,
            watch_shows_all: false,
            window: 256,
            fail_over: Duration::ZERO,
        };
        let info = StoreInfo {
            asked_at: now,
            incarnation: Incarnation(1),
            age: None,
            never_used: true,
            max_age: None,
            newest: None,
        };
        let settings = Settings {
            preset: Preset::Fast,
            lease: Some(self.lease),
            skew: self.skew,
            drift_ppm: self.drift_ppm,
            slack: self.slack,
            splay: Some(Duration::ZERO),
            ..Settings::new("me")
        };
        Campaign::new(settings, store, &info, Nonce(1), 1, now)
    }

    /// `skew + 2·drift·T + slack`, in nanoseconds that cannot overflow.
    fn margin(&self) -> u128 {
        let default = |most: u64| (self.lease / 20).min(Duration::from_millis(most));
        let skew = self.skew.unwrap_or_else(|| default(1000)).as_nanos();
        let slack = self.slack.unwrap_or_else(|| default(250)).as_nanos();
        let drift = self.lease.as_nanos() * 2 * u128::from(self.drift_ppm) / 1_000_000;
        skew + drift + slack
    }
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn whatever_is_set_is_accepted_with_its_exact_margin_or_refused(parts in Parts::any()) {
        let (lease, margin) = (parts.lease.as_nanos(), parts.margin());
        match parts.campaign(Instant::ZERO) {
            Ok(campaign) => {
                prop_assert_eq!(campaign.lease_time(), parts.lease);
                prop_assert_eq!(campaign.margin().as_nanos(), margin);
                prop_assert!((1_000_000_000..=365 * 24 * 3600 * 1_000_000_000).contains(&lease));
                prop_assert!(lease >= 5 * margin);
            }
            Err(refused) => {
                prop_assert_eq!(refused.setting, "lease");
                prop_assert!(!refused.remedy.to_string().is_empty());
            }
        }
    }

    #[test]
    fn the_defaults_fit_every_lease_from_a_second_to_a_year(lease in 1_000_000_000u64..=31_536_000_000_000_000) {
        let parts = Parts { lease: Duration::from_nanos(lease), skew: None, drift_ppm: 5_000, slack: None };
        prop_assert!(parts.campaign(Instant::ZERO).is_ok());
    }

    #[test]
    fn a_lease_outside_is_refused(nanos in prop_oneof![0u64..1_000_000_000, 31_536_000_000_000_001..=u64::MAX]) {
        let parts = Parts { lease: Duration::from_nanos(nanos), skew: None, drift_ppm: 0, slack: None };
        prop_assert_eq!(parts.campaign(Instant::ZERO).map(drop).map_err(|refused| refused.setting), Err("lease"));
    }
}
