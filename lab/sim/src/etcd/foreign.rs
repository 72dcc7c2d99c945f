//! Foreign candidates in the same queue, by the rules of Go's `concurrency.Election`. Such a candidate puts a key on
//! its session's lease, waits until every key ahead of that key is deleted, and then leads. It resigns by deleting its
//! key. It does not notice what else happens to the key or the session.

use std::fmt::Write as _;
use std::time::Duration;

use incumbent_core::queue::{Change, LeaseId};

use super::{Event, World};
use crate::dice::Dice;
use crate::observation::Observation;

/// The first foreign candidate's stream of random numbers.
const STREAM: u64 = 0x4_0000;

#[derive(Debug)]
pub(super) struct Foreign {
    dice: Dice,
    lease: LeaseId,
    /// Counts its sessions.
    session: u64,
    /// The revision that created the candidate's key; `None` while it does not campaign.
    created: Option<u64>,
    believes: bool,
    /// Whether the foreign candidate's key vanished while the candidate believed that it led. A backup may bring the
    /// key back.
    lost: bool,
    /// Whether the candidate was reported as leading: it believes that it leads, and its key has existed ever since it
    /// began to.
    leads: bool,
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum ForeignEvent {
    /// It begins a session.
    Begin,
    /// It puts its key.
    Campaign {
        session: u64,
    },
    KeepAlive {
        session: u64,
    },
    /// The foreign candidate's watch shows that the key ahead of its own was deleted.
    Look {
        session: u64,
    },
    Resign {
        session: u64,
    },
    /// Its process dies.
    Die {
        session: u64,
    },
}

impl World {
    pub(super) fn start_foreign(&mut self) {
        for peer in 0..self.plan.choice.peers {
            let mut dice = Dice::new(self.plan.choice.seed, STREAM + peer as u64);
            let wait = dice.millis(0, 3_000);
            let (lease, session) = (LeaseId(0), 0);
            self.store.peers.push(Foreign {
                dice,
                lease,
                session,
                created: None,
                believes: false,
                lost: false,
                leads: false,
            });
            self.after(wait, Event::Foreign { peer, event: ForeignEvent::Begin });
        }
    }

    fn foreign_after(&mut self, peer: usize, wait: Duration, event: ForeignEvent) {
        self.after(wait, Event::Foreign { peer, event });
    }

    pub(super) fn foreign(&mut self, peer: usize, event: ForeignEvent) {
        let present = self.store.peers[peer].session;
        let reachable = self.store.cluster.leader.is_some();
        let ttl = self.plan.lease;
        match event {
            ForeignEvent::Begin => {
                self.foreign_stops(peer);
                self.store.peers[peer].session += 1;
                let session = self.store.peers[peer].session;
                let lease = LeaseId((self.store.peers[peer].dice.number() >> 1).max(1));
                let granted = if reachable { self.store.cluster.grant(self.now, lease, ttl) } else { None };
                let Some(at) = granted else {
                    return self.foreign_after(peer, Duration::from_secs(1), ForeignEvent::Begin);
                };
                self.expire_after(lease, at);
                self.store.peers[peer].lease = lease;
                self.foreign_after(peer, ttl / 3, ForeignEvent::KeepAlive { session });
                self.foreign_after(peer, Duration::from_millis(2), ForeignEvent::Campaign { session });
                if self.store.peers[peer].dice.percent(30) {
                    let wait = self.store.peers[peer].dice.millis(0, 5 * ttl.as_millis() as u64);
                    self.foreign_after(peer, wait, ForeignEvent::Die { session });
                }
            }
            ForeignEvent::Campaign { session } if session == present => {
                let lease = self.store.peers[peer].lease;
                if !reachable || !self.store.cluster.content.leases.contains_key(&lease) {
                    return self.foreign_after(peer, Duration::from_secs(1), ForeignEvent::Begin);
                }
                let name = lease.to_string();
                let created = self.store.cluster.content.put_place(&name, Some(lease), &format!("go-{peer}"));
                self.note(|trace| write!(trace, "go-{peer}: has its place at {created}"));
                self.store.peers[peer].created = Some(created);
                self.changed(&Change::default());
            }
            ForeignEvent::KeepAlive { session } if session == present => {
                // Sometimes the candidate is stopped for longer than its lease.
                let stopped = !self.quiet && self.store.peers[peer].dice.percent(3);
                if reachable {
                    self.store.cluster.keep_alive(self.now, self.store.peers[peer].lease);
                }
                let wait = if stopped { ttl * 3 / 2 } else { ttl / 3 };
                self.foreign_after(peer, wait, ForeignEvent::KeepAlive { session });
            }
            ForeignEvent::Look { session } if session == present => {
                let created = self.store.peers[peer].created;
                let first = created.filter(|created| self.is_first(*created));
                if first.is_some() && !self.store.peers[peer].believes {
                    self.store.peers[peer].believes = true;
                    let term = self.store.peers[peer].dice.millis(100, 2 * ttl.as_millis() as u64);
                    self.foreign_after(peer, term, ForeignEvent::Resign { session });
                    self.foreign_look();
                }
            }
            ForeignEvent::Resign { session } if session == present => {
                if !reachable {
                    return self.foreign_after(peer, Duration::from_secs(1), event);
                }
                let name = self.store.peers[peer].lease.to_string();
                self.foreign_stops(peer);
                let change = self.store.cluster.content.delete_place(&name);
                self.changed(&change);
                let rest = self.store.peers[peer].dice.millis(100, 3 * ttl.as_millis() as u64);
                self.foreign_after(peer, rest, ForeignEvent::Campaign { session });
            }
            // In the phase without faults no foreign candidate dies, because others would have to wait for its lease.
            ForeignEvent::Die { session } if session == present && !self.quiet => {
                self.store.peers[peer].session += 1;
                self.foreign_stops(peer);
                let rest = self.store.peers[peer].dice.millis(100, 2 * ttl.as_millis() as u64);
                self.foreign_after(peer, rest, ForeignEvent::Begin);
            }
            // The event belongs to an earlier session.
            _ => {}
        }
    }

