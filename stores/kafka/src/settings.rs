//! The settings for reaching a Kafka cluster and for the groups of its elections, and their URL.

mod clients;
mod forbidden;

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use incumbent_core::induction::{Group, Protocol, check_member_name};

use self::forbidden::{FORBIDDEN, OWN};
use super::refusals;
use incumbent_core::text::Text;
use incumbent_store::authority::{Authority, Form};
use incumbent_store::credentials::Secret;
use incumbent_store::selectors;
use incumbent_store::{Error, ErrorKind, Result, Settings as _};

/// The form of a URL, as errors show it.
pub(super) const FORM: &str = "kafka://HOST:9092/PREFIX";
/// The hosts of a URL. The port is Kafka's own default.
const AUTHORITY: Form = Form {
    scheme: "kafka",
    with_tls: "kafkas",
    store: "Kafka",
    host: "broker",
    port: 9092,
    hint: "",
    credentials: "credentials must be user:password@, once and before the first host; write @ in them as %40",
};
/// The default name of a topic, after that of its group, as in goNELI.
const TOPIC: &str = "{group}.neli";
/// The longest name of a topic (Kafka's `Topic.java`).
const LONGEST: usize = 249;
/// The addresses of a Kafka cluster, the groups of its elections, and the credentials for them.
///
/// These settings cover everything that a `kafka://` URL can express, and hold no open resources.
///
/// The election `jobs` runs in the consumer group `jobs`, or `PREFIX.jobs`, on the topic `jobs.neli` or `PREFIX.jobs.neli`.
///
/// ```
/// use incumbent::store::KafkaSettings;
///
/// let settings = KafkaSettings::new("a:9092,b:9092")?
///     .prefix("app")
///     .property("security.protocol", "ssl")?
///     .property("ssl.ca.location", "/etc/app/ca.pem")?;
/// # Ok::<(), incumbent::Error>(())
/// ```
///
/// Reads the URL of elections on Kafka: `kafka://host:9092,host2/PREFIX`. The scheme `kafkas` encrypts; several hosts
/// are separated by commas; `user:password@` is percent-decoded. The parameters:
///
/// <!-- generated: parameters -->
/// | setting | meaning | by default |
/// |---|---|---|
/// | `create=false` | Whether a missing file or topic is created | it is |
/// | `topic=TOPIC` | The name of the leader topic; {group} in it is replaced by the group's name. In a URL the braces are `%7B` and `%7D` | {group}.neli |
/// | `session=15s` | The session timeout of a member, after which a crash is noticed. At least two leases | three leases |
/// | `protocol=consumer` | The protocol, classic or consumer (KIP-848), the same for all members of a group. With consumer the brokers set the session | classic |
/// | `instance_id=ID` | A static member id; a process that restarts within its session keeps its partition. Each process needs its own |  |
/// | `goneli=true` | Whether members that use goNELI share the groups |  |
/// | `sasl=SCRAM-SHA-512` | The SASL mechanism: PLAIN, SCRAM-SHA-256, SCRAM-SHA-512 or OAUTHBEARER | PLAIN with a password, and none without |
/// | `fail_fast=true` | Whether a store that does not answer is an error | candidates wait for it |
/// <!-- end of parameters -->
///
/// A parameter with a `.` in its name is a property of librdkafka, such as `ssl.ca.location` or
/// `socket.timeout.ms`. Properties on which the election depends are refused.
#[derive(Clone)]
pub struct KafkaSettings {
    /// `host:port`.
    hosts: Vec<String>,
    pub(super) prefix: String,
    pub(super) topic: String,
    tls: bool,
    user: Option<(String, Secret)>,
    properties: BTreeMap<String, String>,
    group: Group,
    instance_id: Option<String>,
    create: bool,
    pub(super) fail_fast: bool,
}

