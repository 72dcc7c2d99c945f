//! A server of each store, for elections with the built packages.

use std::path::{Path, PathBuf};

use incumbent_testkit::etcd::{self, EtcdServer};
use incumbent_testkit::kafka::security::{Entrance, USERS};
use incumbent_testkit::kafka::{self, Kafka};
use incumbent_testkit::nats::{self, NatsServer};

/// A store in which a package elects.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub(super) struct Store {
    /// The store's name in the table, with the way into it.
    pub(super) name: &'static str,
    pub(super) url: String,
    /// Whether the store has an age, and is stated to be new.
    pub(super) is_new: bool,
}

/// The file of certificates that a system without any has for the elections in it.
pub(super) const AUTHORITIES: &str = "etc/ssl/certs/ca-certificates.crt";

/// The running servers.
pub(super) struct Servers {
    nats: NatsServer,
    etcd: EtcdServer,
    kafka: Kafka,
}

impl Servers {
    /// Starts them, and waits until each serves.
    pub(super) fn start() -> Self {
        let (name, password) = USERS[0];
        // Permissions are tested elsewhere.
        let everyone = format!("User:ANONYMOUS;User:{name}");
        let kafka = Kafka::start_with(kafka::Options::new().secured().setting("super.users", everyone));
        kafka.admin().password(name, password);
        Self {
            nats: NatsServer::start(nats::Options::new()),
            etcd: EtcdServer::start(etcd::Options::new()),
            kafka,
        }
    }

    /// The certificate of the authority that signed the broker's.
    pub(super) fn authority(&self) -> PathBuf {
        self.kafka.certificates().path("ca.pem")
    }

    /// Every store, and every way into Kafka, for one package. `unique` distinguishes its elections from those of other
    /// packages; `folder` is for its file, as the package's process sees it. With `authority` the broker's certificate is
    /// checked against that file, without it against what the process finds by itself. Without `kafka` the package has no
    /// Kafka.
    pub(super) fn stores(
        &self,
        unique: &str,
        folder: &Path,
        authority: Option<&Path>,
        kafka: bool,
    ) -> Vec<Store> {
        let (name, password) = USERS[0];
        let user = format!("{name}:{password}");
        let at = |entrance| self.kafka.entrance(entrance);
        let (clear, sasl, tls) = (at(Entrance::SaslInTheClear), at(Entrance::Sasl), at(Entrance::Tls));
        let ca = authority.map_or(String::new(), |file| format!("?ssl.ca.location={}", file.display()));
        let token =
            format!("enable.sasl.oauthbearer.unsecure.jwt=true&sasl.oauthbearer.config=principal={name}");
        let new = |name, url| Store { name, url, is_new: true };
        let plain = |name, url| Store { name, url, is_new: false };
        let all = vec![
            plain("memory", "memory:".into()),
            new("sqlite", format!("sqlite:{}", folder.join("elections.db").display())),
            new("nats", format!("{}/{unique}", self.nats.url())),
            new("etcd", format!("etcd://{}/{unique}", self.etcd.address())),
            plain("kafka", format!("kafka://{}/{unique}", self.kafka.address())),
            plain("kafka, TLS", format!("kafkas://{tls}/{unique}-tls{ca}")),
            plain("kafka, PLAIN", format!("kafka://{user}@{clear}/{unique}-plain")),
            plain("kafka, PLAIN over TLS", format!("kafkas://{user}@{sasl}/{unique}-both{ca}")),
            plain("kafka, SCRAM-SHA-256", format!("kafka://{user}@{clear}/{unique}-256?sasl=SCRAM-SHA-256")),
            plain("kafka, SCRAM-SHA-512", format!("kafka://{user}@{clear}/{unique}-512?sasl=SCRAM-SHA-512")),
            plain("kafka, OAUTHBEARER", format!("kafka://{clear}/{unique}-oauth?sasl=OAUTHBEARER&{token}")),
        ];
        all.into_iter().filter(|store| kafka || !store.name.starts_with("kafka")).collect()
    }
}
