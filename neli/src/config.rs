//! goNELI's configuration: its settings, defaults and limits.

use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;
use std::time::{Duration, SystemTime};

use futures_util::FutureExt;

use super::event::{Barrier, Event};
use super::pulses::Pace;
use incumbent::store::kafka::refusals;
use incumbent::store::{KafkaSettings, StoreSettings};
use incumbent::text::Text;
use incumbent::{CampaignOptions, Error, ErrorKind, Preset, Result, host};

/// goNELI's heartbeat timeout (`config.go`), and the shortest lease of the standard preset.
const HEARTBEAT_TIMEOUT: Duration = Duration::from_secs(5);
/// The shortest lease in a group; goNELI's limit is 1 ms.
const SHORTEST_TIMEOUT: Duration = Duration::from_secs(1);
/// goNELI's minimum for both poll settings.
pub(super) const SHORTEST_POLL: Duration = Duration::from_millis(1);
/// The number of heartbeat timeouts in a session, in goNELI and here.
const SESSION: u32 = 3;

/// The configuration of a [`Neli`](super::Neli), with goNELI's names and defaults.
///
/// ```
/// use incumbent_neli::Config;
///
/// let config = Config::new()
///     .kafka("bootstrap.servers", "a:9092,b:9092")
///     .kafka("security.protocol", "sasl_ssl")
///     .kafka("sasl.mechanism", "SCRAM-SHA-256")
///     .kafka("sasl.username", "user")
///     .kafka("sasl.password", "secret")
///     .leader_group("my-app.group");
/// assert_eq!(config.validate(), Ok(()));
///
/// let refused = Config::new().kafka("group.id", "another").validate().unwrap_err();
/// assert!(refused.contains("cannot override"));
/// ```
#[must_use = "a configuration does nothing until it is given to `Neli::new`"]
pub struct Config {
    kafka: BTreeMap<String, String>,
    leader_topic: Option<String>,
    leader_group: Option<String>,
    name: Option<String>,
    heartbeat_timeout: Duration,
    pace: Pace,
    drain: Option<Duration>,
    compatible: bool,
    create_topic: bool,
    barrier: Barrier,
}

/// A configuration that has passed every check.
pub(super) struct Checked {
    pub(super) settings: StoreSettings,
    /// The group, which is the election's key.
    pub(super) group: String,
    pub(super) options: CampaignOptions,
    pub(super) pace: Pace,
    pub(super) barrier: Barrier,
}

impl Config {
    /// goNELI's defaults.
    pub fn new() -> Self {
        Self {
            kafka: BTreeMap::new(),
            leader_topic: None,
            leader_group: None,
            name: None,
            heartbeat_timeout: HEARTBEAT_TIMEOUT,
            pace: Pace::default(),
            drain: None,
            compatible: true,
            create_topic: true,
            barrier: Box::new(|_| async {}.boxed()),
        }
    }

    /// Sets a property of the Kafka clients. `bootstrap.servers` is `localhost:9092` by default.
    ///
    /// `max.poll.interval.ms` is [`max_poll_interval`](Self::max_poll_interval), and `group.instance.id` makes a static
    /// member. Properties on which the election depends are refused: goNELI's `group.id`, `enable.auto.commit`,
    /// `session.timeout.ms`, `delivery.timeout.ms` and `linger.ms`, and those that [`KafkaSettings::property`] refuses.
    pub fn kafka(mut self, property: impl Into<String>, value: impl Into<String>) -> Self {
        self.kafka.insert(property.into(), value.into());
        self
    }

    /// Sets the consumer group whose members elect a leader; the program's file name by default.
    pub fn leader_group(mut self, group: impl Into<String>) -> Self {
        self.leader_group = Some(group.into());
        self
    }

    /// Sets the leader topic; by default the group's name followed by `.neli`.
    pub fn leader_topic(mut self, topic: impl Into<String>) -> Self {
        self.leader_topic = Some(topic.into());
        self
    }