impl KafkaSettings {
    /// Settings for one broker, or for several separated by commas, each `host` or `host:port`. The scheme `kafka://`
    /// or `kafkas://` (with TLS) and `user:password@` (SASL, by default PLAIN) may precede the first.
    ///
    /// # Errors
    /// `InvalidUrl` for an invalid broker.
    pub fn new(hosts: &str) -> Result<Self> {
        let (scheme, rest) = hosts.split_once("://").unwrap_or(("kafka", hosts));
        Self::of_authority(scheme, rest)
    }

    pub(super) fn of_authority(scheme: &str, list: &str) -> Result<Self> {
        let Authority { tls, user, hosts } = AUTHORITY.read(scheme, list)?;
        Ok(Self {
            hosts,
            prefix: String::new(),
            topic: TOPIC.into(),
            tls,
            user,
            properties: BTreeMap::new(),
            group: Group::default(),
            instance_id: None,
            create: true,
            fail_fast: false,
        })
    }

    /// Sets the prefix of the groups, without the `.` that follows it.
    #[must_use]
    pub fn prefix(mut self, prefix: impl Into<String>) -> Self {
        self.prefix = prefix.into();
        self
    }

    /// The name of the leader topic; {group} in it is replaced by the group's name; by default {group}.neli. In a URL
    /// the braces are `%7B` and `%7D`.
    ///
    /// A topic without `{group}` in its name serves one election.
    #[must_use]
    pub fn topic(mut self, topic: impl Into<String>) -> Self {
        self.topic = topic.into();
        self
    }

    /// The session timeout of a member, after which a crash is noticed; by default three leases. At least two leases.
    #[must_use]
    pub fn session(mut self, session: Duration) -> Self {
        self.group.session = Some(session);
        self
    }

    /// The protocol, classic or consumer (KIP-848), the same for all members of a group; by default classic. With
    /// consumer the brokers set the session.
    #[must_use]
    pub fn protocol(mut self, protocol: Protocol) -> Self {
        self.group.protocol = protocol;
        self
    }

    /// A static member id; a process that restarts within its session keeps its partition. Each process needs its own.
    ///
    /// It is the property `group.instance.id`. After a close the partition moves only when the session is over.
    #[must_use]
    pub fn instance_id(mut self, id: impl Into<String>) -> Self {
        self.instance_id = Some(id.into());
        self
    }

    /// Whether members that use goNELI share the groups.
    ///
    /// They need its assignors, and its heartbeats every 100 ms.
    #[must_use]
    pub fn goneli(mut self, goneli: bool) -> Self {
        self.group.goneli = goneli;
        self
    }

    /// Sets whether a missing leader topic is created, as it is by default.
    #[must_use]
    pub fn create_topics(mut self, create: bool) -> Self {
        self.create = create;
        self
    }

    /// Authenticates with a name and a password, by SASL.
    #[must_use]
    pub fn user_and_password(mut self, name: impl Into<String>, password: impl Into<String>) -> Self {
        self.user = Some((name.into(), Secret::new(password)));
        self
    }

    /// The SASL mechanism: PLAIN, SCRAM-SHA-256, SCRAM-SHA-512 or OAUTHBEARER; by default PLAIN with a password, and
    /// none without.
    ///
    /// # Errors `InvalidSetting` for any other.
    pub fn sasl_mechanism(self, mechanism: &str) -> Result<Self> {
        match mechanism {
            "PLAIN" | "SCRAM-SHA-256" | "SCRAM-SHA-512" | "OAUTHBEARER" => {
                self.property("sasl.mechanism", mechanism)
            }
            _ => Err(Error::from(refusals::mechanism(mechanism))),
        }
    }

    /// Sets a librdkafka property for every client of this store.
    ///
    /// # Errors
    /// `InvalidSetting` for a property on which elections depend.
    pub fn property(mut self, name: &str, value: &str) -> Result<Self> {
        // Both names mean the same setting.
        let name = if name == "sasl.mechanisms" { "sasl.mechanism" } else { name };
        if let Some((name, why)) = FORBIDDEN.iter().chain(&OWN).find(|(forbidden, _)| *forbidden == name) {
            return Err(refused(refusals::property(name, why)));
        }
        self.properties.insert(name.to_owned(), value.to_owned());
        Ok(self)
    }

