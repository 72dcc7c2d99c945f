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
    // generated: fields
    /// States that no election ever ran there. Otherwise no candidate leads until the store is one lease old, because
    /// it may replace another in which a candidate still leads. Only by hand, or in a test: if a program recreates a
    /// store under a leader, there can be two leaders. Refused for a store that has been written to.
    pub never_used: bool,
    /// NATS: the lease of the bucket's elections, which is its TTL; by default 30 s for a new bucket; an existing one
    /// keeps its own.
    pub lease: Option<Duration>,
    /// NATS: the number of servers that keep the bucket: 1, 3 or 5; by default 1 for a new bucket; an existing one
    /// keeps its own.
    pub replicas: Option<u32>,
    /// NATS: the bucket's size limit in bytes, if the account requires one; at least 65536; by default none for a new
    /// bucket; an existing one keeps its own.
    pub max_bytes: Option<u64>,
    /// NATS: whether watches report expiry, for a fail-over without a poll (2.11 or newer). Not for a bucket that
    /// candidates of the Go library share.
    pub markers: bool,
    /// NATS: whether each election can have its own lease, in whole seconds and below the bucket's (2.11 or newer).
    pub own_leases: bool,
    /// NATS: whether to change an existing bucket that differs; by default the differences are reported, outside Rust
    /// as the error UNSAFE_STORE, and nothing is changed.
    pub update: bool,
    /// Kafka: the election whose topic is created.
    pub election: Option<String>,
    // end of fields
}

impl InitOptions {
    /// Returns options that require nothing beyond the safety of elections.
    pub fn new() -> Self {
        Self::default()
    }

    // generated: setters
    /// Sets the requirement [`never_used`](#structfield.never_used).
    pub fn never_used(mut self, never_used: bool) -> Self {
        self.never_used = never_used;
        self
    }

    /// Sets the requirement [`lease`](#structfield.lease).
    pub fn lease(mut self, lease: Duration) -> Self {
        self.lease = Some(lease);
        self
    }

    /// Sets the requirement [`replicas`](#structfield.replicas).
    pub fn replicas(mut self, replicas: u32) -> Self {
        self.replicas = Some(replicas);
        self
    }

    /// Sets the requirement [`max_bytes`](#structfield.max_bytes).
    pub fn max_bytes(mut self, max_bytes: u64) -> Self {
        self.max_bytes = Some(max_bytes);
        self
    }

    /// Sets the requirement [`markers`](#structfield.markers).
    pub fn markers(mut self, markers: bool) -> Self {
        self.markers = markers;
        self
    }

    /// Sets the requirement [`own_leases`](#structfield.own_leases).
    pub fn own_leases(mut self, own_leases: bool) -> Self {
        self.own_leases = own_leases;
        self
    }

    /// Sets the requirement [`update`](#structfield.update).
    pub fn update(mut self, update: bool) -> Self {
        self.update = update;
        self
    }

    /// Sets the requirement [`election`](#structfield.election).
    pub fn election(mut self, election: impl Into<String>) -> Self {
        self.election = Some(election.into());
        self
    }
    // end of setters

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
