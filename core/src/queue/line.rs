//! The queue as one candidate observes it: the places and companions ahead of its own.
//!
//! Revisions only grow, so no key is ever created ahead of an existing one. After one read of the whole queue, the set
//! of keys ahead can only shrink.
//!
//! # A lease may be revoked before its time
//!
//! Suppose that the member that led etcd was stopped, or its disk hung, and it continues after another member was
//! elected. It takes leases for expired that were kept alive without it, and may propose to revoke them before it
//! learns of the other leader. The other leader then revokes them (etcd issue 15247; measured on 3.7.3 as well, whose
//! check asks only whether the member is alive). So if a companion disappears without a release, its owner may still
//! count on the lease, and the next leader waits for a lease from then on.
//!
//! There is one case in which that cannot happen. A member knows a lease only once it has applied the grant, and gives
//! up its leadership before it applies anything of a later raft term. So a former leader cannot revoke a lease that was
//! granted in the present term. If the companion on such a lease disappears, the lease did run out. The [lease's
//! number](LeaseId::of_companions) shows the term in which it was granted.

use alloc::string::String;
use alloc::vec::Vec;
use core::time::Duration;

use super::io::{Change, Companion, LeaseId, Place, Snapshot};
use crate::campaign::Leader;
use crate::time::Instant;
use crate::token::Revision;

/// The keys ahead of one candidacy.
#[derive(Clone, Debug, Default, Hash)]
pub(super) struct Line {
    /// Whether the whole queue was read since the candidacy entered, so that any disappearance is noticed from then on.
    observed: bool,
    /// Whether the whole queue was read, and the watch has missed no change since then.
    known: bool,
    places: Vec<Ahead>,
    companions: Vec<Ahead>,
    /// The companions that disappeared although no release was seen.
    vanished: Vec<Vanished>,
    /// The first companion's key, and the successor that it names.
    front: Option<(String, Option<String>)>,
    /// The first companion, if it has no place.
    alone: Option<Alone>,
}

/// A companion whose place is gone.
#[derive(Clone, Copy, Debug, Hash)]
struct Alone {
    created: Revision,
    lease: LeaseId,
    since: Instant,
}

#[derive(Clone, Debug, Hash)]
struct Ahead {
    key: String,
    created: Revision,
    /// The candidate's name, for a place; empty for a companion.
    name: String,
    /// For a companion, the lease to which the key was attached when last read.
    lease: Option<LeaseId>,
}

#[derive(Clone, Debug, Hash)]
struct Vanished {
    key: String,
    noticed: Instant,
    /// The lease to which the companion was attached, if that was read.
    lease: Option<LeaseId>,
}

impl Ahead {
    fn vanished(self, noticed: Instant) -> Vanished {
        Vanished { key: self.key, noticed, lease: self.lease }
    }
}

impl Line {
    /// Whether a read need not show the whole queue again.
    pub(super) fn is_known(&self) -> bool {
        self.known
    }

    /// The watch missed changes.
    pub(super) fn forget(&mut self) {
        self.known = false;
    }

    /// Takes in what a read showed to the candidacy that entered at `revision`. Returns whether this is the candidacy's
    /// first read of the whole queue, so that it did not observe what disappeared before.
    pub(super) fn observe(
        &mut self,
        snapshot: &Snapshot,
        whole: bool,
        revision: Revision,
        now: Instant,
    ) -> bool {
        let before = |created: Revision| created < revision;
        self.front = snapshot.companions.first().map(|first| (first.key.clone(), first.successor.clone()));
        let front = snapshot.companions.first().map_or(revision, |first| first.created);
        // A place and its companion are created at the same revision.
        let has_no_place = front < snapshot.places.first().map_or(Revision(u64::MAX), |first| first.created);
        let lease = snapshot.companions.first().and_then(|first| first.lease).filter(|_| has_no_place);
        let known = self.alone.filter(|alone| alone.created == front);
        self.alone = lease.map(|lease| {
            let since = known.map_or(now, |alone| alone.since);
            Alone { created: front, lease, since }
        });
        let gone = |ahead: &Ahead| match whole {
            true => snapshot.companions.iter().all(|companion| companion.created != ahead.created),
            false => ahead.created < front,
        };
        self.vanished
            .extend(self.companions.extract_if(.., |ahead| gone(ahead)).map(|ahead| ahead.vanished(now)));
        for ahead in &mut self.companions {
            let shown = snapshot.companions.iter().find(|companion| companion.created == ahead.created);
            ahead.lease = shown.map_or(ahead.lease, |companion| companion.lease);
        }
        // No earlier leader of the store knew a lease of this raft term, so the lease ran out normally.
        let ran_out = |lease: LeaseId| lease.raft_term() == snapshot.raft_term;
        self.vanished.retain(|at| snapshot.may_have_a_former_leader() && !at.lease.is_some_and(ran_out));
        let is_first = whole && !self.observed;
        (self.observed, self.known) = (self.observed || whole, self.known || whole);
        if is_first {
            let place = |place: &Place| Ahead {
                key: place.key.clone(),
                created: place.created,
                name: place.name.clone(),
                lease: None,
            };
            let companion = |companion: &Companion| Ahead {
                key: companion.key.clone(),
                created: companion.created,
                name: String::new(),
                lease: companion.lease,
            };
            self.places = snapshot.places.iter().filter(|at| before(at.created)).map(place).collect();
            self.companions =
                snapshot.companions.iter().filter(|at| before(at.created)).map(companion).collect();
        } else {
            // A key whose removal the watch showed is not ahead again, even if an older read still shows the key.
            let first = snapshot.places.first().map_or(revision, |first| first.created);
            let stands = |ahead: &Ahead| match whole {
                true => snapshot.places.iter().any(|place| place.created == ahead.created),
                false => ahead.created >= first,
            };
            self.places.retain(stands);
        }
        is_first
    }

