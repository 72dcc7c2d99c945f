//! A campaign's settings, and what is refused before it begins.

use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;
use core::time::Duration;

use super::backoff::{Backoff, FIRST, STRAY_PERCENT};
use super::pace;
use crate::candidacy;
use crate::refusals;
use crate::store::{Capabilities, StoreInfo};
use crate::text::{Names, Text};
use crate::time::{nanos, rounded};

/// A trade-off between speed and caution. Each preset has its own bounds for the lease.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub enum Preset {
    /// Leases of 5 s or more; 15 s if neither the user nor the store sets one.
    #[default]
    Standard,
    /// Leases of 1 s or more; 2 s if neither the user nor the store sets one. They do not survive the failure of one
    /// server of a cluster.
    Fast,
    /// Leases of 30 s to 1 h, which candidates of the Go library `nats-kv-leader-elect` share.
    GoCompatible,
    /// Leases of any length that allows for a retry.
    #[cfg(feature = "testing")]
    Test,
}

/// The longest lease that is accepted; a longer one is a mistake. The limit also keeps sums of times far from overflow.
pub(super) const LONGEST_LEASE: Duration = Duration::from_secs(365 * 24 * 3600);

/// The longest lease that the Go library accepts, from the bucket that all its candidates share.
pub(super) const LONGEST_SHARED: Duration = Duration::from_secs(3600);

impl Preset {
    pub(crate) fn bounds(self) -> (Duration, Duration) {
        match self {
            Self::Standard => (Duration::from_secs(5), LONGEST_LEASE),
            Self::Fast => (Duration::from_secs(1), LONGEST_LEASE),
            Self::GoCompatible => (Duration::from_secs(30), LONGEST_SHARED),
            #[cfg(feature = "testing")]
            Self::Test => (Duration::from_millis(1), LONGEST_LEASE),
        }
    }

    pub(crate) fn lease(self) -> Duration {
        match self {
            Self::Standard => Duration::from_secs(15),
            Self::Fast => Duration::from_secs(2),
            Self::GoCompatible => Duration::from_secs(30),
            #[cfg(feature = "testing")]
            Self::Test => Duration::from_secs(1),
        }
    }
}

/// The time between the acquire of a new holder and the report of its win.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub enum WinDelay {
    /// The win waits as long as a previous leader might still believe that it leads, and no longer.
    #[default]
    Automatic,
    /// Like `Automatic`, but the win waits for a whole lease if nothing at all is known about a previous leader.
    Cautious,
    /// The win waits at least this long after our record was first observed, and never for less time than with
    /// `Automatic`.
    Fixed(Duration),
}

impl WinDelay {
    /// The shortest delay that this setting demands, whatever else the win waits for. For a cautious candidate that is
    /// `cautious`.
    pub(crate) fn least(self, cautious: Duration) -> Duration {
        match self {
            Self::Automatic => Duration::ZERO,
            Self::Cautious => cautious,
            Self::Fixed(least) => least,
        }
    }
}

/// The settings of a candidate. The store and [`Campaign::new`](super::Campaign::new) may refuse or shorten some of
/// them.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The candidate's name, which other candidates see: 1 to 255 bytes, one line without surrounding spaces.
    pub name: String,
    /// Bounds and defaults.
    pub preset: Preset,
    /// The lease time `T`. `None` takes the store's maximum age if all its records share it, else the preset's lease,
    /// but never more than the maximum age.
    pub lease: Option<Duration>,
    /// The largest difference between the store's clocks; `None`: `T/20`, at most 1 s.
    pub skew: Option<Duration>,
    /// The largest drift of each clock, in parts per million. 5,000 (0.5 %) by default. Two clocks measure a lease, the
    /// leader's and either the store's or a waiting candidate's, so the margin allows for twice as much.
    pub drift_ppm: u32,
    /// The time lost between reading the clock and acting on it; `None`: `T/20`, at most 250 ms.
    pub slack: Option<Duration>,
    /// The wait before a win is reported.
    pub win_delay: WinDelay,
    /// The longest wait before the first campaign; `None`: `T/10`, at most 1 s. Zero disables it.
    pub splay: Option<Duration>,
    /// The time that a leader has to finish its work when it leaves on its own. 10 s by default.
    pub drain: Duration,
    /// The interval at which a candidate reads the key while the watch is silent; `None`: when the last record that it
    /// saw should have expired.
    pub interval: Option<Duration>,
    /// The wait of a candidate after a failure.
    pub backoff: Backoff,
    /// The metadata that the leader publishes: pairs of a key (letters, digits, `-`) and a text of one line.
    pub metadata: Vec<(String, String)>,
}

