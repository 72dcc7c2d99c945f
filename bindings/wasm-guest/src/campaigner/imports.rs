//! The imports: the host's store, clock and random numbers.

use core::time::Duration;

use incumbent_core::Instant;
use incumbent_core::record::Entry;
use incumbent_core::store::{Action, Capabilities, Expect, Fault, Outcome, StoreInfo, Write};

use super::bindings::incumbent::election::{clock, kv, random};
use super::convert::{carried, entry, nanos, store_info};

/// The election's key in a bucket of the host. Each request is one call, bounded by a time limit.
pub(super) struct Key {
    bucket: kv::Bucket,
    key: String,
}

impl Key {
    /// Opens the bucket and checks whether it can hold the key and the name.
    pub(super) fn open(bucket: &str, key: String, name: &str) -> Result<Self, Fault> {
        let bucket = kv::open(bucket)?;
        bucket.check(&key, name)?;
        Ok(Self { bucket, key })
    }

    /// The key.
    pub(super) fn name(&self) -> &str {
        &self.key
    }

    pub(super) fn capabilities(&self) -> Capabilities {
        self.bucket.capabilities().into()
    }

    /// Inspects the store; `asked_at` is the clock before the call.
    pub(super) fn inspect(&self, asked_at: Instant, limit: Duration) -> Result<StoreInfo, Fault> {
        Ok(store_info(self.bucket.inspect(nanos(limit))?, asked_at))
    }

    pub(super) fn read(&self, limit: Duration) -> Result<Entry, Fault> {
        Ok(entry(self.bucket.read(&self.key, nanos(limit))?))
    }

    pub(super) fn write(&self, write: Write, limit: Duration) -> Outcome {
        let limit = nanos(limit);
        let outcome = match (write.expect, write.action) {
            (Expect::Absent, Action::Acquire(put) | Action::Renew(put)) => {
                self.bucket.create(&self.key, &put.into(), limit)
            }
            (Expect::Revision(expect), Action::Acquire(put) | Action::Renew(put)) => {
                self.bucket.update(&self.key, expect.0, &put.into(), limit)
            }
            (Expect::Revision(expect), Action::Release { headers }) => {
                self.bucket.delete(&self.key, expect.0, &carried(headers), limit)
            }
            // An absent key cannot be released, and the core never requests it.
            (Expect::Absent, Action::Release { .. }) => return Outcome::NotSent,
        };
        outcome.into()
    }

    pub(super) fn reconnect(&self, limit: Duration) -> Result<(), Fault> {
        Ok(self.bucket.reconnect(nanos(limit))?)
    }

    /// Begins a watch of the key; `None` if the host offers none.
    pub(super) fn watch(&self, limit: Duration) -> Result<Option<Watch>, Fault> {
        Ok(self.bucket.watch(&self.key, nanos(limit))?.map(Watch))
    }
}

/// A watch of the key.
pub(super) struct Watch(kv::Watch);

impl Watch {
    /// Returns the next entry that the watch shows, waiting up to `limit` for it; an error once it has ended.
    pub(super) fn poll(&self, limit: Duration) -> Result<Option<Entry>, Fault> {
        Ok(match self.0.poll(nanos(limit))? {
            kv::Change::None => None,
            kv::Change::Vacant => Some(Entry::Vacant),
            kv::Change::Message(message) => Some(entry(Some(message))),
        })
    }
}

/// The host's clock, made monotonic.
#[derive(Default)]
pub(super) struct Clock(Instant);

impl Clock {
    pub(super) fn now(&mut self) -> Instant {
        self.0 = self.0.max(Instant::from_nanos(clock::now()));
        self.0
    }

    /// Returns true if the host's clock is fit for deadlines.
    pub(super) fn is_fit() -> bool {
        clock::counts_suspension()
    }
}

/// Draws the random numbers of a campaign.
pub(super) fn random_numbers() -> [u64; 3] {
    [random::random_u64(), random::random_u64(), random::random_u64()]
}