    /// Takes in a change. Returns whether the change cleared the way: a key that was ahead or waited for is gone, and
    /// no key is known to be ahead now.
    pub(super) fn change(&mut self, change: &Change, now: Instant) -> bool {
        let release = release(change);
        let (ahead, vanished) = (self.ahead(), self.vanished.len());
        if let Some(released) = release {
            self.vanished.retain(|at| at.key != released);
        }
        let is_withdrawn = self.vanished.len() < vanished;
        self.places.retain(|ahead| !change.removed_places.contains(&ahead.key));
        for ahead in self.companions.extract_if(.., |ahead| change.removed_companions.contains(&ahead.key)) {
            if release != Some(ahead.key.as_str()) {
                self.vanished.push(ahead.vanished(now));
            }
        }
        self.known && (self.ahead() < ahead || is_withdrawn) && self.ahead() == 0
    }

    fn ahead(&self) -> usize {
        self.places.len() + self.companions.len()
    }

    /// The latest time at which a leader that disappeared without a release may still lead, if no lease is longer than
    /// `lease`.
    pub(super) fn vanished_until(&self, lease: Duration) -> Option<Instant> {
        self.vanished.iter().map(|at| at.noticed + lease).max()
    }

    /// The lease of a companion that has been ahead without its place for `lease`. A live owner deletes such a
    /// companion within a lease; otherwise the companion runs out within a lease.
    pub(super) fn in_the_way(&mut self, lease: Duration, now: Instant) -> Option<LeaseId> {
        let alone = self.alone.as_mut().filter(|alone| alone.since + lease <= now)?;
        alone.since = now;
        Some(alone.lease)
    }

    /// The leader that is handing over and its successor, if a successor is named.
    pub(super) fn handing_over(&self) -> Option<(&str, &str)> {
        let (leader, successor) = self.front.as_ref()?;
        Some((leader, successor.as_deref()?))
    }

    /// Whether `key` belongs to the first companion.
    pub(super) fn is_front(&self, key: &str) -> bool {
        self.front.as_ref().is_some_and(|(front, _)| front == key)
    }

    /// Whether a candidate with this name is ahead.
    pub(super) fn has_ahead(&self, name: &str) -> bool {
        self.places.iter().any(|ahead| ahead.name == name)
    }
}

/// The candidate that this change releases. A release removes the place and the companion of one candidacy and nothing
/// else. When leases expire or an operator deletes keys, the two keys disappear at different revisions or together with
/// others.
fn release(change: &Change) -> Option<&str> {
    match (&change.removed_places[..], &change.removed_companions[..]) {
        ([place], [companion]) if place == companion => Some(companion),
        _ => None,
    }
}

/// Whether no place and no companion was created before `revision`.
pub(super) fn is_first(snapshot: &Snapshot, revision: Revision) -> bool {
    snapshot.places.iter().all(|place| place.created >= revision)
        && snapshot.companions.iter().all(|companion| companion.created >= revision)
}

/// Whether the successor comes directly after the candidate that entered at `revision`, or why not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Next {
    /// The candidate is next in both queues.
    Is,
    /// The successor is in the queue, but behind other candidates of ours.
    Behind,
    /// The successor is behind a foreign candidate with this name.
    Foreign(String),
    /// The successor is not in the queue.
    Absent,
}

/// The position of the candidate `name` in a whole queue led by the candidate that entered at `revision`.
pub(super) fn next(snapshot: &Snapshot, revision: Revision, name: &str) -> Next {
    let is_ours = |place: &Place| companion(snapshot, place).is_some();
    let after = || snapshot.places.iter().filter(|place| place.created > revision);
    let Some(successor) = after().find(|place| place.name == name && is_ours(place)) else {
        return Next::Absent;
    };
    let mut before = after().take_while(|place| place.created < successor.created);
    if let Some(foreign) = before.clone().find(|place| !is_ours(place)) {
        return Next::Foreign(foreign.name.clone());
    }
    let companions_before =
        snapshot.companions.iter().any(|at| at.created > revision && at.created < successor.created);
    match before.next().is_some() || companions_before {
        true => Next::Behind,
        false => Next::Is,
    }
}

/// The companion of a place; foreign candidates have none.
pub(super) fn companion<'a>(snapshot: &'a Snapshot, place: &Place) -> Option<&'a Companion> {
    snapshot.companions.iter().find(|at| at.key == place.key && at.created == place.created)
}

/// The leader that a read showed, which is the first place. If keys of another prefix also count as places, only a
/// candidate of ours counts.
pub(super) fn leader(snapshot: &Snapshot) -> Option<Leader> {
    let place = snapshot.places.first()?;
    let companion = companion(snapshot, place);
    if snapshot.overlap.is_some() && companion.is_none() {
        return None;
    }
    Some(Leader {
        name: place.name.clone(),
        nonce: companion.and_then(|companion| companion.nonce),
        revision: place.created,
        metadata: companion.map(|companion| companion.metadata.clone()).unwrap_or_default(),
    })
}
