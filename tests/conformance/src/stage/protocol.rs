//! What a runner and the stage say to each other, a line of JSON each.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use serde::{Deserialize, Serialize};

use crate::scenario::Need;

/// The version of what is said here.
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
}

impl StoreKind {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Memory, Self::Sqlite, Self::Nats];

    /// What a stage can do to it. Into the memory of another process it has no hand.
    pub fn offers(self) -> BTreeSet<Need> {
        match self {
            Self::Memory => BTreeSet::new(),
            Self::Sqlite => BTreeSet::from([Need::Operator]),
            Self::Nats => {
                BTreeSet::from([Need::Operator, Need::Reset, Need::Network, Need::Kill, Need::Server])
            }
        }
    }
}

impl fmt::Display for StoreKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Memory => "memory",
            Self::Sqlite => "sqlite",
            Self::Nats => "nats",
        })
    }
}

/// The first line the stage says.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hello {
    /// Who speaks: `incumbent`.
    pub stage: String,
    /// [`PROTOCOL`].
    pub protocol: u32,
    /// The stores it can make.
    pub stores: Vec<StoreKind>,
}

/// What a runner asks for. Each request has one reply, in the order of the requests.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "do", rename_all = "snake_case", deny_unknown_fields)]
pub enum Request {
    /// Makes a store for a scenario, which nobody ever used.
    Set {
        /// Which kind.
        store: StoreKind,
        /// How long its records live.
        lease_ms: u64,
        /// The connections that need a URL, each by a name of the runner's choice.
        connections: BTreeSet<String>,
    },
    /// Deletes an election's key, whoever leads.
    DeleteKey {
        /// The election.
        key: String,
    },
    /// Overwrites an election's key, whoever leads.
    PutKey {
        /// The election.
        key: String,
        /// What is written.
        value: String,
    },
    /// Deletes the store and makes it again under the same name.
    ResetStore {},
    /// From now on nothing passes on this connection, and nobody is told.
    Cut {
        /// Its name.
        connection: String,
    },
    /// Ends a cut; what was held arrives.
    Heal {
        /// Its name.
        connection: String,
    },
    /// Ends a connection for good: whoever used it is dead.
    Kill {
        /// Its name.
        connection: String,
    },
    /// Kills the store's server.
    StopServer {},
    /// Starts it again, with what it had stored; returns when it serves.
    StartServer {},
    /// The scenario is over.
    Strike {},
}

/// What the stage answers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reply {
    /// Whether it is done.
    pub ok: bool,
    /// Why it is not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// What a `set` made.
    #[serde(default, flatten, skip_serializing_if = "Option::is_none")]
    pub set: Option<Set>,
}

/// What a `set` made.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Set {
    /// What the stage can do to the store.
    pub offers: BTreeSet<Need>,
    /// The store's URL, for the runner itself; no fault touches this connection but the server's.
    pub url: String,
    /// A URL for each connection.
    pub connections: BTreeMap<String, String>,
}

impl From<Result<Option<Set>, String>> for Reply {
    fn from(result: Result<Option<Set>, String>) -> Self {
        match result {
            Ok(set) => Self { ok: true, error: None, set },
            Err(error) => Self { ok: false, error: Some(error), set: None },
        }
    }
}