    /// Sets the name of this member, which must not contain `%`. By default it is `HOST_PID_TIME`, with the time in
    /// seconds since 1970.
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.name = Some(name.into());
        self
    }

    /// Sets the lease: the time after which a leader without proof is fenced. It is 5 s by default, and 1 s at least.
    /// The member's session timeout, after which a crash is noticed, is three times as long.
    pub fn heartbeat_timeout(mut self, timeout: Duration) -> Self {
        self.heartbeat_timeout = timeout;
        self
    }

    /// Sets the shortest time between two polls, for [`Neli::deadline`](super::Neli::deadline); 100 ms by default, 1 ms
    /// at least. This time does not delay leadership, because the store itself keeps up with the group.
    pub fn min_poll_interval(mut self, interval: Duration) -> Self {
        self.pace.min_poll_interval = interval;
        self
    }

    /// Sets the shortest time for which a polling pulse waits, even with a shorter timeout. It is 1 ms by default and
    /// at least.
    pub fn poll_duration(mut self, duration: Duration) -> Self {
        self.pace.poll_duration = duration;
        self
    }

    /// Sets the longest time between two pulses. A program that is silent for longer leaves the group until its next
    /// pulse. It is 5 min by default, and three heartbeat timeouts at least. The property `max.poll.interval.ms` sets
    /// it too.
    pub fn max_poll_interval(mut self, interval: Duration) -> Self {
        self.pace.max_poll_interval = interval;
        self.kafka.remove("max.poll.interval.ms");
        self
    }

    /// Sets the longest time that a revocation waits for the barrier and a running task; 10 s by default. goNELI waits
    /// for `max.poll.interval.ms`.
    pub fn drain(mut self, limit: Duration) -> Self {
        self.drain = Some(limit);
        self
    }

    /// Sets whether members of goNELI may share the group; true by default. In a group without them, false keeps the
    /// leader in place when a member joins, and sends five heartbeats per heartbeat timeout instead of ten a second.
    /// All members of a group must choose the same.
    pub fn compatible(mut self, compatible: bool) -> Self {
        self.compatible = compatible;
        self
    }

    /// Sets whether a missing topic is created; true by default.
    pub fn create_topic(mut self, create: bool) -> Self {
        self.create_topic = create;
        self
    }

    /// Sets the function that is called for each [`Event`], one call after another, on a separate task.
    pub fn barrier<F, Fut>(mut self, mut barrier: F) -> Self
    where
        F: FnMut(Event) -> Fut + Send + 'static,
        Fut: Future<Output = ()> + Send + 'static,
    {
        self.barrier = Box::new(move |event| barrier(event).boxed());
        self
    }

    /// Checks the settings without a connection. The error is that of [`Neli::new`](super::Neli::new).
    ///
    /// # Errors
    /// The message of the first setting that is refused.
    pub fn validate(&self) -> Result<(), String> {
        self.settings().map(drop).map_err(|error| error.to_string())
    }

    pub(super) fn check(self) -> Result<Checked> {
        let (settings, group, pace) = self.settings()?;
        let name = self.name.unwrap_or_else(default_name);
        let mut options = CampaignOptions::new().name(name).lease(self.heartbeat_timeout);
        if self.heartbeat_timeout < HEARTBEAT_TIMEOUT {
            options = options.preset(Preset::Fast);
        }
        if let Some(drain) = self.drain {
            options = options.drain(drain);
        }
        let settings = StoreSettings::Kafka(Box::new(settings));
        Ok(Checked { settings, group, options, pace, barrier: self.barrier })
    }

    /// The store's settings, the group, and the pace of pulses. A property may set the pace.
    fn settings(&self) -> Result<(KafkaSettings, String, Pace)> {
        let group = self.leader_group.clone().unwrap_or_else(default_group);
        let topic = self.leader_topic.clone().unwrap_or_else(|| format!("{group}.neli"));
        check_kafka_name("leader_group", &group)?;
        check_kafka_name("leader_topic", &topic)?;
        if let Some(name) = self.name.as_ref().filter(|name| name.is_empty() || name.contains('%')) {
            return Err(refused(refusals::neli_name(name)));
        }
        let mut pace = self.pace;
        let servers = self.kafka.get("bootstrap.servers").map_or("localhost:9092", String::as_str);
        let mut settings = KafkaSettings::new(servers)?;
        for (property, value) in &self.kafka {
            settings = match property.as_str() {
                "bootstrap.servers" => settings,
                "max.poll.interval.ms" => {
                    let millis =
                        value.parse().map_err(|_| refused(refusals::neli_millis(property, value)))?;
                    pace.max_poll_interval = Duration::from_millis(millis);
                    settings
                }
                "group.instance.id" => settings.instance_id(value),
                _ => settings.property(property, value)?,
            };
        }
        for (setting, value, limit) in [
            ("min_poll_interval", pace.min_poll_interval, SHORTEST_POLL),
            ("poll_duration", pace.poll_duration, SHORTEST_POLL),
            ("heartbeat_timeout", self.heartbeat_timeout, SHORTEST_TIMEOUT),
            ("max_poll_interval", pace.max_poll_interval, self.heartbeat_timeout.saturating_mul(SESSION)),
        ] {
            if value < limit {
                return Err(refused(refusals::neli_short(setting, value, limit)));
            }
        }
        Ok((settings.topic(topic).goneli(self.compatible).create_topics(self.create_topic), group, pace))
    }
}

