//! The messages between a runner and the harness, a line of JSON each.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::scenario::Need;

/// The version of this protocol.
pub const PROTOCOL: u32 = 1;

/// A kind of store.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StoreKind {
    /// In the runner's own memory.
    Memory,
    /// A SQLite file.
    Sqlite,
    /// A bucket of a NATS server.
    Nats,
    /// A prefix of an etcd server.
    Etcd,
    /// A prefix of the groups of a Kafka broker.
    Kafka,
}

impl StoreKind {
    /// All of them.
    pub const ALL: [Self; 5] = [Self::Memory, Self::Sqlite, Self::Nats, Self::Etcd, Self::Kafka];

    /// Returns the lease for a scenario that asks for `asked`. On etcd it may be longer: a candidate's shortest lease
    /// is three times the shortest that a server grants by default.
    pub fn lease(self, asked: Duration) -> Duration {
        match self {
            Self::Etcd => asked.max(Duration::from_secs(6)),
            Self::Memory | Self::Sqlite | Self::Nats | Self::Kafka => asked,
        }
    }

    /// Returns the faults that a harness can make in a store of this kind. A harness cannot reach the memory of another
    /// process. Nothing that an operator writes to Kafka moves a group's partition. A harness never stops a broker,
    /// because other harnesses may use it and because a broker takes longer to start than most leases last.
    pub fn offers(self) -> BTreeSet<Need> {
        match self {
            Self::Memory => BTreeSet::new(),
            Self::Sqlite => BTreeSet::from([Need::Operator]),
            Self::Nats | Self::Etcd => {
                BTreeSet::from([Need::Operator, Need::Reset, Need::Network, Need::Kill, Need::Server])
            }
            Self::Kafka => BTreeSet::from([Need::Network, Need::Kill]),
        }
    }
}

impl fmt::Display for StoreKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Memory => "memory",
            Self::Sqlite => "sqlite",
            Self::Nats => "nats",
            Self::Etcd => "etcd",
            Self::Kafka => "kafka",
        })
    }
}

/// The first line that the harness writes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hello {
    /// The harness's implementation: `incumbent`.
    pub harness: String,
    /// [`PROTOCOL`].
    pub protocol: u32,
    /// The stores it can make.
    pub stores: Vec<StoreKind>,
}

/// A request of a runner. Each request has one reply, in the order of the requests.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "do", rename_all = "snake_case", deny_unknown_fields)]
pub enum Request {
    /// Makes a new store for a scenario.
    Prepare {
        /// The kind of store.
        store: StoreKind,
        /// The lifetime of its records.
        lease_ms: u64,
        /// The connections that need a URL, each by a name that the runner chooses.
        connections: BTreeSet<String>,
    },
    /// Deletes an election's key, regardless of the leader.
    DeleteKey {
        /// The election.
        key: String,
    },
    /// Overwrites an election's key, regardless of the leader.
    PutKey {
        /// The election.
        key: String,
        /// The value to write.
        value: String,
    },
    /// Deletes the store and creates it again under the same name.
    ResetStore {},
    /// Stops all traffic on this connection from now on; neither side is notified.
    Cut {
        /// Its name.
        connection: String,
    },
    /// Ends a cut. The data held by the cut then arrives.
    Heal {
        /// Its name.
        connection: String,
    },
    /// Ends a connection permanently, as if the process that uses it were dead.
    Kill {
        /// Its name.
        connection: String,
    },
    /// Kills the store's server.
    StopServer {},
    /// Starts the server again with its stored data. The reply comes when the server serves.
    StartServer {},
    /// The scenario is over.
    CleanUp {},
}

/// A reply of the harness.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reply {
    /// True if the request succeeded.
    pub ok: bool,
    /// The reason why it failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// The result of a `prepare`.
    #[serde(default, flatten, skip_serializing_if = "Option::is_none")]
    pub prepared: Option<Prepared>,
}

/// The result of a `prepare`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Prepared {
    /// The faults that the harness can make in the store.
    pub offers: BTreeSet<Need>,
    /// The store's URL for the runner's own connection, which only a fault of the server affects.
    pub url: String,
    /// A URL for each connection.
    pub connections: BTreeMap<String, String>,
}

impl From<Result<Option<Prepared>, String>> for Reply {
    fn from(result: Result<Option<Prepared>, String>) -> Self {
        match result {
            Ok(prepared) => Self { ok: true, error: None, prepared },
            Err(error) => Self { ok: false, error: Some(error), prepared: None },
        }
    }
}
