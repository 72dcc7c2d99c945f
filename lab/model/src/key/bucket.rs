//! The bucket: one key, compare-and-swap by revision, expiry.

use std::hash::{Hash, Hasher};
use std::sync::Arc;

use incumbent_core::record::{Entry, Kind, Record};
use incumbent_core::store::{Action, Expect, Outcome, Write};
use incumbent_core::{Incarnation, Revision};

use super::Key;
use crate::clock::{LEASE, LEASE_TIME, Tick};
use crate::state::digest_of;
use crate::world::{Fault, World};

/// The current or a former entry of the key, with its digest.
#[derive(Clone, Debug)]
pub(crate) struct Snapshot {
    pub(crate) entry: Arc<Entry>,
    digest: u64,
}

impl Snapshot {
    fn new(entry: Entry) -> Self {
        let digest = digest_of(&entry);
        Self { entry: Arc::new(entry), digest }
    }
}

impl Hash for Snapshot {
    fn hash<H: Hasher>(&self, hasher: &mut H) {
        self.digest.hash(hasher);
    }
}

/// The key, in successive incarnations of the store.
#[derive(Clone, Debug, Hash)]
pub(crate) struct Bucket {
    pub(crate) incarnation: Incarnation,
    /// When this incarnation began; `None` if that was long ago.
    pub(crate) made: Option<Tick>,
    /// The newest revision.
    sequence: u64,
    now: Snapshot,
    /// When the present entry was written, and how long it is kept.
    born: Tick,
    kept: Tick,
    /// The end of the time in which the newest write may be erased, because it came when the server was about to mark
    /// an expired record.
    erasing: Option<Tick>,
    /// The entry with which a lagging server may still answer, if any.
    before: Option<Snapshot>,
}

impl Bucket {
    /// Creates a store that was made long ago and whose key was never written.
    pub(crate) fn new() -> Self {
        Self {
            incarnation: Incarnation(1),
            made: None,
            sequence: 4,
            now: Snapshot::new(Entry::Vacant),
            born: 0,
            kept: LEASE,
            erasing: None,
            before: None,
        }
    }

    pub(crate) fn seen(&self) -> &Snapshot {
        &self.now
    }

    pub(crate) fn before(&self) -> Option<&Snapshot> {
        self.before.as_ref()
    }

    pub(crate) fn newest(&self) -> Revision {
        Revision(self.sequence)
    }

    fn revision(&self) -> Revision {
        self.now.entry.revision().unwrap_or_default()
    }

    fn put(&mut self, world: &World<Key>, now: Tick, entry: Entry) {
        let new = Snapshot::new(entry);
        let old = std::mem::replace(&mut self.now, new);
        if world.budget.has(Fault::Stale) {
            self.before = Some(old);
        }
        self.born = now;
        self.erasing = None;
    }

    /// The time until which the server may erase the newest write.
    pub(crate) fn erasing(&self) -> Option<Tick> {
        self.erasing
    }

    /// Keeps the newest write from being erased from now on.
    pub(crate) fn spare(&mut self) {
        self.erasing = None;
    }

    fn next(&mut self) -> Revision {
        self.sequence += 1;
        Revision(self.sequence)
    }

    /// Compares and writes in one step.
    pub(crate) fn write(&mut self, world: &World<Key>, now: Tick, write: &Write) -> Outcome {
        let expected = match write.expect {
            Expect::Absent => Revision(0),
            Expect::Revision(revision) => revision,
        };
        if self.revision() != expected {
            return Outcome::Refused { current: self.revision() };
        }
        let over = self.expiry(world).is_some_and(|(first, _)| first <= now);
        let revision = self.next();
        let (kind, value, headers, kept) = match &write.action {
            Action::Acquire(put) | Action::Renew(put) => {
                (Kind::Live, put.value.as_str(), &put.headers, put.lease.as_millis().div_ceil(1_000))
            }
            Action::Release { headers } => (Kind::Tombstone, "", headers, 0),
        };
        self.kept = Tick::try_from(kept).unwrap_or(Tick::MAX);
        let headers = headers.iter().map(|(name, text)| (&**name, text.as_str()));
        let mut entry = Entry::decode(revision, kind, value.as_bytes(), headers);
        if let Entry::Live(record) = &mut entry {
            // The term information is dropped: no decision depends on it, so states that differ only in it are the
            // same.
            record.term_info = None;
        }
        self.put(world, now, entry);
        if over && world.markers {
            self.erasing = Some(now + world.late);
        }
        Outcome::Applied { revision, incarnation: world.acked.then_some(self.incarnation) }
    }

    /// Lets an operator delete the key, over any entry.
    pub(crate) fn delete(&mut self, world: &World<Key>, now: Tick) {
        let revision = self.next();
        self.put(world, now, Entry::Deleted { revision, lease: None });
    }

    /// Returns true if the key has a live record.
    pub(crate) fn is_live(&self) -> bool {
        self.now.entry.live().is_some()
    }

    /// Lets an operator remove the key without a trace.
    pub(crate) fn purge(&mut self, world: &World<Key>, now: Tick) {
        self.put(world, now, Entry::Vacant);
    }

    /// Lets other software write a record over any entry, without a compare.
    pub(crate) fn seize(&mut self, world: &World<Key>, now: Tick) {
        let revision = self.next();
        self.kept = LEASE;
        let lease = Some(LEASE_TIME);
        let (candidate, metadata) = (String::from("stranger"), Vec::new());
        self.put(
            world,
            now,
            Entry::Live(Record {
                revision,
                candidate,
                write_id: None,
                lease,
                term_info: None,
                metadata,
                oversize: None,
            }),
        );
    }

    /// The earliest and the latest time at which the present record may vanish.
    pub(crate) fn expiry(&self, world: &World<Key>) -> Option<(Tick, Tick)> {
        let over = self.born + self.kept;
        self.now.entry.live().map(|_| (over - world.early, over + world.late))
    }

    /// Lets the record vanish. Returns whether watches report its expiry.
    pub(crate) fn expire(&mut self, world: &World<Key>, now: Tick) -> bool {
        let entry = if world.markers { Entry::Expired { revision: self.next() } } else { Entry::Vacant };
        self.put(world, now, entry);
        world.markers
    }

    /// Begins another incarnation, numbered so that the next record gets the revision of the last one.
    pub(crate) fn recreate(&mut self, now: Tick) {
        self.sequence = self.revision().0.max(1) - 1;
        self.incarnation.0 += 1;
        self.made = Some(now);
        self.now = Snapshot::new(Entry::Vacant);
        self.before = None;
        self.born = now;
    }
}