impl Default for Config {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for Config {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The values of properties may be secrets.
        f.debug_struct("Config")
            .field("kafka", &self.kafka.keys())
            .field("leader_group", &self.leader_group)
            .field("leader_topic", &self.leader_topic)
            .field("name", &self.name)
            .field("heartbeat_timeout", &self.heartbeat_timeout)
            .field("pace", &self.pace)
            .field("drain", &self.drain)
            .field("compatible", &self.compatible)
            .field("create_topic", &self.create_topic)
            .finish_non_exhaustive()
    }
}

/// Replaces every character that is not allowed in a Kafka name by `_`: ASCII alphanumerics, `.`, `_` and `-` stay.
///
/// ```
/// assert_eq!(incumbent_neli::sanitise("my app%1.neli"), "my_app_1.neli");
/// ```
pub fn sanitise(name: &str) -> String {
    name.chars().map(|c| if is_plain(c) { c } else { '_' }).collect()
}

fn is_plain(c: char) -> bool {
    c.is_ascii_alphanumeric() || "._-".contains(c)
}

fn check_kafka_name(setting: &'static str, name: &str) -> Result<()> {
    if !name.is_empty() && name.chars().all(is_plain) {
        return Ok(());
    }
    Err(refused(refusals::neli_plain_name(setting, name)))
}

fn refused(text: Text) -> Error {
    Error::named(ErrorKind::InvalidSetting, text)
}

/// The program's file name.
fn default_group() -> String {
    let program = std::env::args_os().next().unwrap_or_default();
    let name = Path::new(&program).file_name().unwrap_or_default().to_string_lossy();
    if name.is_empty() { "incumbent".into() } else { sanitise(&name) }
}

