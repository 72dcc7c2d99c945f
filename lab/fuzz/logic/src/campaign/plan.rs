//! The settings of a run, its store, and its first reading.

use std::time::Duration;

use incumbent_core::campaign::{Backoff, Campaign, InvalidSettings, Preset, Settings, WinDelay};
use incumbent_core::store::{Capabilities, StoreInfo};
use incumbent_core::{Incarnation, Instant, Revision};

use super::lies::{ME, NAME};
use super::part;
use crate::choices::Choices;

const fn secs(secs: u64) -> Duration {
    Duration::from_secs(secs)
}

/// A year is the limit of a lease; the largest one drawn is a little longer.
const LONGEST: u64 = 366 * 24 * 3600 * 1_000_000_000;

/// The settings of a run.
#[derive(Clone, Debug)]
pub struct Plan {
    preset: Preset,
    /// The requested lease, and the store's maximum age if records have no leases of their own.
    pub(super) lease: Duration,
    pub(super) max_age: Option<Duration>,
    skew: Option<Duration>,
    drift_ppm: u32,
    slack: Option<Duration>,
    splay: Option<Duration>,
    drain: Duration,
    interval: Option<Duration>,
    backoff: Wait,
    win_delay: WinDelay,
    pub(super) store: Capabilities,
    /// The first reading of the clock.
    pub(super) start: Instant,
    /// The first incarnation of the store, and its newest revision.
    pub(super) life: Incarnation,
    pub(super) newest: u64,
    seed: u64,
}

/// A back-off that can be used for two runs.
#[derive(Clone, Copy, Debug)]
enum Wait {
    Standard,
    Fixed(Duration),
    Growing,
}

impl Plan {
    /// Draws a plan, either a usual one or one from the whole range.
    pub fn draw(choices: &mut Choices<'_>) -> Self {
        let mut plan = Self::usual(choices);
        if choices.one_in(2) {
            plan.vary(choices);
        }
        plan
    }

    /// A lease of 30 s, an hour after the clock's origin.
    pub fn usual(choices: &mut Choices<'_>) -> Self {
        let lease = secs(30);
        Self {
            preset: Preset::Standard,
            lease,
            max_age: Some(lease),
            skew: None,
            drift_ppm: 5_000,
            slack: None,
            splay: choices.one_in(2).then_some(Duration::ZERO),
            drain: part(lease, choices.up_to(200) * 100),
            interval: choices.one_in(3).then_some(secs(3)),
            backoff: match choices.below(3) {
                0 => Wait::Standard,
                1 => Wait::Fixed(secs(20)),
                _ => Wait::Growing,
            },
            win_delay: match choices.below(3) {
                0 => WinDelay::Automatic,
                1 => WinDelay::Cautious,
                _ => WinDelay::Fixed(secs(22)),
            },
            store: Capabilities {
                own_lease: false,
                lease_step: Duration::ZERO,
                shortest: Duration::from_millis(100),
                longest: Duration::MAX,
                granularity: Duration::from_millis(250),
                expiry_pushed: choices.one_in(2),
                incarnation_acked: choices.one_in(3),
                watch_shows_all: false,
                window: 256,
                fail_over: secs(7),
            },
            start: Instant::ZERO + secs(3600),
            life: Incarnation(1_000),
            newest: 0,
            seed: choices.below(256),
        }
    }

    /// Any setting, over the whole range of its type.
    fn vary(&mut self, choices: &mut Choices<'_>) {
        self.preset = choices.one_of([Preset::Standard, Preset::Fast, Preset::GoCompatible]);
        self.lease = match choices.below(4) {
            0 => secs(1 + choices.up_to(4)),
            1 => secs(5 + choices.up_to(25)),
            _ => Duration::from_nanos(choices.up_to(LONGEST)),
        };
        self.store.own_lease = choices.one_in(2);
        self.max_age = match choices.below(4) {
            0 if self.store.own_lease => None,
            1 => Some(self.lease * 2),
            _ => Some(self.lease),
        };
        let lease = self.lease;
        let some = |choices: &mut Choices<'_>| match choices.below(4) {
            0 => Some(Duration::ZERO),
            1 => Some(part(lease, choices.up_to(30_000))),
            2 => Some(Duration::from_nanos(choices.any())),
            _ => None,
        };
        self.skew = some(choices);
        self.slack = some(choices);
        self.splay = some(choices);
        self.interval = some(choices);
        self.drain = some(choices).unwrap_or(Duration::MAX);
        self.drift_ppm = match choices.below(4) {
            0 => 0,
            1 => u32::try_from(choices.up_to(u32::MAX.into())).unwrap_or(u32::MAX),
            _ => 10_000,
        };
        if choices.one_in(2) {
            self.win_delay = WinDelay::Fixed(some(choices).unwrap_or(Duration::MAX));
        }
        if choices.one_in(2) {
            self.backoff = Wait::Fixed(some(choices).unwrap_or(Duration::MAX));
        }
        self.start = Instant::from_nanos(match choices.below(4) {
            0 => choices.up_to(5_000_000_000),
            1 => u64::MAX - choices.any() % (1 << 42),
            2 => choices.any(),
            _ => self.start.as_nanos(),
        });
        self.life = Incarnation(choices.one_of([1_000, 1 << 60, u64::MAX - 1_000_000]));
        self.newest = choices.one_of([0, 1 << 53, u64::MAX - 1_000_000]);
    }

    /// The campaign, not yet begun.
    pub(super) fn campaign(&self) -> Result<Campaign, InvalidSettings> {
        let settings = Settings {
            preset: self.preset,
            lease: Some(self.lease),
            skew: self.skew,
            drift_ppm: self.drift_ppm,
            slack: self.slack,
            splay: self.splay,
            drain: self.drain,
            interval: self.interval,
            backoff: match self.backoff {
                Wait::Standard => Backoff::Standard,
                Wait::Fixed(wait) => Backoff::Fixed(wait),
                Wait::Growing => Backoff::Custom(std::sync::Arc::new(|failures| {
                    Duration::from_millis(u64::from(failures) * 10)
                })),
            },
            win_delay: self.win_delay,
            ..Settings::new(NAME)
        };
        Campaign::new(settings, self.store, &self.store_info(), ME, self.seed, self.start)
    }

    /// The first inspection.
    pub(super) fn store_info(&self) -> StoreInfo {
        StoreInfo {
            asked_at: self.start.before(secs(1)),
            incarnation: self.life,
            age: Some(secs(400 * 24 * 3600)),
            never_used: false,
            max_age: self.max_age,
            newest: (self.newest > 0).then_some(Revision(self.newest)),
        }
    }
}
