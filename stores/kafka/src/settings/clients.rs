//! The properties of librdkafka's clients: those that the store sets, and those that no user may set.

use std::time::Duration;

use incumbent_core::induction::{ClientSettings, Protocol};
use rdkafka::ClientConfig;

use super::KafkaSettings;

/// The time for which a record may wait for its acknowledgement. A later acknowledgement is harmless.
const DELIVERY: Duration = Duration::from_secs(5);

/// The properties of librdkafka that only the store sets, each with the reason or the setting to use instead.
///
/// goNELI refuses the first five. Each other property would break something that our rule needs and goNELI's does not.
pub(super) const FORBIDDEN: [(&str, &str); 19] = [
    ("group.id", "the election's key and the URL's prefix determine the group"),
    ("enable.auto.commit", "commits prove a lease"),
    ("session.timeout.ms", "`session` sets it"),
    ("delivery.timeout.ms", "the campaign itself repeats records"),
    ("linger.ms", "a heartbeat is sent at once"),
    ("message.timeout.ms", "the campaign itself repeats records"),
    ("acks", "every in-sync replica acknowledges a record"),
    ("enable.idempotence", "a record is appended once"),
    ("transactional.id", "an open transaction blinds readers"),
    ("enable.auto.offset.store", "commits prove a lease"),
    ("auto.offset.reset", "the whole log is read"),
    ("max.poll.interval.ms", "the drain limit and `session` set it"),
    ("heartbeat.interval.ms", "`session` sets it"),
    ("group.protocol", "`protocol` sets it"),
    ("group.instance.id", "`instance_id` sets it"),
    ("partition.assignment.strategy", "`goneli` sets it"),
    ("group.remote.assignor", "the brokers choose it"),
    ("isolation.level", "every record is read"),
    ("client.id", "the candidate's name is the client's id"),
];

/// Properties of librdkafka that the URL's hosts set, or that only this library may enable.
pub(super) const OWN: [(&str, &str); 4] = [
    ("bootstrap.servers", "the URL's hosts set it"),
    ("metadata.broker.list", "the URL's hosts set it"),
    ("enabled_events", "the client reports to the store by events"),
    ("allow.auto.create.topics", "`create` decides whether a missing topic is created"),
];

impl KafkaSettings {
    /// The properties of every client of the store.
    pub(super) fn base(&self, client_id: &str) -> ClientConfig {
        // At exit OpenSSL would free shared state that a client's threads still use, which has crashed the process.
        // Only the first initialisation counts.
        openssl_sys::init();
        let mut config = ClientConfig::new();
        config
            .set("bootstrap.servers", self.hosts.join(","))
            .set("client.id", client_id)
            // The defaults of 10 s and 60 s would let a client find a broker that is back only after the lease.
            .set("reconnect.backoff.max.ms", "1000")
            .set("socket.timeout.ms", "5000")
            .set("socket.connection.setup.timeout.ms", "5000")
            .set("allow.auto.create.topics", "false");
        let protocol = match (self.tls, self.authenticates()) {
            (false, false) => "plaintext",
            (true, false) => "ssl",
            (false, true) => "sasl_plaintext",
            (true, true) => "sasl_ssl",
        };
        config.set("security.protocol", protocol);
        if let Some((name, password)) = &self.user {
            config.set("sasl.mechanism", "PLAIN");
            config.set("sasl.username", name).set("sasl.password", password.reveal());
        }
        for (name, value) in &self.properties {
            config.set(name, value);
        }
        config.set_log_level(rdkafka::config::RDKafkaLogLevel::Warning);
        config
    }

    /// Whether a client authenticates itself to the brokers by SASL.
    pub(in super::super) fn authenticates(&self) -> bool {
        self.user.is_some() || self.properties.contains_key("sasl.mechanism")
    }

    pub(in super::super) fn uses_tls(&self) -> bool {
        self.tls
    }

    /// The client that writes for all candidates, and asks about topics and groups.
    pub(in super::super) fn producer(&self) -> ClientConfig {
        let mut config = self.base("incumbent");
        config
            .set("acks", "all")
            .set("enable.idempotence", "true")
            .set("linger.ms", "0")
            .set("message.timeout.ms", DELIVERY.as_millis().to_string());
        config
    }

    /// A client that reads logs, and never joins a group.
    pub(in super::super) fn reader(&self, name: &str) -> ClientConfig {
        let mut config = self.base(name);
        config
            // The group is never joined, but librdkafka creates no consumer without one.
            .set("group.id", format!("incumbent-reader-{name}"))
            .set("enable.auto.commit", "false")
            .set("enable.auto.offset.store", "false")
            .set("auto.offset.reset", "error")
            .set("isolation.level", "read_uncommitted")
            .set("enable.partition.eof", "true")
            .set("fetch.error.backoff.ms", "100")
            // A missing or recreated topic is found sooner with this setting.
            .set("topic.metadata.refresh.interval.ms", "5000");
        config
    }

    /// The client that is a member of an election's group, and fetches nothing.
    pub(in super::super) fn member(
        &self,
        election: &str,
        name: &str,
        client: ClientSettings,
    ) -> ClientConfig {
        // goNELI's members have librdkafka's default client id, and the assignor `range` orders members by that id.
        let mut config = self.base(if self.group.goneli { "rdkafka" } else { name });
        let millis = |duration: Duration| duration.as_millis().to_string();
        config
            .set("group.id", self.group_of(election))
            .set("enable.auto.commit", "false")
            .set("enable.auto.offset.store", "false")
            .set("auto.offset.reset", "latest")
            .set("max.poll.interval.ms", millis(client.max_poll));
        if let Some(session) = client.session {
            config.set("session.timeout.ms", millis(session));
        }
        if let Some(heartbeat) = client.heartbeat {
            config.set("heartbeat.interval.ms", millis(heartbeat));
        }
        if let Some(assignors) = client.assignors {
            config.set("partition.assignment.strategy", assignors);
        }
        if self.group.protocol == Protocol::Consumer {
            config.set("group.protocol", "consumer");
        }
        if let Some(id) = &self.instance_id {
            config.set("group.instance.id", id);
        }
        config
    }
}