fn default_name() -> String {
    let since_1970 = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    format!("{}_{}_{}", sanitise(&host()), std::process::id(), since_1970.as_secs())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(config: Config) -> String {
        config.validate().unwrap_err()
    }

    #[test]
    fn the_defaults_are_gonelis() {
        let config = Config::new();
        assert_eq!(config.validate(), Ok(()));
        let pace = Pace {
            min_poll_interval: Duration::from_millis(100),
            poll_duration: Duration::from_millis(1),
            max_poll_interval: Duration::from_millis(300_000),
        };
        assert_eq!((config.pace, config.heartbeat_timeout), (pace, Duration::from_secs(5)));
        let (settings, group, _) = config.settings().unwrap();
        let program = std::env::current_exe().unwrap().file_name().unwrap().to_string_lossy().into_owned();
        assert_eq!(group, sanitise(&program));
        assert_eq!(settings.topic_of(&group), format!("{group}.neli"));
        assert_eq!(settings.servers_shown(), "localhost:9092");
        assert!(settings.group().goneli);
    }

    #[test]
    fn a_name_is_the_host_the_process_and_the_time() {
        let name = default_name();
        let mut parts = name.rsplitn(3, '_');
        let seconds: u64 = parts.next().unwrap().parse().unwrap();
        assert!(seconds > 1_600_000_000, "{name}");
        assert_eq!(parts.next().unwrap(), std::process::id().to_string());
        assert_eq!(parts.next().unwrap(), sanitise(&host()));
    }

    #[test]
    fn the_group_and_the_topic_are_those_of_the_clients() {
        let config = Config::new().leader_group("app.group").leader_topic("app.topic");
        let (settings, group, _) = config.kafka("bootstrap.servers", "a:1,b:2").settings().unwrap();
        assert_eq!(
            (settings.group_of(&group), settings.topic_of(&group)),
            ("app.group".into(), "app.topic".into())
        );
        assert_eq!(settings.servers_shown(), "a:1, b:2");
    }

    #[test]
    fn what_goneli_refuses_is_refused_with_the_setting_its_value_and_the_limit() {
        assert_eq!(
            refused(Config::new().name("some%thing")),
            "`name` is \"some%thing\", and must not contain %, which separates the time from the name in a heartbeat: \
             change it, or use `sanitise`"
        );
        assert_eq!(
            refused(Config::new().leader_topic("topic$#")),
            "`leader_topic` is \"topic$#\", and must consist of ASCII alphanumerics, '.', '_' and '-': change it, or \
             use \
             `sanitise`"
        );
        assert!(refused(Config::new().leader_group("")).starts_with("`leader_group` is \"\""));
        for (config, expected) in [
            (
                Config::new().min_poll_interval(Duration::ZERO),
                "`min_poll_interval` is 0ns, and must be at least 1ms",
            ),
            (Config::new().poll_duration(Duration::ZERO), "`poll_duration` is 0ns, and must be at least 1ms"),
            (
                Config::new().heartbeat_timeout(Duration::from_millis(999)),
                "`heartbeat_timeout` is 999ms, and must be at least 1s",
            ),
            (
                Config::new().kafka("max.poll.interval.ms", "14999"),
                "`max_poll_interval` is 14.999s, and must be at least 15s",
            ),
        ] {
            assert_eq!(refused(config), format!("{expected}: use a longer time"));
        }
    }

    #[test]
    fn gonelis_forbidden_properties_are_refused_by_name() {
        for property in
            ["group.id", "enable.auto.commit", "session.timeout.ms", "delivery.timeout.ms", "linger.ms"]
        {
            let message = refused(Config::new().kafka(property, "1"));
            assert!(message.contains("cannot override") && message.contains(property), "{message}");
        }
    }

    #[test]
    fn properties_that_are_settings_here_are_taken_over() {
        let config = Config::new().kafka("max.poll.interval.ms", "60000").kafka("group.instance.id", "one");
        let (settings, _, pace) = config.settings().unwrap();
        assert_eq!(pace.max_poll_interval, Duration::from_secs(60));
        assert!(format!("{settings:?}").contains("one"), "{settings:?}");
        assert!(
            refused(Config::new().kafka("max.poll.interval.ms", "1m")).contains("number of milliseconds")
        );
    }

    #[test]
    fn debug_output_shows_no_password() {
        let config = Config::new().kafka("sasl.password", "hunter2");
        assert!(!format!("{config:?}").contains("hunter2"));
    }

    #[test]
    fn a_short_timeout_is_a_lease_of_the_fast_preset() {
        let options =
            |timeout| format!("{:?}", Config::new().heartbeat_timeout(timeout).check().unwrap().options);
        let fast = options(Duration::from_secs(2));
        assert!(fast.contains("preset: Fast, lease: Some(2s)"), "{fast}");
        let standard = options(Duration::from_secs(5));
        assert!(standard.contains("preset: Standard, lease: Some(5s)"), "{standard}");
    }
}