    /// Whether a store that does not answer is an error; by default candidates wait for it.
    #[must_use]
    pub fn fail_fast(mut self, fail_fast: bool) -> Self {
        self.fail_fast = fail_fast;
        self
    }

    /// The brokers for display, without credentials.
    pub fn servers_shown(&self) -> String {
        self.hosts.join(", ")
    }

    /// The name of the user, if there is one.
    pub fn user_name(&self) -> Option<&str> {
        self.user.as_ref().map(|(name, _)| name.as_str())
    }

    /// The group of an election.
    pub fn group_of(&self, election: &str) -> String {
        if self.prefix.is_empty() { election.to_owned() } else { format!("{}.{election}", self.prefix) }
    }

    /// The leader topic of an election.
    pub fn topic_of(&self, election: &str) -> String {
        self.topic.replace("{group}", &self.group_of(election))
    }

    /// The groups, as far as the rule depends on them.
    pub fn group(&self) -> Group {
        self.group
    }

    /// The election whose leader topic has this name.
    pub(super) fn election_of(&self, topic: &str) -> Option<String> {
        let (before, after) = self.topic.split_once("{group}")?;
        let group = topic.strip_prefix(before)?.strip_suffix(after)?;
        let election = match self.prefix.as_str() {
            "" => group,
            prefix => group.strip_prefix(prefix)?.strip_prefix('.')?,
        };
        (!election.is_empty()).then(|| election.to_owned())
    }

    pub(super) fn creates_topics(&self) -> bool {
        self.create
    }

    /// Whether every election would have the same topic.
    pub(crate) fn has_one_topic(&self) -> bool {
        !self.topic.contains("{group}")
    }

    /// Refuses keys whose topic would be invalid.
    pub(crate) fn check_key(&self, key: &str) -> Result<()> {
        let topic = self.topic_of(key);
        let plain = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
        let problem = if key.is_empty() {
            "is empty"
        } else if !key.chars().all(plain) {
            "has a character other than a-z, A-Z, 0-9, '.', '_' and '-'"
        } else if topic.len() > LONGEST {
            "makes a topic name longer than 249 bytes, including prefix and suffix"
        } else {
            return Ok(());
        };
        let message =
            format!("the key {key:?} {problem}, so its leader topic {topic:?} cannot exist; change the key");
        Err(Error::new(ErrorKind::InvalidName, message))
    }

    pub(crate) fn check_name(name: &str) -> Result<()> {
        check_member_name(name).map_err(|refused| Error::refused(ErrorKind::InvalidName, refused))
    }

    /// Checks the settings before a connection is tried.
    pub(super) fn check(&self) -> Result<()> {
        selectors::check(ErrorKind::InvalidSetting, self.selectors())?;
        let topic = self.topic_of("a");
        let plain = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
        if topic.len() > LONGEST || !topic.chars().all(plain) {
            return Err(refused(refusals::topic(&topic, LONGEST as u64)));
        }
        if self.properties.get("sasl.mechanism").is_some_and(|mechanism| mechanism != "OAUTHBEARER")
            && self.user.is_none()
            && !self.properties.contains_key("sasl.username")
        {
            return Err(refused(refusals::mechanism_without_user()));
        }
        if let Some(id) = self.instance_id.as_ref().filter(|id| id.trim().is_empty()) {
            return Err(Error::from(refusals::instance_id(id)));
        }
        // The client itself checks names and values.
        self.base("incumbent").create_native_config().map(drop).map_err(|error| {
            Error::new(ErrorKind::InvalidSetting, format!("librdkafka refuses a property: {error}"))
        })
    }
}

