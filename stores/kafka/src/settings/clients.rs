//! The properties of librdkafka's clients, as the store sets them.

use std::env;
use std::ffi::{CStr, OsString, c_char};
use std::path::Path;
use std::time::Duration;

use incumbent_core::induction::{ClientSettings, Protocol};
use rdkafka::ClientConfig;

use super::KafkaSettings;

/// The time for which a record may wait for its acknowledgement. A later acknowledgement is harmless.
const DELIVERY: Duration = Duration::from_secs(5);

/// Returns true if OpenSSL finds the certificates of authorities by itself. An OpenSSL that is built in has a folder that
/// most systems lack; there librdkafka looks for them where each system keeps them (`probe`).
fn knows_authorities() -> bool {
    // SAFETY: OpenSSL returns pointers to constant strings.
    let [file, folder, file_variable, folder_variable] = unsafe {
        [
            openssl_sys::X509_get_default_cert_file(),
            openssl_sys::X509_get_default_cert_dir(),
            openssl_sys::X509_get_default_cert_file_env(),
            openssl_sys::X509_get_default_cert_dir_env(),
        ]
        .map(|text| text_of(text))
    };
    are_known([&file, &folder], [file_variable, folder_variable].map(env::var_os))
}

/// Returns true if a variable names the certificates of authorities, or OpenSSL's own file or folder of them exists.
fn are_known(own: [&str; 2], named: [Option<OsString>; 2]) -> bool {
    named.iter().any(Option::is_some) || own.iter().any(|path| Path::new(path).exists())
}

/// The text of OpenSSL's constant.
///
/// # Safety
/// It must be a string of C that is never freed.
unsafe fn text_of(text: *const c_char) -> String {
    // SAFETY: as the caller promises.
    unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned()
}

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
        if self.tls && !knows_authorities() {
            config.set("ssl.ca.location", "probe");
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn authorities_are_looked_for_only_if_openssl_knows_none_by_a_file_a_folder_or_a_variable() {
        let folder = tempfile::tempdir().unwrap();
        let (there, absent) = (folder.path().to_str().unwrap(), "/no/such/certs");
        assert!(!are_known([absent, absent], [None, None]));
        assert!(are_known([absent, there], [None, None]));
        assert!(are_known([there, absent], [None, None]));
        assert!(are_known([absent, absent], [None, Some("/etc/ca".into())]));
        assert!(are_known([absent, absent], [Some("/etc/ca.pem".into()), None]));
    }
}
