//! The store: one key, compare-and-swap by revision, expiry.

use std::hash::{Hash, Hasher};
use std::sync::Arc;

use incumbent_core::record::{Entry, Kind, Record};
use incumbent_core::store::{Action, Expect, Outcome, Write};
use incumbent_core::{Incarnation, Revision};

use crate::clock::{LEASE, LEASE_TIME, Tick};
use crate::digest;
use crate::world::World;

/// What the key holds or held, with its digest.
#[derive(Clone, Debug)]
pub(crate) struct Seen {
    pub(crate) entry: Arc<Entry>,
    digest: u64,
}

impl Seen {
    fn new(entry: Entry) -> Self {
        let digest = digest::of(&entry);
        Self { entry: Arc::new(entry), digest }
    }
}

impl Hash for Seen {
    fn hash<H: Hasher>(&self, hasher: &mut H) {
        self.digest.hash(hasher);
    }
}

/// One life of the store after another, and the key.
#[derive(Clone, Debug, Hash)]
pub(crate) struct Store {
    pub(crate) life: Incarnation,
    /// When this life began; `None`: long ago.
    pub(crate) made: Option<Tick>,
    /// The newest revision.
    sequence: u64,
    now: Seen,
    /// When what is there was written, and how long it is kept.
    born: Tick,
    kept: Tick,
    /// The server set out to mark a record that was over, and somebody wrote over it first: what they wrote
    /// may be erased, until then.
    erasing: Option<Tick>,
    /// What a server that lags may still answer, where any does.
    before: Option<Seen>,
}

impl Store {
    /// A store that was made long ago, and whose key was never written.
    pub(crate) fn new() -> Self {
        Self {
            life: Incarnation(1),
            made: None,
            sequence: 4,
            now: Seen::new(Entry::Vacant),
            born: 0,
            kept: LEASE,
            erasing: None,
            before: None,
        }
    }

    pub(crate) fn seen(&self) -> &Seen {
        &self.now
    }

    pub(crate) fn before(&self) -> Option<&Seen> {
        self.before.as_ref()
    }

    pub(crate) fn newest(&self) -> Revision {
        Revision(self.sequence)
    }

    fn revision(&self) -> Revision {
        self.now.entry.revision().unwrap_or_default()
    }

    fn put(&mut self, world: &World, now: Tick, entry: Entry) {
        let new = Seen::new(entry);
        let old = std::mem::replace(&mut self.now, new);
        if world.budget.stale > 0 {
            self.before = Some(old);
        }
        self.born = now;
        self.erasing = None;
    }

    /// Until when the server may erase what was just written.
    pub(crate) fn erasing(&self) -> Option<Tick> {
        self.erasing
    }

    /// Nothing is erased any more.
    pub(crate) fn spare(&mut self) {
        self.erasing = None;
    }

    fn next(&mut self) -> Revision {
        self.sequence += 1;
        Revision(self.sequence)
    }

    /// Compares and writes in one step.
    pub(crate) fn write(&mut self, world: &World, now: Tick, write: &Write) -> Outcome {
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
        let headers = headers.iter().map(|(name, text)| (name.as_str(), text.as_str()));
        let mut entry = Entry::decode(revision, kind, value.as_bytes(), headers);
        if let Entry::Live(record) = &mut entry {
            // Nothing is decided by it, and no two worlds differ but by this.
            record.claim = None;
        }
        self.put(world, now, entry);
        if over && world.markers {
            self.erasing = Some(now + world.late);
        }
        Outcome::Applied { revision, incarnation: world.acked.then_some(self.life) }
    }

    /// An operator deletes the key, whatever is there.
    pub(crate) fn delete(&mut self, world: &World, now: Tick) {
        let revision = self.next();
        self.put(world, now, Entry::Deleted { revision, lease: None });
    }

    /// Somebody who does not ask writes a record over what is there.
    pub(crate) fn seize(&mut self, world: &World, now: Tick) {
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
                stamp: None,
                lease,
                claim: None,
                metadata,
                oversize: None,
            }),
        );
    }

    /// From when to when the record that is there may vanish.
    pub(crate) fn expiry(&self, world: &World) -> Option<(Tick, Tick)> {
        let over = self.born + self.kept;
        self.now.entry.live().map(|_| (over - world.early, over + world.late))
    }

    /// The record vanishes. Whether watchers hear of it.
    pub(crate) fn expire(&mut self, world: &World, now: Tick) -> bool {
        let entry = if world.markers { Entry::Expired { revision: self.next() } } else { Entry::Vacant };
        self.put(world, now, entry);
        world.markers
    }

    /// Another life, numbered so that the next record has the revision of the last.
    pub(crate) fn recreate(&mut self, now: Tick) {
        self.sequence = self.revision().0.max(1) - 1;
        self.life.0 += 1;
        self.made = Some(now);
        self.now = Seen::new(Entry::Vacant);
        self.before = None;
        self.born = now;
    }
}
