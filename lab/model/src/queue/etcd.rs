//! A store like etcd: keys in two queues, leases that expire late and one by one, and one revision for everything.

use std::collections::BTreeMap;
use std::time::Duration;

use incumbent_core::queue::{
    Action, Change, Companion, Failure, KeptAlive, LeaseId, Outcome, Place, Snapshot, Write,
};
use incumbent_core::{Incarnation, Revision};

use super::world::QueuePart;
use crate::clock::Tick;
use crate::node::{name, nonce};

/// The lease, in ticks and as a duration.
pub(super) const LEASE: Tick = 3;
pub(super) const LEASE_TIME: Duration = Duration::from_secs(LEASE as u64);

/// The number that identifies the foreign candidate in the store.
const FOREIGN: usize = 9;

pub(super) const BIRTH: Incarnation = Incarnation(7);
/// The raft term in which the store begins, which is the term of its first leader.
const FIRST_TERM: u64 = 2;

/// The store at one moment.
#[derive(Clone, Debug, Hash)]
pub(super) struct Etcd {
    revision: u64,
    places: BTreeMap<LeaseId, Key>,
    companions: BTreeMap<LeaseId, Key>,
    leases: BTreeMap<LeaseId, Granted>,
    raft_term: u64,
}

#[derive(Clone, Copy, Debug, Hash)]
pub(super) struct Granted {
    /// When it may expire.
    pub(super) expires: Tick,
    /// The raft term in which the lease was granted.
    raft_term: u64,
}

#[derive(Clone, Debug, Hash)]
struct Key {
    owner: usize,
    created: u64,
    modified: u64,
    lease: LeaseId,
    /// The successor, if a companion names one.
    successor: Option<String>,
}

impl Etcd {
    pub(super) fn new() -> Self {
        Self {
            revision: 1,
            places: BTreeMap::new(),
            companions: BTreeMap::new(),
            leases: BTreeMap::new(),
            raft_term: FIRST_TERM,
        }
    }

    pub(super) fn grant(&mut self, lease: LeaseId, now: Tick) {
        self.leases.insert(lease, Granted { expires: now + LEASE, raft_term: self.raft_term });
    }

    /// Lets another member lead the store, which extends every lease.
    pub(super) fn elect(&mut self, now: Tick) {
        self.raft_term += 1;
        for granted in self.leases.values_mut() {
            granted.expires = now + LEASE;
        }
    }

    /// The raft term that answers show. If `without` disables [`QueuePart::Elections`], that is always the first term.
    pub(super) fn raft_term(&self, without: Option<QueuePart>) -> u64 {
        if without == Some(QueuePart::Elections) { FIRST_TERM } else { self.raft_term }
    }

    /// Returns true if a former leader may find the lease expired although the present leader keeps it.
    pub(super) fn is_known_to_a_former_leader(&self, granted: Granted) -> bool {
        granted.raft_term < self.raft_term
    }

    /// Creates the place of a foreign candidate, which keeps the place's lease alive.
    pub(super) fn enter_foreign(&mut self) {
        self.revision += 1;
        let (at, lease) = (self.revision, LeaseId(0xf0));
        let key = Key { owner: FOREIGN, created: at, modified: at, lease, successor: None };
        self.places.insert(lease, key);
    }

    pub(super) fn has_lease(&self, lease: LeaseId) -> bool {
        self.leases.contains_key(&lease)
    }

    /// The leases that may expire now, and the live ones.
    pub(super) fn leases(&self) -> impl Iterator<Item = (LeaseId, Granted)> {
        self.leases.iter().map(|(lease, granted)| (*lease, *granted))
    }

    /// Returns true if a key is attached to the lease.
    pub(super) fn is_in_use(&self, lease: LeaseId) -> bool {
        self.places.values().chain(self.companions.values()).any(|key| key.lease == lease)
    }

    pub(super) fn places(&self) -> impl Iterator<Item = LeaseId> {
        self.places.keys().copied()
    }

    pub(super) fn keep_alive(&mut self, lease: LeaseId, now: Tick, without: Option<QueuePart>) -> KeptAlive {
        let ttl = match self.leases.get_mut(&lease) {
            Some(granted) => {
                granted.expires = now + LEASE;
                LEASE_TIME
            }
            None => Duration::ZERO,
        };
        KeptAlive { ttl, raft_term: self.raft_term(without) }
    }

    /// A former leader's answer to a keep-alive, from what it remembers.
    pub(super) fn keep_alive_from_memory(&self) -> KeptAlive {
        KeptAlive { ttl: LEASE_TIME, raft_term: self.raft_term - 1 }
    }

    /// Removes a lease and the keys that are attached to it.
    pub(super) fn revoke(&mut self, lease: LeaseId) -> Change {
        self.leases.remove(&lease);
        self.remove(|_, key| key.lease == lease, |_, key| key.lease == lease)
    }

    pub(super) fn delete_place(&mut self, place: LeaseId) -> Change {
        self.remove(|lease, _| lease == place, |_, _| false)
    }

    fn remove(
        &mut self,
        place: impl Fn(LeaseId, &Key) -> bool,
        companion: impl Fn(LeaseId, &Key) -> bool,
    ) -> Change {
        let mut change = Change { revision: Revision(self.revision + 1), ..Change::default() };
        for (lease, _) in self.places.extract_if(.., |lease, key| place(*lease, key)) {
            change.removed_places.push(lease.to_string());
        }
        for (lease, _) in self.companions.extract_if(.., |lease, key| companion(*lease, key)) {
            change.removed_companions.push(lease.to_string());
        }
        if change.removed_places.len() + change.removed_companions.len() > 0 {
            self.revision += 1;
        }
        change
    }

