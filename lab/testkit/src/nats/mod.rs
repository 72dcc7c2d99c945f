//! A nats-server, or a cluster of three, that lives as long as its test.

mod cluster;
mod monitor;
mod server;

pub use cluster::NatsCluster;
pub use monitor::Backlog;
pub use server::NatsServer;

use crate::tools::NatsVersion;

/// The options of a server.
#[derive(Clone, Debug, Default)]
pub struct Options {
    version: NatsVersion,
    config: String,
    is_synced: bool,
    is_advertised: bool,
}

impl Options {
    /// Options for the newest server, with JetStream and without authentication.
    pub fn new() -> Self {
        Self::default()
    }

    /// Another version of the server.
    #[must_use]
    pub fn version(mut self, version: NatsVersion) -> Self {
        self.version = version;
        self
    }

    /// Makes servers sync each write to the disk before they acknowledge it (`sync_interval: always`); by default a
    /// server syncs every two minutes.
    #[must_use]
    pub fn synced(mut self) -> Self {
        self.is_synced = true;
        self
    }

    /// Makes the nodes of a cluster tell clients of each other.
    #[must_use]
    pub fn advertised(mut self) -> Self {
        self.is_advertised = true;
        self
    }

    /// Adds text to the end of the configuration file: accounts, permissions, TLS, …
    ///
    /// The file already sets `server_name`, `listen`, `http`, `jetstream` and, in a cluster,
    /// `cluster`. If there are accounts, each account with buckets needs `jetstream: enabled`.
    #[must_use]
    pub fn config(mut self, text: impl Into<String>) -> Self {
        self.config = text.into();
        self
    }
}