impl fmt::Debug for KafkaSettings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The values of properties may be secrets.
        f.debug_struct("KafkaSettings")
            .field("hosts", &self.hosts)
            .field("prefix", &self.prefix)
            .field("topic", &self.topic)
            .field("tls", &self.tls)
            .field("user", &self.user)
            .field("properties", &self.properties.keys())
            .field("group", &self.group)
            .field("instance_id", &self.instance_id)
            .field("create", &self.create)
            .field("fail_fast", &self.fail_fast)
            .finish()
    }
}

pub(super) fn invalid(message: impl Into<String>) -> Error {
    Error::new(ErrorKind::InvalidUrl, message)
}

fn refused(text: Text) -> Error {
    Error::named(ErrorKind::InvalidSetting, text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use incumbent_core::induction::ClientSettings;

    fn message(text: &str) -> String {
        let error = KafkaSettings::from_url(text).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidUrl, "{text}: {error}");
        error.message().to_owned()
    }

    #[test]
    fn an_election_names_its_group_and_its_topic() {
        let plain = KafkaSettings::from_url("kafka://a").unwrap();
        assert_eq!((plain.group_of("jobs"), plain.topic_of("jobs")), ("jobs".into(), "jobs.neli".into()));
        let prefixed = KafkaSettings::from_url("kafka://a,b:1,[::1]/app?topic=x-%7Bgroup%7D-y").unwrap();
        assert_eq!(prefixed.servers_shown(), "a:9092, b:1, [::1]:9092");
        assert_eq!(
            (prefixed.group_of("jobs"), prefixed.topic_of("jobs")),
            ("app.jobs".into(), "x-app.jobs-y".into())
        );
        for settings in [plain, prefixed] {
            assert_eq!(settings.election_of(&settings.topic_of("a.b")).as_deref(), Some("a.b"));
            assert_eq!(settings.election_of("other"), None);
        }
    }

    #[test]
    fn every_parameter_is_taken() {
        let url = "kafkas://u:p%40@a/x?session=12s&protocol=classic&instance_id=i&goneli=true&create=false\
                   &sasl=SCRAM-SHA-256&fail_fast=true&ssl.ca.location=/ca&socket.timeout.ms=900";
        let settings = KafkaSettings::from_url(url).unwrap();
        let group = Group { session: Some(Duration::from_secs(12)), goneli: true, ..Group::default() };
        assert_eq!((settings.group(), settings.create, settings.fail_fast), (group, false, true));
        let config = settings.base("me");
        for (name, value) in [
            ("security.protocol", "sasl_ssl"),
            ("sasl.mechanism", "SCRAM-SHA-256"),
            ("sasl.username", "u"),
            ("sasl.password", "p@"),
            ("ssl.ca.location", "/ca"),
            ("socket.timeout.ms", "900"),
        ] {
            assert_eq!(config.get(name), Some(value), "{name}");
        }
        let member = settings.member(
            "e",
            "me",
            ClientSettings {
                session: Some(Duration::from_secs(12)),
                heartbeat: Some(Duration::from_millis(1200)),
                max_poll: Duration::from_secs(32),
                assignors: Some("range,roundrobin"),
            },
        );
        for (name, value) in [
            ("group.id", "x.e"),
            ("client.id", "rdkafka"),
            ("group.instance.id", "i"),
            ("session.timeout.ms", "12000"),
            ("heartbeat.interval.ms", "1200"),
            ("max.poll.interval.ms", "32000"),
            ("partition.assignment.strategy", "range,roundrobin"),
            ("enable.auto.commit", "false"),
        ] {
            assert_eq!(member.get(name), Some(value), "{name}");
        }
    }

    #[test]
    fn the_consumer_protocol_leaves_the_session_to_the_brokers() {
        let settings = KafkaSettings::from_url("kafka://a?protocol=consumer").unwrap();
        assert_eq!(settings.group().protocol, Protocol::Consumer);
        let none = ClientSettings {
            session: None,
            heartbeat: None,
            max_poll: Duration::from_secs(30),
            assignors: None,
        };
        let member = settings.member("e", "me", none);
        assert_eq!(member.get("group.protocol"), Some("consumer"));
        assert_eq!((member.get("session.timeout.ms"), member.get("client.id")), (None, Some("me")));
        member.create_native_config().unwrap();
    }

    #[test]
    fn what_an_election_depends_on_cannot_be_overridden() {
        for (name, _) in FORBIDDEN.iter().chain(&OWN) {
            let refused = KafkaSettings::new("a").unwrap().property(name, "1").unwrap_err();
            assert_eq!(refused.kind(), ErrorKind::InvalidSetting);
            assert!(
                refused.message().starts_with(&format!("cannot override the property {name:?}")),
                "{refused}"
            );
        }
        let by_url = KafkaSettings::from_url("kafka://a?session.timeout.ms=9").unwrap_err();
        assert!(by_url.message().contains("`session` sets it"), "{by_url}");
    }

    #[test]
    fn malformed_urls_say_what_is_wrong() {
        for (url, why) in [
            ("kafka:a/b", "\"://\" is missing"),
            ("http://a/b", "\"http\" is not a scheme"),
            ("kafka://", "broker 1 of the list"),
            ("kafka://a:0/b", "broker 1 of the list"),
            ("kafka://a:x/b", "broker 1 of the list"),
            ("kafka://a:1,/b", "broker 2 of the list"),
            ("kafka://a:1,:2/b", "broker 2 of the list"),
            ("kafka://u:x/y@a/b", "password contains /"),
            ("kafka://u@a/b", "user:password@"),
            ("kafka://a/b#c", "no part after #"),
            ("kafka://a/b?protocol=new", "classic or consumer"),
            ("kafka://a/b?session=2", "session=2"),
            ("kafka://a/b?create=no", "write true or false"),
            (
                "kafka://a/b?prefix=x",
                "the parameters are topic, session, protocol, instance_id, goneli, create, sasl, fail_fast",
            ),
        ] {
            let message = message(url);
            assert!(message.contains(why), "{url}: {message}");
        }
    }

    #[test]
    fn a_property_that_the_client_does_not_have_is_refused_with_its_name() {
        let refused = |url| KafkaSettings::from_url(url).unwrap().check().unwrap_err().message().to_owned();
        assert!(refused("kafka://a?no.such.property=1").contains("no.such.property"));
        assert!(refused("kafka://a?socket.timeout.ms=many").contains("socket.timeout.ms"));
        assert!(refused("kafka://a?sasl=PLAIN").contains("user:password@"));
        assert!(refused("kafka://a/b%20c").contains("b c.a.neli"));
        KafkaSettings::from_url("kafkas://u:p@a?sasl=SCRAM-SHA-512").unwrap().check().unwrap();
    }

    #[test]
    fn keys_that_no_topic_can_have_are_refused() {
        let settings = KafkaSettings::new("a").unwrap();
        settings.check_key("a.b_c-d").unwrap();
        let long = "x".repeat(245);
        for (key, why) in [("", "is empty"), ("a/b", "character other"), (long.as_str(), "249")] {
            let refused = settings.check_key(key).unwrap_err();
            assert_eq!(refused.kind(), ErrorKind::InvalidName);
            assert!(refused.message().contains(why), "{refused}");
        }
        assert!(KafkaSettings::check_name("50%").is_err());
    }

    #[test]
    fn no_message_and_no_debug_output_shows_a_secret() {
        for url in ["kafka://u:hunter2/@a/b", "kafka://u:hunter2", "kafka://u:hunter2@a:x/b"] {
            let error = KafkaSettings::from_url(url).unwrap_err();
            assert!(!format!("{error} {error:?}").contains("hunter2"), "{url}: {error:?}");
        }
        let settings = KafkaSettings::from_url("kafka://u:hunter2@a?ssl.key.password=hunter2").unwrap();
        assert!(!format!("{settings:?}").contains("hunter2"));
    }
}