impl Settings {
    /// The defaults, for a candidate of this name.
    pub fn new(name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            preset: Preset::Standard,
            lease: None,
            skew: None,
            drift_ppm: 5_000,
            slack: None,
            win_delay: WinDelay::Automatic,
            splay: None,
            drain: Duration::from_secs(10),
            interval: None,
            backoff: Backoff::Standard,
            metadata: Vec::new(),
        }
    }
}

/// A setting that was refused, and what to do about it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InvalidSettings {
    /// The setting's name.
    pub setting: &'static str,
    /// The setting's value.
    pub value: String,
    /// The allowed values.
    pub limit: Text,
    /// The remedy.
    pub remedy: Text,
}

impl InvalidSettings {
    /// The whole message, with `value` in place of the parsed value.
    pub fn text(&self, value: &str) -> Text {
        let is = Text::setting(self.setting).and(" is ").and(value).and(", and must be ");
        is.and(self.limit.clone()).and(": ").and(self.remedy.clone())
    }
}

impl fmt::Display for InvalidSettings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text(&self.value).spelled(Names::Rust))
    }
}

impl core::error::Error for InvalidSettings {}

/// The shortest interval between reads: each one costs the store.
const SHORTEST_INTERVAL: Duration = Duration::from_millis(100);

/// The longest metadata, keys and texts together, in bytes: it travels with every renewal.
const METADATA_LIMIT: usize = 4096;

/// The rules that follow from a candidate's settings over a key.
pub(super) type Rules = candidacy::Rules<Own>;

/// The rules that only a candidate over a key has.
#[derive(Clone, Debug, PartialEq)]
pub struct Own {
    pub(super) interval: Option<Duration>,
    pub(super) store: Capabilities,
}

/// The rules of these settings over the keys of a store.
pub(super) fn rules(
    settings: Settings,
    store: Capabilities,
    info: &StoreInfo,
) -> Result<Rules, InvalidSettings> {
    check_candidate(&settings)?;
    let lease = lease_in_force(&settings, &store, info)?;
    let (margin, preset) = (Margin::set_by(&settings), settings.preset);
    let own = Own { interval: settings.interval, store };
    let rules = Rules::new(settings, lease, margin, (lease / 10).min(Duration::from_secs(1)), own);
    check_margin(lease, margin)?;
    rules.check_interval(preset)?;
    Ok(rules)
}

impl Rules {
    /// The longest silence of the store before a leader loses its term, in the worst case: the silence begins just
    /// before a renewal.
    pub(super) fn survives(&self) -> Duration {
        (self.lease - self.margin.of(self.lease)).saturating_sub(pace::renew_every(self.lease))
    }

    fn check_interval(&self, preset: Preset) -> Result<(), InvalidSettings> {
        let Some(interval) = self.own.interval else { return Ok(()) };
        if preset == Preset::GoCompatible {
            let five = Duration::from_secs(5);
            let most = self.lease.saturating_sub(five);
            if interval < five || interval > most {
                return Err(refusals::interval_outside_go(interval, five, most));
            }
        } else if interval < SHORTEST_INTERVAL {
            return Err(refusals::interval_too_short(interval, SHORTEST_INTERVAL));
        }
        Ok(())
    }
}

/// The margin between a deadline and the end of the lease: `M = skew + 2·drift·T + slack`.
///
/// The leader's clock may be slow by `drift`, and the clock of the waiting candidate or the store fast by as much. The
/// leader's clock measures `T - M` in a real `(T - M) / (1 - drift)`, the fast clock measures `T` in a real
/// `T / (1 + drift)`, and the first time must not be longer.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Margin {
    skew: Option<Duration>,
    drift_ppm: u32,
    slack: Option<Duration>,
}

impl Margin {
    pub(crate) fn set_by(settings: &Settings) -> Self {
        Self { skew: settings.skew, drift_ppm: settings.drift_ppm, slack: settings.slack }
    }

