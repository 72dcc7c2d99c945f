//! Writes that a campaign never does, for operators and tests.

use async_trait::async_trait;
use incumbent_core::Revision;
use incumbent_core::store::Fault;

/// Unconditional writes to a store: the faults of `incumbent demo`, and the tests of every store.
///
/// They do not ask the leader. A leader whose record is overwritten or deleted loses its term, and
/// its successor waits until the old lease is certainly over.
#[async_trait]
pub trait StoreAdmin: Send + Sync + 'static {
    /// Writes `value` under `key`, without headers and without comparing, as other software does
    /// that uses the same key.
    ///
    /// The record lives as long as the store keeps a record without a lease. A store without such a
    /// limit gives it the lease of the record before it, or 30 s under a key that never held one.
    async fn put(&self, key: &str, value: &[u8]) -> Result<Revision, Fault>;

    /// Deletes the entry under `key`, of any kind. The tombstone certifies nothing, so a successor
    /// waits longer than after a release.
    async fn delete(&self, key: &str) -> Result<Revision, Fault>;
}
