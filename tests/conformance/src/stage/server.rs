//! The servers behind the stores of scenes.

use incumbent_testkit::etcd::EtcdServer;
use incumbent_testkit::nats::NatsServer;
use incumbent_testkit::{etcd, nats};

use super::StoreKind;

/// A running server, or one that a scene has stopped.
pub(super) enum Server {
    Nats(NatsServer),
    Etcd(Box<EtcdServer>),
}

impl Server {
    /// Starts the server of that kind of store; `None` for a store without one.
    pub(super) fn start(kind: StoreKind) -> Option<Self> {
        match kind {
            StoreKind::Memory | StoreKind::Sqlite => None,
            StoreKind::Nats => Some(Self::Nats(NatsServer::start(nats::Options::new()))),
            StoreKind::Etcd => Some(Self::Etcd(Box::new(EtcdServer::start(etcd::Options::new())))),
        }
    }

    /// Its address for clients, `127.0.0.1:PORT`.
    pub(super) fn address(&self) -> String {
        match self {
            Self::Nats(server) => server.address(),
            Self::Etcd(server) => server.address(),
        }
    }

    /// Kills it; its data stays.
    pub(super) fn kill(&mut self) {
        match self {
            Self::Nats(server) => server.kill(),
            Self::Etcd(server) => server.kill(),
        }
    }

    /// Starts it again with its data, and waits until it serves.
    pub(super) fn restart(&mut self) {
        match self {
            Self::Nats(server) => server.restart(),
            Self::Etcd(server) => server.restart(),
        }
    }
}
