//! The options of a candidate.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use incumbent_core::campaign::{Backoff, Forecast, Preset, Settings, WinDelay};
#[cfg(feature = "etcd")]
use incumbent_core::queue::Server;
use incumbent_core::store::{Capabilities, StoreInfo};

use crate::health::{HealthCheck, LoopProbe, LoopWatch};

/// The number of consecutive failures for which a custom back-off is evaluated in advance.
const ASKED: u32 = 64;

/// The options of a candidate: its name, its timing, its metadata.
///
/// Every setting has a default that suits leases of 5 s or more. [`Store::campaign`](crate::Store::campaign) refuses
/// settings that do not fit each other or the store, and its error names the setting, its value, the limit and the
/// remedy.
///
/// ```
/// use std::time::Duration;
/// use incumbent::{CampaignOptions, Preset};
///
/// let options = CampaignOptions::new()
///     .name("worker-7")
///     .preset(Preset::Fast)
///     .lease(Duration::from_secs(2))
///     .metadata("address", "10.0.0.7:8080");
/// # drop(options);
/// ```
#[derive(Clone)]
#[must_use = "options do nothing until they are given to `Store::campaign`"]
pub struct CampaignOptions {
    name: Option<String>,
    preset: Preset,
    lease: Option<Duration>,
    skew: Option<Duration>,
    drift_ppm: Option<u32>,
    slack: Option<Duration>,
    win_delay: WinDelay,
    splay: Option<Duration>,
    drain: Option<Duration>,
    interval: Option<Duration>,
    backoff: Wait,
    metadata: Vec<(String, String)>,
    pub(crate) healthy: bool,
    pub(crate) health: Option<HealthCheck>,
    pub(crate) watched: Option<LoopWatch>,
}

#[derive(Clone)]
enum Wait {
    Standard,
    Fixed(Duration),
    Table(Arc<[Duration]>),
}

impl CampaignOptions {
    /// Returns the defaults: a name after the host and the process, the standard preset, and the store's lease.
    pub fn new() -> Self {
        Self {
            name: None,
            preset: Preset::default(),
            lease: None,
            skew: None,
            drift_ppm: None,
            slack: None,
            win_delay: WinDelay::default(),
            splay: None,
            drain: None,
            interval: None,
            backoff: Wait::Standard,
            metadata: Vec::new(),
            healthy: true,
            health: None,
            watched: None,
        }
    }

    /// The candidate's name, which other candidates see: 1 to 255 bytes, one line without surrounding spaces; by
    /// default HOST-PID, from the host and the process. Each candidate of an election has a different one.
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.name = Some(name.into());
        self
    }

    /// The bounds and defaults of all timing settings; by default the standard one, with leases of 5 s and more.
    pub fn preset(mut self, preset: Preset) -> Self {
        self.preset = preset;
        self
    }

    /// The lease duration: the time for which no other candidate leads after a leader crashes; by default the store's
    /// maximum age if all its records share it, else the preset's lease, never longer than the store's maximum age.
    pub fn lease(mut self, lease: Duration) -> Self {
        self.lease = Some(lease);
        self
    }

    /// The largest disagreement between the clocks of the store's servers; by default a twentieth of the lease, at most
    /// 1 s; none on etcd and Kafka. It is a part of the margin, because another server may expire the record.
    pub fn skew(mut self, skew: Duration) -> Self {
        self.skew = Some(skew);
        self
    }

    /// The largest gain or loss of each clock, in parts per million; by default 5,000, which is 0.5 %. The margin
    /// counts it twice: for the leader's clock, and for that of the store or of a waiting candidate.
    pub fn drift_ppm(mut self, ppm: u32) -> Self {
        self.drift_ppm = Some(ppm);
        self
    }

    /// The time between reading the clock and acting on it; by default a twentieth of the lease, at most 250 ms. It is
    /// a part of the margin.
    pub fn slack(mut self, slack: Duration) -> Self {
        self.slack = Some(slack);
        self
    }

    /// The time that a new holder waits before it leads; by default automatic, which is as long as a previous leader
    /// may still believe that it leads. With cautious it also waits a lease if no previous leader is known; a time is a
    /// minimum.
    pub fn win_delay(mut self, delay: WinDelay) -> Self {
        self.win_delay = delay;
        self
    }

    /// The longest random wait before the first campaign, so that a fleet that starts together does not campaign
    /// together; by default a tenth of the lease, at most 1 s. Zero for no wait.
    pub fn splay(mut self, splay: Duration) -> Self {
        self.splay = Some(splay);
        self
    }

    /// The time that a leader has to finish its work when it leaves on its own; by default 10 s.
    pub fn drain(mut self, drain: Duration) -> Self {
        self.drain = Some(drain);
        self
    }

    /// The interval between a candidate's reads of the key while the watch is silent; by default it reads when the last
    /// record that it saw should have expired.
    pub fn interval(mut self, interval: Duration) -> Self {
        self.interval = Some(interval);
        self
    }

    /// The wait of a candidate after a failure; by default 100 ms, doubled up to 1 s, 20 % more or less. It does not
    /// apply to a leader, which repeats a failed renewal as fast as its deadline demands.
    ///
    /// The rule is called now, for 1 to 64 failures, and its last answer applies to all further failures: user code
    /// never runs on the driver.
    pub fn backoff(mut self, rule: impl FnMut(u32) -> Duration) -> Self {
        self.backoff = Wait::Table((1..=ASKED).map(rule).collect());
        self
    }

    /// A constant wait of a candidate after every failure.
    pub fn fixed_backoff(mut self, wait: Duration) -> Self {
        self.backoff = Wait::Fixed(wait);
        self
    }

    /// What the leader publishes about itself: keys of alphanumeric ASCII characters and '-', and texts of one line,
    /// 4,096 bytes in all; by default nothing.
    pub fn metadata(mut self, key: impl Into<String>, text: impl Into<String>) -> Self {
        self.metadata.push((key.into(), text.into()));
        self
    }

    /// Whether the candidate is healthy until [`set_healthy`](crate::Candidate::set_healthy) is called for the first
    /// time; true by default. An unhealthy candidate does not campaign.
    pub fn healthy(mut self, is_well: bool) -> Self {
        self.healthy = is_well;
        self
    }

    /// Calls `check` every `interval` to find out whether this candidate is healthy. An unhealthy candidate does not
    /// campaign; an unhealthy leader drains and leaves. Before the first answer the candidate does not campaign.
    ///
    /// The check runs on a separate task, on the runtime that calls [`Store::campaign`](crate::Store::campaign). A
    /// check that panics, or takes longer than `interval`, counts as unhealthy.
    pub fn health_check<F, Fut>(mut self, interval: Duration, check: F) -> Self
    where
        F: Fn() -> Fut + Send + Sync + 'static,
        Fut: Future<Output = bool> + Send + 'static,
    {
        self.health = Some(HealthCheck::new(interval, check));
        self.healthy(false)
    }

    /// Watches an event loop that is not tokio's, such as that of a user interface: while this candidate leads, a loop that
    /// does not respond for `limit` makes it unhealthy until the loop responds again. The default limit is the lease
    /// duration in force.
    ///
    /// The loop is probed four times per limit, and not at all while none of its candidates leads. The watch is
    /// independent of the [health check](Self::health_check) and of [`set_healthy`](crate::Candidate::set_healthy): a
    /// candidate is healthy if both agree.
    pub fn watch_loop(mut self, probe: &LoopProbe, limit: Option<Duration>) -> Self {
        self.watched = Some(LoopWatch::new(probe, limit));
        self
    }

    /// The candidate's public name.
    pub(crate) fn candidate(&self) -> String {
        self.name.clone().unwrap_or_else(default_name)
    }

    /// Returns the settings of one campaign on a store that result from these options, in numbers.
    ///
    /// # Errors
    /// `InvalidSetting` for settings that [`Store::campaign`](crate::Store::campaign) would refuse.
    pub fn forecast(&self, store: Capabilities, info: &StoreInfo) -> incumbent_store::Result<Forecast> {
        Ok(Forecast::new(self.settings(), store, info)?)
    }

    /// Returns the settings of one campaign that result from these options, on a store whose elections are queues.
    /// `server` is what is known of its servers.
    ///
    /// # Errors
    /// Those of [`forecast`](Self::forecast).
    #[cfg(feature = "etcd")]
    pub fn forecast_in_queue(&self, server: Server) -> incumbent_store::Result<Forecast> {
        Ok(server.forecast(self.settings())?)
    }

    pub(crate) fn settings(&self) -> Settings {
        let defaults = Settings::new(self.candidate());
        Settings {
            preset: self.preset,
            lease: self.lease,
            skew: self.skew,
            drift_ppm: self.drift_ppm.unwrap_or(defaults.drift_ppm),
            slack: self.slack,
            win_delay: self.win_delay,
            splay: self.splay,
            drain: self.drain.unwrap_or(defaults.drain),
            interval: self.interval,
            backoff: self.backoff.rule(),
            metadata: self.metadata.clone(),
            ..defaults
        }
    }
}