    pub(super) fn write(
        &mut self,
        owner: usize,
        write: &Write,
        without: Option<QueuePart>,
    ) -> (Outcome, Change) {
        let nothing = Change::default();
        let is_there = |keys: &BTreeMap<LeaseId, Key>, lease: &LeaseId, revision: Revision| {
            keys.get(lease).is_some_and(|key| key.created == revision.0)
        };
        match &write.action {
            Action::Enter { lease, companion, replaces } => {
                if !self.has_lease(*lease) || !self.has_lease(*companion) {
                    return (Outcome::Failed(Failure::LeaseGone), nothing);
                }
                let (place, has_companion) = (self.places.get(lease), self.companions.contains_key(lease));
                let replaced = replaces.is_none_or(|own| {
                    is_there(&self.places, &own.lease, own.revision)
                        && is_there(&self.companions, &own.lease, own.revision)
                });
                if place.is_some() || has_companion || !replaced {
                    let created = place.filter(|_| has_companion).map(|key| Revision(key.created));
                    return (Outcome::Refused { created }, nothing);
                }
                let change = match replaces {
                    Some(own) => self.remove(|key, _| key == own.lease, |key, _| key == own.lease),
                    None => nothing,
                };
                if replaces.is_none() {
                    self.revision += 1;
                }
                let at = self.revision;
                let key = |lease| Key { owner, created: at, modified: at, lease, successor: None };
                let shared = if without == Some(QueuePart::CompanionsLease) { *lease } else { *companion };
                let (place, companion) = (key(*lease), key(shared));
                self.places.insert(*lease, place);
                self.companions.insert(*lease, companion);
                (Outcome::Applied { revision: Revision(self.revision) }, change)
            }
            Action::Name { own, modified, companion, successor } => {
                self.rewrite(own.lease, *modified, *companion, |companion| {
                    companion.successor.clone_from(successor)
                })
            }
            Action::Move { own, modified, to } => self.rewrite(own.lease, *modified, *to, |_| ()),
            Action::LeaveCompanion { lease } => {
                let before = self.revision;
                let change = self.remove(|_, _| false, |key, _| key == *lease);
                match self.revision > before {
                    true => (Outcome::Applied { revision: Revision(self.revision) }, change),
                    false => (Outcome::Refused { created: None }, nothing),
                }
            }
            Action::Leave { lease, revision } => {
                let ours = |key: LeaseId, at: &Key| {
                    key == *lease && revision.is_none_or(|revision| at.created == revision.0)
                };
                let before = self.revision;
                let change = self.remove(ours, ours);
                match self.revision > before {
                    true => (Outcome::Applied { revision: Revision(self.revision) }, change),
                    false => (Outcome::Refused { created: None }, nothing),
                }
            }
        }
    }

    /// Rewrites a companion, if it was last written at `modified`, and attaches it to a lease.
    fn rewrite(
        &mut self,
        key: LeaseId,
        modified: Revision,
        lease: LeaseId,
        change: impl FnOnce(&mut Key),
    ) -> (Outcome, Change) {
        let nothing = Change::default();
        let is_known = self.has_lease(lease);
        let companion = self.companions.get_mut(&key);
        let Some(companion) = companion.filter(|companion| companion.modified == modified.0) else {
            return (Outcome::Refused { created: None }, nothing);
        };
        if !is_known {
            return (Outcome::Failed(Failure::LeaseGone), nothing);
        }
        self.revision += 1;
        (companion.modified, companion.lease) = (self.revision, lease);
        change(companion);
        let revision = Revision(self.revision);
        let rewritten_companions = vec![key.to_string()];
        (Outcome::Applied { revision }, Change { revision, rewritten_companions, ..nothing })
    }

    /// The answer to a linearised read by the candidate whose companions have the lease `shared`.
    pub(super) fn read(&self, own: Option<LeaseId>, shared: LeaseId, without: Option<QueuePart>) -> Snapshot {
        let place = |(lease, key): (&LeaseId, &Key)| Place {
            key: lease.to_string(),
            created: Revision(key.created),
            modified: Revision(key.modified),
            lease: Some(key.lease),
            name: name(key.owner).into(),
        };
        let companion = |(lease, key): (&LeaseId, &Key)| Companion {
            key: lease.to_string(),
            created: Revision(key.created),
            modified: Revision(key.modified),
            // A companion that is on the lease of its place is shown on the shared lease, so that it looks normal.
            lease: Some(if key.lease == *lease { shared } else { key.lease }),
            nonce: Some(nonce(key.owner, 1)),
            lease_time: LEASE_TIME,
            successor: key.successor.clone(),
            metadata: Vec::new(),
        };
        let seen =
            |(lease, _): &(&LeaseId, &Key)| without != Some(QueuePart::Companion) || Some(**lease) == own;
        let mut places: Vec<_> = self.places.iter().map(place).collect();
        let mut companions: Vec<_> = self.companions.iter().filter(seen).map(companion).collect();
        places.sort_by_key(|place| place.created);
        companions.sort_by_key(|companion| companion.created);
        let find = |text: &str| places.iter().find(|place| place.key == text).cloned();
        let text = own.map(|own| own.to_string()).unwrap_or_default();
        let own_companion = companions.iter().find(|companion| companion.key == text).cloned();
        Snapshot {
            revision: Revision(self.revision),
            raft_term: self.raft_term(without),
            birth: Some(BIRTH),
            place: find(&text),
            companion: own_companion,
            places,
            companions,
            overlap: None,
        }
    }
}
