//! The operations that a campaign asks of a store, and the answers.
//!
//! Classifying a store's answers into [`Outcome`]s is most of what a store adapter is. The classes
//! differ in what they *prove*, and every rule of the campaign rests on them, so an adapter that is not
//! sure answers [`Outcome::Unknown`].

use alloc::string::String;
use core::fmt;
use core::time::Duration;

use crate::record::{Attempt, Headers};
use crate::time::Instant;
use crate::token::{Incarnation, Revision};

/// The entry that a write expects under the key before it is applied; the store compares and writes in one step.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Expect {
    /// Nothing is there: no record, no tombstone, no marker.
    Absent,
    /// Exactly this revision is the newest.
    Revision(Revision),
}

/// One compare-and-swap for the store. A write is never unconditional.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Write {
    /// Its number, under which the answer comes back.
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
    /// Its headers.
    pub headers: Headers,
    /// The least time for which the store keeps the record: its `Incumbent-Lease`. Sent along where the store can
    /// expire records one by one, rounded up to what the store can keep. A record that is kept longer is always safe; with one that
    /// vanishes sooner, the knowledge of its holder is lost.
    pub lease: Duration,
}

/// The outcome of a write.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Outcome {
    /// It is written, now, by this very attempt.
    Applied {
        /// Its revision.
        revision: Revision,
        /// The store's incarnation, where the acknowledgement carries it.
        incarnation: Option<Incarnation>,
    },
    /// The compare failed. What is there may be *our own earlier attempt*.
    Refused {
        /// The key's newest revision as the store reports it; zero where it knows none.
        current: Revision,
    },
    /// Another write to the key is in flight, perhaps ours. Nothing is lost.
    Busy,
    /// It was certainly not applied, and will not be.
    NotSent,
    /// It may have been applied, or may be later.
    Unknown,
    /// It was not applied, and trying the same again will not help until an operator acts.
    Failed(Fault),
}

/// The reason for which a store cannot do what is asked, and that needs a person.
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
    /// Not allowed: a permission is missing, or credentials are no longer good.
    Denied,
    /// The store is there and cannot serve: it is full, gone, or wrongly set up.
    Broken,
    /// The store does not answer. Reads and inspections fail with it; writes are `Unknown` or `NotSent`.
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
    /// The caller's clock, read *before* the store was asked.
    pub asked_at: Instant,
    /// The store's incarnation.
    pub incarnation: Incarnation,
    /// The age of this incarnation, by the store's own clock; `None` where that is not known.
    pub age: Option<Duration>,
    /// An operator stated that the store's name was never used before (`incumbent init --new`). A campaign that knew
    /// another incarnation does not believe it.
    pub never_used: bool,
    /// Records older than this are removed; `None` where the store has no such limit.
    pub max_age: Option<Duration>,
    /// The newest revision of the whole store, where it reports one.
    pub newest: Option<Revision>,
}

/// The capabilities of a store that a campaign needs to know; they do not change while it is open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Capabilities {
    /// A record can have a lease time of its own, shorter than the store's maximum age.
    pub own_lease: bool,
    /// The step to which lease times are rounded up (one second for NATS where records have their own).
    pub lease_step: Duration,
    /// The shortest and the longest lease the store can keep.
    pub shortest: Duration,
    /// See [`shortest`](Self::shortest).
    pub longest: Duration,
    /// The longest time for which an expired record may still be there.
    pub granularity: Duration,
    /// Expiry is pushed to watchers, as a marker.
    pub expiry_pushed: bool,
    /// Acknowledgements carry the incarnation, so a campaign need not ask for it.
    pub incarnation_acked: bool,
    /// A new watch shows every entry that stands, and then says that it has shown all. A candidate that enters at the same
    /// time waits for that, briefly, instead of reading its key.
    pub watch_shows_all: bool,
    /// The number of requests that may wait for an answer at a time, at most. A session asks fewer where the store is slow.
    pub window: u32,
    /// The longest time for which a healthy store may lack a leader of its own when one of its servers fails.
    pub fail_over: Duration,
}
