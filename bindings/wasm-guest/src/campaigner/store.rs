//! The election's key in the host's store: each request is one call, bounded by a time limit.

use core::time::Duration;

use incumbent_core::Instant;
use incumbent_core::record::Entry;
use incumbent_core::store::{
    self as core_store, Action, Capabilities, Expect, Fault, Outcome, StoreInfo, Write,
};

use super::bindings::incumbent::election::kv;
use super::map;
use super::wit::records;

/// A key of a bucket.
pub(super) struct Key {
    bucket: kv::Bucket,
    key: String,
}

impl Key {
    /// Opens the bucket and checks whether it can hold the key and the name.
    pub(super) fn open(bucket: &str, key: String, name: &str) -> Result<Self, Fault> {
        let bucket = kv::open(bucket).map_err(map::fault)?;
        bucket.check(&key, name).map_err(map::fault)?;
        Ok(Self { bucket, key })
    }

    /// The key.
    pub(super) fn name(&self) -> &str {
        &self.key
    }

    pub(super) fn capabilities(&self) -> Capabilities {
        map::capabilities(self.bucket.capabilities())
    }

    /// Inspects the store; `asked_at` is the clock before the call.
    pub(super) fn inspect(&self, asked_at: Instant, limit: Duration) -> Result<StoreInfo, Fault> {
        let info = self.bucket.inspect(map::duration(limit)).map_err(map::fault)?;
        Ok(map::store_info(info, asked_at))
    }

    pub(super) fn read(&self, limit: Duration) -> Result<Entry, Fault> {
        self.bucket.read(&self.key, map::duration(limit)).map(map::entry).map_err(map::fault)
    }

    pub(super) fn write(&self, write: Write, limit: Duration) -> Outcome {
        let limit = map::duration(limit);
        let outcome = match (write.expect, write.action) {
            (Expect::Absent, Action::Acquire(record) | Action::Renew(record)) => {
                self.bucket.create(&self.key, &put(record), limit)
            }
            (Expect::Revision(expect), Action::Acquire(record) | Action::Renew(record)) => {
                self.bucket.update(&self.key, expect.0, &put(record), limit)
            }
            (Expect::Revision(expect), Action::Release { headers }) => {
                self.bucket.delete(&self.key, expect.0, &headers, limit)
            }
            // An absent key cannot be released, and the core never requests it.
            (Expect::Absent, Action::Release { .. }) => return Outcome::NotSent,
        };
        map::outcome(outcome)
    }

    pub(super) fn reconnect(&self, limit: Duration) -> Result<(), Fault> {
        self.bucket.reconnect(map::duration(limit)).map_err(map::fault)
    }

    /// Begins a watch of the key; `None` where the host offers none.
    pub(super) fn watch(&self, limit: Duration) -> Result<Option<kv::Watch>, Fault> {
        self.bucket.watch(&self.key, map::duration(limit)).map_err(map::fault)
    }
}

fn put(put: core_store::Put) -> records::Put {
    records::Put { value: put.value, headers: put.headers, lease: map::duration(put.lease) }
}
