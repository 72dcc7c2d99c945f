//! What is seen of a key by its observers.

use std::sync::Arc;
use std::task::Waker;
use std::time::Duration;

use incumbent_core::campaign::Leader;
use incumbent_core::record::Entry;
use incumbent_core::{Instant, Revision};

use crate::observe::Observation;
use crate::queue::Queue;

/// The lease of a holder that states none, in a store without a maximum age.
const UNSTATED_LEASE: Duration = Duration::from_secs(30);
/// When to read again after a read that failed, or told of a record that should be gone.
const AGAIN: Duration = Duration::from_millis(500);

/// The seat of one election, as its observers see it.
pub(super) struct Seat {
    election: Arc<str>,
    readers: Vec<Arc<Queue<Observation>>>,
    /// What was told last.
    told: Option<Observation>,
    revision: Option<Revision>,
    /// When the record of that revision should be gone.
    due: Option<Instant>,
    /// Changes seen so far: tells an answer that was overtaken by the watch.
    changes: u64,
    /// The last answer was older than what is known.
    doubted: bool,
    reading: bool,
}

impl Seat {
    pub(super) fn new(election: Arc<str>) -> Self {
        Self {
            election,
            readers: Vec::new(),
            told: None,
            revision: None,
            due: None,
            changes: 0,
            doubted: false,
            reading: false,
        }
    }

    /// Adds an observer, who is told at once what is known.
    pub(super) fn join(&mut self, reader: Arc<Queue<Observation>>) {
        if let Some(told) = &self.told {
            // Its owner is not told of the observer yet, so nobody waits on it.
            drop(reader.push(told.clone()));
        }
        self.readers.push(reader);
    }

    /// Whether nobody observes any more.
    pub(super) fn is_deserted(&mut self) -> bool {
        self.readers.retain(|reader| !reader.is_deaf());
        self.readers.is_empty()
    }

    /// Nothing more will be told.
    pub(super) fn end(&self) -> Vec<Waker> {
        self.readers.iter().filter_map(|reader| reader.end()).collect()
    }

    /// Begins a read, unless one is under way: the number of changes it must not be overtaken by.
    pub(super) fn begin_read(&mut self) -> Option<u64> {
        (!std::mem::replace(&mut self.reading, true)).then_some(self.changes)
    }

    /// Takes in the answer to a read; says when to read again, and whom to wake.
    pub(super) fn read(
        &mut self,
        now: Instant,
        begun_at: u64,
        answer: Option<&Entry>,
        max_age: Option<Duration>,
    ) -> (Option<Instant>, Vec<Waker>) {
        self.reading = false;
        let Some(entry) = answer else { return (Some(now + AGAIN), Vec::new()) };
        if begun_at != self.changes {
            // The watch was faster.
            return (self.due, Vec::new());
        }
        let is_older = entry.revision().is_some_and(|revision| Some(revision) < self.revision);
        if is_older && !self.doubted {
            // A server that lags, or a store that was replaced: the second answer decides.
            self.doubted = true;
            return (Some(now + AGAIN), Vec::new());
        }
        let (due, woken) = self.see(now, entry, max_age);
        (due.map(|due| due.max(now + AGAIN)), woken)
    }

    /// Takes in what is there; says when to make sure that it still is, and whom to wake.
    pub(super) fn see(
        &mut self,
        now: Instant,
        entry: &Entry,
        max_age: Option<Duration>,
    ) -> (Option<Instant>, Vec<Waker>) {
        self.changes += 1;
        self.doubted = false;
        if self.told.is_none() || entry.revision() != self.revision {
            self.revision = entry.revision();
            let record = entry.live();
            self.due = record.map(|record| now + record.lease.or(max_age).unwrap_or(UNSTATED_LEASE));
        }
        let leader = entry.live().map(Leader::of);
        if self.told.as_ref().is_some_and(|told| is_same(told.leader.as_ref(), leader.as_ref())) {
            return (self.due, Vec::new());
        }
        let told = Observation { election: Arc::clone(&self.election), leader, since: now };
        self.told = Some(told.clone());
        (self.due, self.readers.iter().filter_map(|reader| reader.push(told.clone())).collect())
    }
}

/// Whether it is the same holder that publishes the same; its revision moves on with every renewal.
fn is_same(one: Option<&Leader>, other: Option<&Leader>) -> bool {
    match (one, other) {
        (None, None) => true,
        (Some(one), Some(other)) => {
            one.name == other.name && one.nonce == other.nonce && one.metadata == other.metadata
        }
        _ => false,
    }
}