    /// Whether no place was created before `created`.
    fn is_first(&self, created: u64) -> bool {
        self.store.cluster.content.places.values().all(|place| place.created >= created)
    }

    /// Lets an operator delete the places of foreign candidates that a backup brought back. The sessions of their
    /// owners keep these places alive, while the owners wait for the same places to disappear, because each owner knows
    /// only the place that it put last.
    pub(super) fn delete_forgotten(&mut self) {
        let places = &self.store.cluster.content.places;
        let stands = |peer: &Foreign| {
            let (key, created) = (peer.lease.to_string(), peer.created);
            places.get(&key).is_some_and(|place| Some(place.created) != created).then_some(key)
        };
        let forgotten: Vec<_> = self.store.peers.iter().filter_map(stands).collect();
        for place in forgotten {
            let change = self.store.cluster.content.delete_place(&place);
            self.changed(&change);
        }
    }

    fn foreign_stops(&mut self, peer: usize) {
        let at = &mut self.store.peers[peer];
        (at.created, at.believes, at.lost) = (None, false, false);
        self.foreign_leads(peer, false);
    }

    fn foreign_leads(&mut self, peer: usize, leads: bool) {
        if self.store.peers[peer].leads != leads {
            self.store.peers[peer].leads = leads;
            self.note(|trace| write!(trace, "go-{peer}: {}", if leads { "leads" } else { "leads no more" }));
            self.observe(&Observation::Peer { peer, leads });
        }
    }

    /// Finds, after a change, which foreign candidates lead, and which ones now see that no key is ahead of theirs.
    pub(super) fn foreign_look(&mut self) {
        for peer in 0..self.store.peers.len() {
            let (session, believes) = (self.store.peers[peer].session, self.store.peers[peer].believes);
            let Some(created) = self.store.peers[peer].created else { continue };
            let key = self.store.peers[peer].lease.to_string();
            let stands =
                self.store.cluster.content.places.get(&key).is_some_and(|place| place.created == created);
            // Once its key has vanished, the candidate no longer counts as leading, whatever it believes.
            self.store.peers[peer].lost |= believes && !stands;
            self.foreign_leads(peer, believes && !self.store.peers[peer].lost);
            if !believes && self.is_first(created) {
                let latency = self.store.peers[peer].dice.micros(100, 3_000);
                self.foreign_after(peer, latency, ForeignEvent::Look { session });
            }
        }
    }
}
