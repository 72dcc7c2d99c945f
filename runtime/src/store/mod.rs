//! The contract between the hub and a store, and the stores themselves.

mod boxed;
#[cfg(feature = "testing")]
pub(crate) mod faulty;
mod incarnation;
mod memory;
mod message;
mod names;
#[cfg(feature = "nats")]
pub mod nats;
mod operate;
mod query;
pub(crate) mod request;
pub(crate) mod roll;
#[cfg(feature = "sqlite")]
mod sqlite;
mod url;

use std::time::Duration;

use async_trait::async_trait;
use futures_util::stream::BoxStream;
use incumbent_core::Revision;
use incumbent_core::record::Entry;
use incumbent_core::store::{Capabilities, Fault, Outcome, StoreInfo, Write};

pub use memory::{Memory, MemorySettings};
#[cfg(feature = "nats")]
pub use nats::{Nats, NatsSettings};
pub use operate::StoreAdmin;
pub use query::duration;
pub use request::{AcceptReset, HandOver};
pub use roll::{CandidateInfo, Roll};
#[cfg(feature = "sqlite")]
pub use sqlite::{Sqlite, SqliteSettings};
pub use url::{StoreSettings, open};

use crate::Result;

/// A store an election can run on.
///
/// An adapter carries records and classifies answers; it decides nothing. It never retries, never
/// queues an unconditional write, and answers [`Outcome::Unknown`] when in doubt. Every future may be
/// dropped at any time: that abandons the wait for the answer, not the write, which may still be
/// applied. The hub bounds how long it waits, so an adapter needs no time limits of its own.
#[async_trait]
pub trait Adapter: Send + Sync + 'static {
    /// What the store can do. Constant while it is open.
    fn capabilities(&self) -> Capabilities;

    /// Whether the store can hold an election under this key: an error that says why not.
    fn check_key(&self, key: &str) -> Result<()>;

    /// Whether the store can hold this candidate name: an error that says why not.
    fn check_name(&self, name: &str) -> Result<()>;

    /// Asks the store which life of it this is, and for its settings.
    ///
    /// `asked_at` in the answer is read from the clock before the question leaves.
    async fn inspect(&self) -> Result<StoreInfo, Fault>;

    /// What is unsafe about the settings of the store, by the newest answer to [`inspect`](Self::inspect); `None` where
    /// nothing is. The hub asks after each inspection, and reports a change to every candidate. Opening such a store
    /// is refused; those who have it open go on.
    fn flaw(&self) -> Option<Fault> {
        None
    }

    /// Compares and writes in one step.
    async fn write(&self, key: &str, write: &Write) -> Outcome;

    /// Reads the newest entry of a key, served by whoever leads the store, never from a replica or a cache.
    async fn read(&self, key: &str) -> Result<Entry, Fault>;

    /// How long ago the live record of a key was written, by the store's own clocks, and which one that is; none
    /// where there is no live record, or the store cannot say.
    async fn written(&self, key: &str) -> Result<Option<EntryInfo>, Fault> {
        let _ = key;
        Ok(None)
    }

    /// The newest entry of every key.
    async fn list(&self) -> Result<Vec<WatchEvent>, Fault>;

    /// Watches all keys: first what is there, then every change in order; of changes to one key in
    /// quick succession a store may tell the newest only. The stream ends when it can no longer
    /// promise that; the hub then watches again.
    async fn watch(&self) -> Result<BoxStream<'static, WatchEvent>, Fault>;

    /// Leaves the present connection for a new one, to another server where there are several.
    /// Returns once connected again; the hub bounds the wait.
    async fn reconnect(&self);

    /// Makes known who of this connection's candidates stands in an election, for the
    /// [roll calls](Self::candidates) of others. Called after changes, once for several that come together; when
    /// the watch began anew; and before the connection is closed. The roll itself is always up to date, so one that
    /// is kept need not be taken again.
    ///
    /// No campaign waits for it or depends on it. After a failure it is called again, later. A store that has no
    /// way to make it known does nothing.
    async fn enlist(&self, roll: &Roll) -> Result<(), Fault> {
        let _ = roll;
        Ok(())
    }

    /// Who stands in the elections of the store, of all connections that say so; those of this very connection
    /// may be left out. `None` where the store has no way to know.
    async fn candidates(&self) -> Result<Option<Vec<CandidateInfo>>, Fault> {
        Ok(None)
    }

    /// Closes the connection. Nothing is written.
    async fn close(&self);
}

/// How old a live record is, which is renewed as long as its holder is well.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EntryInfo {
    /// The record's revision.
    pub revision: Revision,
    /// How long ago it was written.
    pub ago: Duration,
}

/// An entry seen under a key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WatchEvent {
    /// The election's key.
    pub key: String,
    /// What is there.
    pub entry: Entry,
}
