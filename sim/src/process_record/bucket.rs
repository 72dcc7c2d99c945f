//! A bucket that removes nothing: the newest message of each key, under one sequence.

use std::collections::BTreeMap;
use std::time::Duration;

/// One life of a process: its name, and a nonce that no later life has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Life {
    pub(super) process: usize,
    pub(super) nonce: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Key {
    Process(usize),
    Election(usize),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Body {
    /// A process record. Under its key alone.
    Alive { life: Life, attempt: u64 },
    /// No term of this life is left. In place of a process record.
    Ended(Life),
    /// An election's record: it is held for as long as that life's process record is renewed.
    Held { by: Life, attempt: u64, owed: Duration },
    /// An election's release, and what is left of its holder's win delay.
    Released { owed: Duration },
    /// A tombstone of an operator.
    Deleted,
}

/// The newest message of a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Entry {
    pub(super) key: Key,
    pub(super) revision: u64,
    pub(super) body: Body,
}

/// A compare-and-swap.
#[derive(Clone, Copy, Debug)]
pub(super) struct Write {
    pub(super) key: Key,
    /// The key's revision; zero where it is absent.
    pub(super) expect: u64,
    pub(super) body: Body,
}

#[derive(Debug, Default)]
pub(super) struct Bucket {
    pub(super) sequence: u64,
    newest: BTreeMap<Key, Entry>,
    /// The messages that are left, by sequence: a key's older ones are gone, as with a history of one.
    stream: BTreeMap<u64, Key>,
}

impl Bucket {
    pub(super) fn get(&self, key: Key) -> Option<Entry> {
        self.newest.get(&key).copied()
    }

    /// Returns the new revision; where the compare failed, the entry that is there.
    pub(super) fn apply(&mut self, write: &Write) -> Result<u64, Option<Entry>> {
        let present = self.get(write.key);
        if present.map_or(0, |entry| entry.revision) != write.expect {
            return Err(present);
        }
        Ok(self.put(write.key, write.body))
    }

    pub(super) fn put(&mut self, key: Key, body: Body) -> u64 {
        self.sequence += 1;
        let revision = self.sequence;
        if let Some(old) = self.newest.insert(key, Entry { key, revision, body }) {
            self.stream.remove(&old.revision);
        }
        self.stream.insert(revision, key);
        revision
    }

    /// The next message after `seen`, and true where none follows it.
    pub(super) fn after(&self, seen: u64) -> (Option<Entry>, bool) {
        let mut rest = self.stream.range(seen + 1..);
        let next = rest.next().and_then(|(_, key)| self.get(*key));
        (next, rest.next().is_none())
    }
}
