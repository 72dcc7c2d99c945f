//! The public interface of a store whose candidates write one record in turn.

use std::time::Duration;

use async_trait::async_trait;
use futures_util::stream::BoxStream;
use incumbent_core::Revision;
use incumbent_core::record::Entry;
use incumbent_core::session::Scope;
use incumbent_core::store::{Capabilities, Fault, Outcome, StoreInfo, Write};

use crate::error::Result;
use crate::registry::{CandidateInfo, Registry};

/// A store that can hold elections.
///
/// An adapter carries records and classifies answers, but decides nothing. It never retries, never queues an
/// unconditional write, and answers [`Outcome::Unknown`] if it cannot know the outcome. Every future may be dropped at
/// any time: that abandons the wait for the answer, not the write, which may still be applied. The driver bounds its
/// waits, so an adapter needs no time limits.
#[async_trait]
pub trait Adapter: Send + Sync + 'static {
    /// The store's capabilities, which do not change while it is open.
    fn capabilities(&self) -> Capabilities;

    /// Checks that the store can hold an election under this key; the error gives the reason.
    fn check_key(&self, key: &str) -> Result<()>;

    /// Checks that the store can hold this candidate name; the error gives the reason.
    fn check_name(&self, name: &str) -> Result<()>;

    /// Asks the store for its incarnation and its settings.
    ///
    /// `asked_at` in the answer is read from the clock before the request is sent.
    async fn inspect(&self) -> Result<StoreInfo, Fault>;

    /// The unsafe setting of the store, by the newest answer to [`inspect`](Self::inspect); `None` for a safe store.
    /// The driver calls this after each inspection, and reports a change to every candidate. An unsafe store cannot be
    /// opened; a store that is already open stays open.
    fn flaw(&self) -> Option<Fault> {
        None
    }

    /// Compares and writes in one step.
    async fn write(&self, key: &str, write: Write) -> Outcome;

    /// Reads the newest entry of a key from the store's leading server, never from a replica or a cache.
    async fn read(&self, key: &str) -> Result<Entry, Fault>;

    /// The time since the live record of a key was written, by the store's own clocks, and the record's revision;
    /// `None` if there is no live record, or the store cannot know.
    async fn written(&self, key: &str) -> Result<Option<EntryInfo>, Fault> {
        let _ = key;
        Ok(None)
    }

    /// The newest entry of every key.
    async fn list(&self) -> Result<Vec<WatchEvent>, Fault>;

    /// Watches the keys that are [followed](Self::follow), and perhaps others: first the present entries, then every
    /// change in order. If one key changes in quick succession, a store may deliver only the newest change. The stream
    /// ends when the store can no longer guarantee that; the driver then begins another watch.
    ///
    /// If [the capabilities](Self::capabilities) promise it, an item between two entries states that all present
    /// entries were shown. When the watch has been extended to further keys, another such item follows their present
    /// entries.
    async fn watch(&self) -> Result<BoxStream<'static, Watched>, Fault>;

    /// Adds a key that a campaign or an observer needs. The open watch and all later ones show the key from now on,
    /// with the requests about it. A store whose watch shows all keys does nothing.
    fn follow(&self, key: &str) {
        let _ = key;
    }

    /// Removes a key that no campaign and no observer needs any more.
    fn unfollow(&self, key: &str) {
        let _ = key;
    }

    /// Replaces the current connection with a new one, to another server if there are several. Returns once the new
    /// connection is up; the driver bounds the wait.
    async fn reconnect(&self);

    /// Announces this connection's candidates to the [requests for candidates](Self::candidates) of other connections.
    /// The driver calls this after changes, once for several simultaneous ones; when a new watch has begun; and before
    /// the connection is closed. The registry is shared and always up to date, so an adapter that keeps it can ignore
    /// later calls.
    ///
    /// No campaign waits for the announcement or depends on it. After a failure it is repeated later. A store without a
    /// way to announce candidates does nothing.
    async fn register(&self, registry: &Registry) -> Result<(), Fault> {
        let _ = registry;
        Ok(())
    }

    /// The candidates of the store's elections, on all connections that answer; those of this connection may be left
    /// out. `None` if the store cannot find out.
    async fn candidates(&self) -> Result<Option<Vec<CandidateInfo>>, Fault> {
        Ok(None)
    }

    /// Closes the connection. Nothing is written.
    async fn close(&self);
}

/// Writes that are not a candidate's: an operator's actions, the faults of `incumbent demo`, and the tests of every
/// store.
///
/// These writes do not involve the leader. A leader whose record is overwritten or deleted loses its term, and its
/// successor waits until the old lease is certainly over.
#[async_trait]
pub trait StoreAdmin: Send + Sync + 'static {
    /// Writes `value` under `key`, without headers and without comparing, like other software that uses the same key.
    ///
    /// The record lives as long as the store keeps a record without a lease. A store without such a limit gives the
    /// record the previous record's lease, or 30 s if the key never had a record.
    async fn put(&self, key: &str, value: &[u8]) -> Result<Revision, Fault>;

    /// Deletes the entry under `key`, of any kind. Unlike a release, the tombstone does not prove that the leader has
    /// stopped, so a successor waits longer.
    async fn delete(&self, key: &str) -> Result<Revision, Fault>;

    /// Deletes the entry in one step if it still has that revision. Otherwise returns `None` and does nothing.
    async fn delete_at(&self, key: &str, revision: Revision) -> Result<Option<Revision>, Fault>;

    /// A lower bound for the rest of the leader's lease, in a store like etcd that counts leases but does not show them
    /// in its entries. `None` without a leader, and in other stores, which have [`Adapter::written`] instead.
    async fn lease_left(&self, key: &str) -> Result<Option<Duration>, Fault> {
        let _ = key;
        Ok(None)
    }
}

/// The age of a live record. A healthy holder renews its record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EntryInfo {
    /// The record's revision.
    pub revision: Revision,
    /// The time since the record was written.
    pub ago: Duration,
}

/// An item of a watch.
#[allow(clippy::large_enum_variant, reason = "nearly all are entries, and each is passed on immediately")]
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Watched {
    /// A key has this entry.
    Entry(WatchEvent),
    /// Every entry that these elections had when the watch began has been shown, or has changed since then.
    ShownAll(Scope),
}

/// An entry found under a key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WatchEvent {
    /// The election's key.
    pub key: String,
    /// The entry.
    pub entry: Entry,
}
