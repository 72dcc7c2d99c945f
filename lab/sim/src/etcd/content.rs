//! The content of an etcd: the keys of one election, its leases, and one revision for everything.

use std::collections::BTreeMap;
use std::time::Duration;

use incumbent_core::queue::{
    Action, Change, Companion, Failure, LeaseId, Outcome, Own, Place, Snapshot, Write,
};
use incumbent_core::record::Nonce;
use incumbent_core::{Incarnation, Instant, Revision};

/// The keys and leases at one moment.
#[derive(Clone, Debug)]
pub(crate) struct Content {
    pub(crate) revision: u64,
    pub(crate) birth: Option<Birth>,
    /// The places and the companions. The part of their keys after the election's name is the index.
    pub(crate) places: BTreeMap<String, Key<String>>,
    pub(crate) companions: BTreeMap<String, Key<Author>>,
    /// The keys of the second election.
    second: Keys,
    pub(crate) leases: BTreeMap<LeaseId, Lease>,
}

/// The places and the companions of an election.
type Keys = (BTreeMap<String, Key<String>>, BTreeMap<String, Key<Author>>);

/// The birth record.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Birth {
    pub(crate) incarnation: Incarnation,
    pub(crate) never_used: bool,
    pub(crate) made: Instant,
}

/// A lease as it was granted.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Lease {
    pub(crate) ttl: Duration,
    /// The raft term of the log entry that granted the lease.
    pub(crate) raft_term: u64,
}

#[derive(Clone, Debug)]
pub(crate) struct Key<V> {
    pub(crate) created: u64,
    pub(crate) modified: u64,
    pub(crate) lease: Option<LeaseId>,
    pub(crate) value: V,
}

/// The candidate that writes, and what its companion states about the candidate.
#[derive(Clone, Debug)]
pub(crate) struct Author {
    pub(crate) name: String,
    pub(crate) nonce: Nonce,
    pub(crate) lease_time: Duration,
    pub(crate) successor: Option<String>,
}

impl Content {
    pub(crate) fn new() -> Self {
        Self {
            revision: 1,
            birth: None,
            places: BTreeMap::new(),
            companions: BTreeMap::new(),
            second: Keys::default(),
            leases: BTreeMap::new(),
        }
    }

    /// Calls `act` on the keys of the first or the second election.
    pub(crate) fn of<T>(&mut self, second: bool, act: impl FnOnce(&mut Self) -> T) -> T {
        if second {
            self.swap();
        }
        let result = act(self);
        if second {
            self.swap();
        }
        result
    }

    fn swap(&mut self) {
        std::mem::swap(&mut self.places, &mut self.second.0);
        std::mem::swap(&mut self.companions, &mut self.second.1);
    }

    /// Writes a birth record if there is none, and returns it.
    pub(crate) fn born(&mut self, now: Instant, never_used: bool) -> Birth {
        let incarnation = Incarnation(now.as_nanos() / 1_000_000);
        if self.birth.is_none() {
            self.revision += 1;
        }
        *self.birth.get_or_insert(Birth { incarnation, never_used, made: now })
    }

    /// The first place.
    pub(crate) fn first(&self) -> Option<(&String, &Key<String>)> {
        self.places.iter().min_by_key(|(_, key)| key.created)
    }

    /// Whether both keys of a candidacy still exist and are the ones that it created.
    fn stand(&self, own: &Own) -> bool {
        let (key, created) = (own.lease.to_string(), own.revision.0);
        let place = self.places.get(&key).is_some_and(|key| key.created == created);
        place && self.companions.get(&key).is_some_and(|key| key.created == created)
    }

