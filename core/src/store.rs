//! The operations that a campaign asks of a store, and the answers.
//!
//! Most of a store adapter's work is to classify the store's answers into [`Outcome`]s. The classes differ in what they
//! *prove*, and every rule of the campaign depends on them. An adapter that is not sure answers [`Outcome::Unknown`].

use alloc::string::String;
use core::fmt;
use core::time::Duration;

use crate::record::{Attempt, Headers};
use crate::time::Instant;
use crate::token::{Incarnation, Revision};

/// The entry that a write expects under the key before it is applied; the store compares and writes in one step.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Expect {
    /// The key is absent: no record, no tombstone, no marker.
    Absent,
    /// The key's newest revision is exactly this one.
    Revision(Revision),
}

/// One compare-and-swap for the store. A write is never unconditional.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Write {
    /// The write's number; the answer carries it too.
    pub attempt: Attempt,
    /// The expected entry.
    pub expect: Expect,
    /// The new entry.
    pub action: Action,
}

/// The new entry of a write.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Action {
    /// Acquire the lease.
    Acquire(Put),
    /// Renew the lease.
    Renew(Put),
    /// Release the lease: a tombstone (for NATS, `KV-Operation: PURGE` without a rollup).
    Release {
        /// The tombstone's headers.
        headers: Headers,
    },
}

/// A live record to write.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Put {
    /// The value: the candidate's name.
    pub value: String,
    /// The record's headers.
    pub headers: Headers,
    /// The shortest time for which the store must keep the record, which is also the record's `Incumbent-Lease`. It is
    /// sent to stores that can expire single records, rounded up to a time that the store can keep. Keeping a record
    /// longer is always safe. If the record vanishes sooner, its holder becomes unknown.
    pub lease: Duration,
}

/// The outcome of a write.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Outcome {
    /// Exactly this attempt has just written the entry.
    Applied {
        /// The entry's revision.
        revision: Revision,
        /// The store's incarnation, if the acknowledgement carries it.
        incarnation: Option<Incarnation>,
    },
    /// The compare failed. The key may hold *an earlier attempt of ours*.
    Refused {
        /// The key's newest revision as the store reports it; zero if it reports that the key has no entry.
        current: Revision,
    },
    /// The compare failed, and the store does not report the key's entry. The campaign reads the key.
    Conflict,
    /// Another write to the key is in flight, perhaps one of ours. Nothing is lost.
    Busy,
    /// The write was certainly not applied, and will not be.
    NotSent,
    /// The write may have been applied, or may still be.
    Unknown,
    /// The write was not applied, and repeating it will not help until an operator acts.
    Failed(Fault),
}

/// The reason why a store cannot carry out a request. A person has to act.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Fault {
    /// The kind of the fault.
    pub kind: FaultKind,
    /// The store's message, and the remedy.
    pub detail: String,
}

/// The kinds of [`Fault`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FaultKind {
    /// Not allowed: a permission is missing, or credentials are no longer valid.
    Denied,
    /// The store is reachable but cannot serve: it is full, gone, or misconfigured.
    Broken,
    /// The store does not answer. Reads and inspections fail with this kind; writes are `Unknown` or `NotSent`.
    Unreachable,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.detail)
    }
}

impl core::error::Error for Fault {}

/// The result of an inspection of a store.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct StoreInfo {
    /// The reading of the caller's clock *before* the store was asked.
    pub asked_at: Instant,
    /// The store's incarnation.
    pub incarnation: Incarnation,
    /// The age of this incarnation, by the store's own clock; `None` if unknown.
    pub age: Option<Duration>,
    /// Whether an operator stated that the store's name was never used before (`incumbent init --new`). A campaign that
    /// has known another incarnation ignores this.
    pub never_used: bool,
    /// Records older than this are removed; `None` if the store has no such limit.
    pub max_age: Option<Duration>,
    /// The newest revision of the whole store, if it reports one.
    pub newest: Option<Revision>,
}

/// What a campaign needs to know about a store. Capabilities do not change while the store is open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Capabilities {
    /// Whether a record can have its own lease time, shorter than the store's maximum age.
    pub own_lease: bool,
    /// The step to which lease times are rounded up (one second for NATS buckets with a TTL per record).
    pub lease_step: Duration,
    /// The shortest and the longest lease the store can keep.
    pub shortest: Duration,
    /// See [`shortest`](Self::shortest).
    pub longest: Duration,
    /// The longest time for which an expired record may still be visible.
    pub granularity: Duration,
    /// Whether watchers receive a marker when a record expires.
    pub expiry_pushed: bool,
    /// Whether acknowledgements carry the incarnation, so that a campaign does not have to ask for it.
    pub incarnation_acked: bool,
    /// Whether a new watch shows every existing entry, and then reports that it has shown them all. A candidate that
    /// enters at the same time waits briefly for that report, instead of reading its key.
    pub watch_shows_all: bool,
    /// The number of requests that may wait for an answer at once. A session sends fewer if the store is slow.
    pub window: u32,
    /// The longest time for which a healthy store may be without its own leader after one of its servers fails.
    pub fail_over: Duration,
}
