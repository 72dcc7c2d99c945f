//! The servers behind the stores of scenarios.

use incumbent_testkit::etcd::EtcdServer;
use incumbent_testkit::kafka::Kafka;
use incumbent_testkit::nats::NatsServer;
use incumbent_testkit::proxy::Proxy;
use incumbent_testkit::tools::KafkaVersion;
use incumbent_testkit::{etcd, nats};

use super::StoreKind;

/// The variable with the address of a Kafka broker that harnesses share: a broker takes longer to start than most
/// scenarios take.
pub(crate) const BROKER: &str = "INCUMBENT_KAFKA";

/// A running server, or one that a scenario has stopped.
pub(super) enum Server {
    Nats(NatsServer),
    Etcd(Box<EtcdServer>),
    Kafka {
        address: String,
        /// The broker that this harness started, if any. It ends with the harness.
        _own: Option<Box<Kafka>>,
    },
}

impl Server {
    /// Starts the server of that kind of store. Returns `None` for a store that needs no server.
    pub(super) fn start(kind: StoreKind) -> Option<Self> {
        match kind {
            StoreKind::Memory | StoreKind::Sqlite => None,
            StoreKind::Nats => Some(Self::Nats(NatsServer::start(nats::Options::new()))),
            StoreKind::Etcd => Some(Self::Etcd(Box::new(EtcdServer::start(etcd::Options::new())))),
            StoreKind::Kafka => Some(match std::env::var(BROKER) {
                Ok(address) => Self::Kafka { address, _own: None },
                Err(_) => {
                    let broker = Kafka::start(KafkaVersion::Newest);
                    Self::Kafka { address: broker.address(), _own: Some(Box::new(broker)) }
                }
            }),
        }
    }

    /// Its address for clients, `127.0.0.1:PORT`.
    pub(super) fn address(&self) -> String {
        match self {
            Self::Nats(server) => server.address(),
            Self::Etcd(server) => server.address(),
            Self::Kafka { address, .. } => address.clone(),
        }
    }

    /// Makes a proxy in front of the server.
    pub(super) fn proxy(&self) -> Proxy {
        match self {
            Self::Nats(_) | Self::Etcd(_) => Proxy::to(&self.address()),
            Self::Kafka { address, .. } => Proxy::to_broker(address),
        }
    }

    /// Kills it; its data stays.
    pub(super) fn kill(&mut self) {
        match self {
            Self::Nats(server) => server.kill(),
            Self::Etcd(server) => server.kill(),
            // A scenario on Kafka has no server to stop.
            Self::Kafka { .. } => {}
        }
    }

    /// Starts the server again with its data, and waits until it serves.
    pub(super) fn restart(&mut self) {
        match self {
            Self::Nats(server) => server.restart(),
            Self::Etcd(server) => server.restart(),
            Self::Kafka { .. } => {}
        }
    }
}