    /// If only durations count, and no server's time of day, the skew is zero unless the user sets one.
    pub(crate) fn of_durations(settings: &Settings) -> Self {
        Self { skew: settings.skew.or(Some(Duration::ZERO)), ..Self::set_by(settings) }
    }

    pub(crate) fn of(&self, lease: Duration) -> Duration {
        let parts = 2 * u64::from(self.drift_ppm);
        let drift = match nanos(lease).checked_mul(parts) {
            Some(product) => product / 1_000_000,
            // Numbers of 128 bits are divided slowly.
            None => {
                u64::try_from(lease.as_nanos().saturating_mul(parts.into()) / 1_000_000).unwrap_or(u64::MAX)
            }
        };
        let drift = Duration::from_nanos(drift);
        let slack = self.slack.unwrap_or_else(|| (lease / 20).min(Duration::from_millis(250)));
        self.skew(lease).saturating_add(drift).saturating_add(slack)
    }

    pub(super) fn skew(&self, lease: Duration) -> Duration {
        self.skew.unwrap_or_else(|| (lease / 20).min(Duration::from_secs(1)))
    }
}

/// Whether a lease leaves enough time beyond its margin, and for one retry of a renewal.
pub(crate) fn check_margin(lease: Duration, margin: Margin) -> Result<(), InvalidSettings> {
    let has_time = |lease: Duration| lease >= margin.of(lease).saturating_mul(5);
    let under_any = || {
        let of_longest = rounded(margin.of(LONGEST_LEASE));
        refusals::lease_under_any_margin(lease, of_longest, LONGEST_LEASE)
    };
    if !has_time(lease) {
        return Err(match shortest(lease, has_time) {
            Some(least) => refusals::lease_under_margin(lease, least, rounded(margin.of(least))),
            None => under_any(),
        });
    }
    let retry = FIRST * (100 + STRAY_PERCENT) / 100;
    let retried = |lease| pace::renew_every(lease) + pace::attempt_limit(lease) + retry;
    let has_retry = |lease: Duration| has_time(lease) && retried(lease) <= lease - margin.of(lease);
    if !has_retry(lease) {
        return Err(match shortest(lease, has_retry) {
            Some(least) => {
                let (retried, margin) = (rounded(retried(least)), rounded(margin.of(least)));
                refusals::lease_without_retry(lease, least, retried, margin)
            }
            None => under_any(),
        });
    }
    Ok(())
}

/// The shortest lease above `refused`, in tenths of a second, that is long enough; `None` if even a year is not.
fn shortest(refused: Duration, is_enough: impl Fn(Duration) -> bool) -> Option<Duration> {
    let tenths = |count: u64| Duration::from_millis(count * 100);
    let mut long = LONGEST_LEASE.as_secs() * 10;
    let mut short = (refused.as_secs() * 10).min(long);
    if !is_enough(tenths(long)) {
        return None;
    }
    while short + 1 < long {
        let between = short + (long - short) / 2;
        if is_enough(tenths(between)) { long = between } else { short = between }
    }
    Some(tenths(long))
}

/// The default margin of a lease of this length: the time from the leader's deadline to the end of the lease.
pub fn default_margin(lease: Duration) -> Duration {
    Margin::set_by(&Settings::new("")).of(lease)
}

/// Whether a candidate can have this name: 1 to 255 bytes on one line, because a hand-over sends it in a header.
///
/// # Errors
/// Returns the problem, and a remedy.
pub fn check_name(name: &str) -> Result<(), InvalidSettings> {
    if name.is_empty() || name.len() > 255 {
        return Err(refusals::name_length(name.len() as u64));
    }
    if name.chars().any(char::is_control) || name.trim() != name {
        return Err(refusals::name_form(name));
    }
    Ok(())
}

/// The checks that every rule makes first.
pub(crate) fn check_candidate(settings: &Settings) -> Result<(), InvalidSettings> {
    check_name(&settings.name)?;
    check_metadata(&settings.metadata)
}

/// Refuses settings that only make sense for a bucket's records.
pub(crate) fn refuse_bucket_settings(
    settings: &Settings,
    preset: fn() -> InvalidSettings,
    interval: fn(Duration) -> InvalidSettings,
) -> Result<(), InvalidSettings> {
    if settings.preset == Preset::GoCompatible {
        return Err(preset());
    }
    settings.interval.map_or(Ok(()), |given| Err(interval(given)))
}

