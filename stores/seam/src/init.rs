//! The preparation of a store for elections: its requirements, the findings and the actions.

use std::time::Duration;

use incumbent_core::Incarnation;
use incumbent_core::text::Text;

use crate::error::{Error, ErrorKind, Result};
use crate::refusals;

/// The requirements of a store that is prepared for elections; see [`Settings::init`](crate::Settings::init).
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
#[must_use]
pub struct InitOptions {
    /// The election whose topic is created, in Kafka. Other stores are prepared as a whole.
    pub election: Option<String>,
    /// The lease of a NATS bucket's elections, which is its TTL. By default it is 30 s for a new bucket, and an
    /// existing bucket keeps its own.
    pub lease: Option<Duration>,
    /// The number of a NATS cluster's servers that keep the bucket: 1, 3 or 5. By default it is 1 for a new bucket, and
    /// an existing bucket keeps its own.
    pub replicas: Option<u32>,
    /// The most bytes of a NATS bucket, at least 65,536, for an account that requires a limit. By default a new bucket
    /// has none, and an existing bucket keeps its own.
    pub max_bytes: Option<u64>,
    /// A NATS bucket must report an expiry to watchers by a marker (2.11 or newer).
    pub markers: bool,
    /// A NATS bucket must let each election have its own lease (2.11 or newer).
    pub own_leases: bool,
    /// The statement that no election ever ran in this store, so that its first leader need not wait for a lease. It is
    /// refused for a store that has been written to. Not for automation: if automation recreates a store under a
    /// leader, the statement is false and there can be two leaders.
    pub never_used: bool,
    /// Whether to change an existing NATS bucket that differs, instead of reporting the differences.
    pub update: bool,
}

impl InitOptions {
    /// Returns options that require nothing beyond the safety of elections.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets the election whose topic is created.
    pub fn election(mut self, election: impl Into<String>) -> Self {
        self.election = Some(election.into());
        self
    }

    /// Sets the lease of a NATS bucket's elections.
    pub fn lease(mut self, lease: Duration) -> Self {
        self.lease = Some(lease);
        self
    }

    /// Sets the number of servers that keep a NATS bucket.
    pub fn replicas(mut self, replicas: u32) -> Self {
        self.replicas = Some(replicas);
        self
    }

    /// Sets the most bytes of a NATS bucket.
    pub fn max_bytes(mut self, bytes: u64) -> Self {
        self.max_bytes = Some(bytes);
        self
    }

    /// Sets whether a NATS bucket must report an expiry by a marker.
    pub fn markers(mut self, markers: bool) -> Self {
        self.markers = markers;
        self
    }

    /// Sets whether a NATS bucket must let each election have its own lease.
    pub fn own_leases(mut self, own_leases: bool) -> Self {
        self.own_leases = own_leases;
        self
    }

    /// States that no election ever ran in this store.
    pub fn never_used(mut self, never_used: bool) -> Self {
        self.never_used = never_used;
        self
    }

    /// Sets whether to change an existing NATS bucket that differs.
    pub fn update(mut self, update: bool) -> Self {
        self.update = update;
        self
    }

    /// Refuses an election's key, for a store that is prepared as a whole.
    ///
    /// # Errors
    /// `InvalidSetting`.
    pub fn of_whole_store(&self) -> Result<()> {
        match &self.election {
            None => Ok(()),
            Some(election) => Err(invalid(refusals::election_of_whole(election))),
        }
    }

    /// Refuses requirements that only make sense for a bucket. `this` describes the store.
    ///
    /// # Errors
    /// `InvalidSetting`.
    pub fn only_of_buckets(&self, this: &str) -> Result<()> {
        let of_buckets = [
            ("markers", self.markers),
            ("own_leases", self.own_leases),
            ("replicas", self.replicas.is_some()),
            ("max_bytes", self.max_bytes.is_some()),
        ];
        if let Some((setting, _)) = of_buckets.iter().find(|(_, is_given)| *is_given) {
            return Err(invalid(refusals::of_buckets(setting, this)));
        }
        match self.lease {
            None => Ok(()),
            Some(_) => Err(invalid(refusals::lease_of_buckets(this))),
        }
    }
}

/// The findings and actions of [`Settings::init`](crate::Settings::init).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct InitReport {
    /// The store did not exist, and was created.
    pub created: bool,
    /// The store existed, and was changed.
    pub updated: bool,
    /// The store states that no election ever ran in it.
    pub never_used: bool,
    /// The lease of the elections in a NATS bucket. In other stores each candidate has its own.
    pub lease: Option<Duration>,
    /// The differences between an existing bucket and the requirements. An update has corrected them.
    pub differences: Vec<Difference>,
    /// The leader topic, in Kafka.
    pub topic: Option<String>,
    /// The incarnation of the elections, in etcd.
    pub incarnation: Option<Incarnation>,
}

impl InitReport {
    /// Returns true if the store is as required.
    pub fn is_ready(&self) -> bool {
        self.updated || self.differences.is_empty()
    }

    /// Returns true if [`InitOptions::update`] would correct every difference.
    pub fn is_correctable(&self) -> bool {
        self.differences.iter().all(|difference| difference.changeable)
    }
}

/// A bucket's setting that differs from the requirement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// The setting, by its name in the server's configuration.
    pub setting: &'static str,
    /// The present value.
    pub is: String,
    /// The required value.
    pub should: String,
    /// True if the setting can be changed without creating the bucket again.
    pub changeable: bool,
}

impl Difference {
    /// The option of [`InitOptions`] that asks for this setting, if there is one.
    pub fn option(&self) -> Option<&'static str> {
        match self.setting {
            "max_age" => Some("lease"),
            "num_replicas" => Some("replicas"),
            "max_bytes" => Some("max-bytes"),
            _ => None,
        }
    }
}

fn invalid(refused: Text) -> Error {
    Error::named(ErrorKind::InvalidSetting, refused)
}