    /// Applies a transaction.
    pub(crate) fn write(&mut self, write: &Write, author: &Author) -> (Outcome, Change) {
        let refused = (Outcome::Refused { created: None }, Change::default());
        match &write.action {
            Action::Enter { lease, companion, replaces } => {
                if !self.leases.contains_key(lease) || !self.leases.contains_key(companion) {
                    return (Outcome::Failed(Failure::LeaseGone), Change::default());
                }
                let name = lease.to_string();
                let (place, beside) = (self.places.get(&name), self.companions.contains_key(&name));
                let replaced = replaces.is_none_or(|own| self.stand(&own));
                if place.is_some() || beside || !replaced {
                    let ours = place.filter(|place| beside && place.lease == Some(*lease));
                    let created = ours.map(|place| Revision(place.created));
                    return (Outcome::Refused { created }, Change::default());
                }
                let change = match replaces.map(|own| own.lease.to_string()) {
                    Some(own) => self.remove(|key, _| *key == own, |key, _| *key == own),
                    None => Change::default(),
                };
                if change.revision == Revision(0) {
                    self.revision += 1;
                }
                let (created, modified) = (self.revision, self.revision);
                let place = Key { created, modified, lease: Some(*lease), value: author.name.clone() };
                let beside = Key { created, modified, lease: Some(*companion), value: author.clone() };
                self.places.insert(name.clone(), place);
                self.companions.insert(name, beside);
                (Outcome::Applied { revision: Revision(created) }, change)
            }
            Action::Name { own, modified, companion, successor } => {
                let name = own.lease.to_string();
                let stands = |key: &&mut Key<Author>| key.modified == modified.0;
                let Some(key) = self.companions.get_mut(&name).filter(stands) else { return refused };
                if !self.leases.contains_key(companion) {
                    return (Outcome::Failed(Failure::LeaseGone), Change::default());
                }
                self.revision += 1;
                (key.modified, key.lease) = (self.revision, Some(*companion));
                key.value.successor.clone_from(successor);
                let revision = Revision(self.revision);
                let change = Change { revision, rewritten_companions: vec![name], ..Change::default() };
                (Outcome::Applied { revision }, change)
            }
            Action::Move { own, modified, to } => {
                let name = own.lease.to_string();
                let stands = |key: &&mut Key<Author>| key.modified == modified.0;
                let Some(key) = self.companions.get_mut(&name).filter(stands) else { return refused };
                if !self.leases.contains_key(to) {
                    return (Outcome::Failed(Failure::LeaseGone), Change::default());
                }
                self.revision += 1;
                (key.modified, key.lease) = (self.revision, Some(*to));
                let revision = Revision(self.revision);
                let change = Change { revision, rewritten_companions: vec![name], ..Change::default() };
                (Outcome::Applied { revision }, change)
            }
            Action::LeaveCompanion { lease } => {
                let name = lease.to_string();
                let change = self.remove(|_, _| false, |key, _| *key == name);
                match change.revision {
                    Revision(0) => refused,
                    revision => (Outcome::Applied { revision }, change),
                }
            }
            Action::Leave { lease, revision } => {
                let name = lease.to_string();
                let ours = |created| revision.is_none_or(|revision| created == revision.0);
                let change = self.remove(
                    |key, place| *key == name && ours(place.created),
                    |key, beside| *key == name && ours(beside.created),
                );
                match change.revision {
                    Revision(0) => refused,
                    revision => (Outcome::Applied { revision }, change),
                }
            }
        }
    }

    /// Removes a lease and the keys attached to it, at one revision. Returns the change in each election.
    pub(crate) fn revoke(&mut self, lease: LeaseId) -> [Change; 2] {
        self.leases.remove(&lease);
        let before = self.revision;
        let detach =
            |all: &mut Self| all.remove(|_, key| key.lease == Some(lease), |_, key| key.lease == Some(lease));
        let first = detach(self);
        self.revision = before;
        let second = self.of(true, detach);
        self.revision = self.revision.max(first.revision.0);
        [first, second]
    }

    pub(crate) fn delete_place(&mut self, place: &str) -> Change {
        self.remove(|key, _| key == place, |_, _| false)
    }

    /// Puts a place for an operator or a foreign candidate. Returns the revision that created its key.
    pub(crate) fn put_place(&mut self, place: &str, lease: Option<LeaseId>, value: &str) -> u64 {
        self.revision += 1;
        let created = self.places.get(place).map_or(self.revision, |key| key.created);
        let key = Key { created, modified: self.revision, lease, value: value.into() };
        self.places.insert(place.into(), key);
        created
    }

    /// Removes keys at one revision. The change's revision is zero if no key was removed.
    fn remove(
        &mut self,
        place: impl Fn(&String, &Key<String>) -> bool,
        companion: impl Fn(&String, &Key<Author>) -> bool,
    ) -> Change {
        let mut change = Change::default();
        change
            .removed_places
            .extend(self.places.extract_if(.., |key, at| place(key, at)).map(|(key, _)| key));
        change
            .removed_companions
            .extend(self.companions.extract_if(.., |key, at| companion(key, at)).map(|(key, _)| key));
        if change.removed_places.len() + change.removed_companions.len() > 0 {
            self.revision += 1;
            change.revision = Revision(self.revision);
        }
        change
    }

    /// A linearised read.
    pub(crate) fn read(&self, own: Option<LeaseId>, whole: bool, raft_term: u64) -> Snapshot {
        let own = own.map(|lease| lease.to_string());
        let place = |(key, place): (&String, &Key<String>)| Place {
            key: key.clone(),
            created: Revision(place.created),
            modified: Revision(place.modified),
            lease: place.lease,
            name: place.value.clone(),
        };
        let companion = |(key, beside): (&String, &Key<Author>)| Companion {
            key: key.clone(),
            created: Revision(beside.created),
            modified: Revision(beside.modified),
            lease: beside.lease,
            nonce: Some(beside.value.nonce),
            lease_time: beside.value.lease_time,
            successor: beside.value.successor.clone(),
            metadata: Vec::new(),
        };
        let mut places: Vec<_> = self.places.iter().collect();
        let mut companions: Vec<_> = self.companions.iter().collect();
        places.sort_by_key(|(_, place)| place.created);
        companions.sort_by_key(|(_, companion)| companion.created);
        let most = if whole { usize::MAX } else { 2 };
        Snapshot {
            revision: Revision(self.revision),
            raft_term,
            birth: self.birth.map(|birth| birth.incarnation),
            place: own.as_ref().and_then(|own| self.places.get_key_value(own)).map(place),
            companion: own.as_ref().and_then(|own| self.companions.get_key_value(own)).map(companion),
            places: places.into_iter().take(most).map(place).collect(),
            companions: companions.into_iter().take(most).map(companion).collect(),
            overlap: None,
        }
    }
}