fn check_metadata(metadata: &[(String, String)]) -> Result<(), InvalidSettings> {
    let size = metadata.iter().map(|(key, text)| key.len() + text.len()).sum::<usize>();
    if size > METADATA_LIMIT {
        return Err(refusals::metadata_length(size as u64, METADATA_LIMIT as u64));
    }
    for (key, text) in metadata {
        if key.is_empty() || !key.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-') {
            return Err(refusals::metadata_key(key));
        }
        if text.chars().any(char::is_control) || text.trim() != text {
            return Err(refusals::metadata_text(text));
        }
    }
    Ok(())
}

/// The lease time `T`: the configured lease or the store's maximum age, whichever is shorter.
fn lease_in_force(
    settings: &Settings,
    store: &Capabilities,
    info: &StoreInfo,
) -> Result<Duration, InvalidSettings> {
    let lease = settings.lease.unwrap_or_else(|| match info.max_age {
        // The Go library takes its lease from the bucket.
        Some(age) if !store.own_lease || settings.preset == Preset::GoCompatible => age,
        Some(age) => age.min(settings.preset.lease()),
        None => settings.preset.lease(),
    });
    let (least, most) = settings.preset.bounds();
    if lease < least {
        let is_for_fast = settings.preset == Preset::Standard && lease >= Preset::Fast.bounds().0;
        let refused = if is_for_fast { refusals::lease_for_fast } else { refusals::lease_under_preset };
        return Err(refused(lease, least));
    }
    if lease > most {
        let is_gos = settings.preset == Preset::GoCompatible;
        let refused = if is_gos { refusals::lease_over_go } else { refusals::lease_over_longest };
        return Err(refused(lease, most));
    }
    match info.max_age {
        None if store.own_lease => {}
        None => return Err(refusals::no_age(lease)),
        Some(age) if lease > age => return Err(refusals::lease_over_age(lease, age)),
        Some(age) if lease != age && !store.own_lease => {
            return Err(refusals::lease_is_not_age(lease, age));
        }
        Some(age) if lease != age && settings.preset == Preset::GoCompatible => {
            return Err(refusals::lease_is_not_gos(lease, age));
        }
        Some(_) => {}
    }
    if lease < store.shortest || lease > store.longest {
        return Err(refusals::lease_outside_store(lease, store.shortest, store.longest));
    }
    let step = store.lease_step.as_nanos();
    if info.max_age != Some(lease) && step > 0 && !lease.as_nanos().is_multiple_of(step) {
        return Err(refusals::lease_between_steps(lease, store.lease_step));
    }
    Ok(lease)
}

#[cfg(test)]
mod tests {
    use super::*;

    const DEFAULTS: Margin = Margin { skew: None, drift_ppm: 5_000, slack: None };

    #[test]
    fn the_default_margin_is_in_proportion_up_to_a_second_and_a_quarter_and_the_drift_of_two_clocks() {
        let margins = [1, 5, 20, 30, 3600].map(|secs| DEFAULTS.of(Duration::from_secs(secs)).as_millis());
        assert_eq!(
            [1, 5, 20, 30, 3600].map(|secs| default_margin(Duration::from_secs(secs)).as_millis()),
            margins
        );
        assert_eq!(
            margins,
            [
                50 + 2 * 5 + 50,
                250 + 2 * 25 + 250,
                1000 + 2 * 100 + 250,
                1000 + 2 * 150 + 250,
                1000 + 2 * 18_000 + 250
            ]
        );
    }

    #[test]
    fn what_is_set_counts_instead_of_the_default() {
        let second = Duration::from_secs(1);
        let margin = Margin { skew: Some(second), drift_ppm: 0, slack: Some(second) };
        assert_eq!(margin.of(Duration::from_secs(5)), second * 2);
        assert_eq!(margin.skew(Duration::from_secs(5)), second);
    }

    #[test]
    fn a_margin_never_overflows() {
        let margin = Margin { skew: Some(Duration::MAX), drift_ppm: u32::MAX, slack: Some(Duration::MAX) };
        assert_eq!(margin.of(Duration::MAX), Duration::MAX);
    }
}