impl Default for CampaignOptions {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for CampaignOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.settings(), f)
    }
}

impl Wait {
    fn rule(&self) -> Backoff {
        match self {
            Self::Standard => Backoff::Standard,
            Self::Fixed(wait) => Backoff::Fixed(*wait),
            Self::Table(table) => {
                let table = Arc::clone(table);
                Backoff::Custom(Arc::new(move |failures| {
                    let place = failures.clamp(1, ASKED) - 1;
                    table.get(place as usize).copied().unwrap_or_default()
                }))
            }
        }
    }
}

/// `HOST-PID`, without characters that a name cannot hold.
fn default_name() -> String {
    format!("{}-{}", host(), std::process::id())
}

/// The name of this machine.
#[cfg(unix)]
pub fn host() -> String {
    let system = rustix::system::uname();
    plain(&system.nodename().to_string_lossy())
}

/// The name of this machine.
#[cfg(not(unix))]
pub fn host() -> String {
    plain(&std::env::var("COMPUTERNAME").unwrap_or_default())
}

fn plain(host: &str) -> String {
    let host: String = host.chars().filter(|c| !c.is_control() && !c.is_whitespace()).take(200).collect();
    if host.is_empty() { "host".into() } else { host }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_custom_back_off_is_asked_in_advance_and_its_last_answer_applies_to_further_failures() {
        let mut asked = Vec::new();
        let options = CampaignOptions::new().backoff(|failures| {
            asked.push(failures);
            Duration::from_secs(failures.into())
        });
        assert_eq!(asked, (1..=64).collect::<Vec<_>>());
        let Backoff::Custom(rule) = options.settings().backoff else { panic!("not a custom rule") };
        assert_eq!([1, 7, 64, 65, u32::MAX].map(|n| rule(n).as_secs()), [1, 7, 64, 64, 64]);
    }

    #[test]
    fn a_candidate_is_named_after_its_host_and_process() {
        let name = CampaignOptions::new().settings().name;
        assert!(name.ends_with(&format!("-{}", std::process::id())), "{name}");
        assert!(name.len() > format!("-{}", std::process::id()).len(), "{name}");
    }

    #[test]
    fn what_is_not_set_is_the_cores_default() {
        let (ours, core) = (CampaignOptions::new().name("a").settings(), Settings::new("a"));
        assert_eq!(format!("{ours:?}"), format!("{core:?}"));
    }
}
