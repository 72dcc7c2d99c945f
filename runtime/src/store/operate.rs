//! What a campaign never does, and an operator or a test does.

use async_trait::async_trait;
use incumbent_core::Revision;
use incumbent_core::store::Fault;

/// Unconditional writes to a store: the faults of `incumbent demo`, and the tests of every store.
///
/// Whoever leads is not asked. A leader whose record is overwritten or deleted loses its term, and
/// its successor waits until the old lease is certainly over.
#[async_trait]
pub trait StoreAdmin: Send + Sync + 'static {
    /// Writes `value` under `key`, bare of headers, whatever is there: what other software does
    /// that takes the key for its own.
    ///
    /// The record lives as long as the store lets a record live that states no lease. Stores
    /// without such a limit of their own give it the lease of the record before it, or 30 s under a
    /// key that never held one.
    async fn put(&self, key: &str, value: &[u8]) -> Result<Revision, Fault>;

    /// Deletes what is under `key`, whatever it is. The tombstone certifies nothing, so a successor
    /// waits longer than it does after a release.
    async fn delete(&self, key: &str) -> Result<Revision, Fault>;
}
