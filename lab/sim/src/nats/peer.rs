//! Candidates of other software in the same election, by the published rules of the Go library `nats-kv-leader-elect`.
//!
//! - The key has a bare name.
//! - A candidate wins with `Create`, and keeps the key with `Update` and the last revision.
//! - It sends either request every three quarters of the bucket's TTL.
//! - It reports a win that much later.
//! - Any failed update is a loss.
//! - It never deletes anything.

use std::fmt::Write as _;
use std::time::Duration;

use incumbent_core::Revision;
use incumbent_core::record::{Entry, Headers, Kind as Message};

use super::cluster::{Put, Route};
use super::{Event, World};
use crate::dice::Dice;
use crate::kind::Kind;
use crate::observation::Observation;

/// The number of the stream from which the first such candidate draws its random numbers.
const STREAM: u64 = 0x2_0000;

/// The time for which the client waits for an answer.
const TIMEOUT: Duration = Duration::from_secs(5);

/// The time between the moment at which the first update is due and the report of the win.
const LATER: Duration = Duration::from_millis(50);

#[derive(Debug)]
pub(crate) struct Peer {
    dice: Dice,
    /// The number of the peer's last request. Answers to earlier requests are ignored.
    request: u64,
    /// The last revision that the peer knows, while it believes that it holds the key.
    held: Option<Revision>,
    /// Counts its successful acquires.
    acquires: u64,
    pub(crate) leads: bool,
}

/// Something that happens to such a candidate.
#[derive(Clone, Copy, Debug)]
pub(crate) enum PeerEvent {
    /// The peer creates the key, or updates it.
    Request,
    /// The request arrives at the store.
    Arrive { request: u64, expect: Option<Revision> },
    /// The answer arrives, with the new revision or a refusal.
    Answer { request: u64, revision: Option<Revision> },
    /// No answer came.
    GiveUp { request: u64 },
    /// The peer reports its win, if it has held the key since that acquire.
    Report { acquires: u64 },
}

impl World {
    /// Starts the candidates of other software, each after its own random wait.
    pub(super) fn peers_begin(&mut self) {
        for peer in 0..self.plan.choice.peers {
            let mut dice = Dice::new(self.plan.choice.seed, STREAM + peer as u64);
            let splay = dice.millis(0, self.peer_interval().as_millis() as u64);
            self.store.peers.push(Peer { dice, request: 0, held: None, acquires: 0, leads: false });
            self.after(splay, Event::Peer { peer, event: PeerEvent::Request });
        }
    }

    fn peer_interval(&self) -> Duration {
        self.plan.max_age * 3 / 4
    }

    pub(super) fn peer(&mut self, peer: usize, event: PeerEvent) {
        match event {
            PeerEvent::Request => self.peer_requests(peer),
            PeerEvent::Arrive { request, expect } => self.peer_arrives(peer, request, expect),
            PeerEvent::Answer { request, revision } if self.store.peers[peer].request == request => {
                self.peer_answered(peer, revision)
            }
            PeerEvent::GiveUp { request } if self.store.peers[peer].request == request => {
                self.peer_answered(peer, None)
            }
            PeerEvent::Report { acquires }
                if self.store.peers[peer].held.is_some() && self.store.peers[peer].acquires == acquires =>
            {
                self.peer_leads(peer, true)
            }
            PeerEvent::Answer { .. } | PeerEvent::GiveUp { .. } | PeerEvent::Report { .. } => {}
        }
    }

    fn peer_requests(&mut self, peer: usize) {
        self.store.peers[peer].request += 1;
        let (request, expect) = (self.store.peers[peer].request, self.store.peers[peer].held);
        // As with a ticker, the next request is sent on time even while this one is in flight.
        self.after(self.peer_interval(), Event::Peer { peer, event: PeerEvent::Request });
        self.after(TIMEOUT, Event::Peer { peer, event: PeerEvent::GiveUp { request } });
        self.peer_sends(peer, PeerEvent::Arrive { request, expect });
    }

    /// Sends a message through the network, in either direction.
    fn peer_sends(&mut self, peer: usize, event: PeerEvent) {
        let (lost, late) = (self.is_on(Kind::Loss), self.is_on(Kind::Delay));
        let dice = &mut self.store.peers[peer].dice;
        if lost && dice.percent(15) {
            return;
        }
        let latency = if late && dice.percent(15) { dice.millis(1, 12_000) } else { dice.micros(100, 3_000) };
        self.after(latency, Event::Peer { peer, event });
    }

    fn peer_arrives(&mut self, peer: usize, request: u64, expect: Option<Revision>) {
        let server = peer % self.plan.replicas;
        let Route::Leader(_) = self.store.cluster.route(server) else { return };
        let bucket = &self.store.cluster.bucket;
        let present = bucket.revision();
        let free = match expect {
            Some(revision) => revision == present,
            // `Create` writes over a deletion.
            None => !matches!(bucket.entry(), Entry::Live(_)),
        };
        let busy = self.store.in_flight.is_some() || self.is_on(Kind::Full);
        let revision = (free && !busy).then(|| {
            let (wall, value) = (self.store.cluster.leaders_wall(self.now), format!("go-{peer}"));
            let headers = &Headers::new();
            let put = Put { kind: Message::Live, value: &value, headers, ttl: None, write_id: None };
            self.store.cluster.bucket.put(&put, self.now, wall);
            self.key_changed();
            self.store.cluster.bucket.revision()
        });
        self.peer_sends(peer, PeerEvent::Answer { request, revision });
    }

    fn peer_answered(&mut self, peer: usize, revision: Option<Revision>) {
        self.store.peers[peer].request += 1;
        let interval = self.peer_interval();
        match revision {
            Some(_) if self.store.peers[peer].held.is_none() => {
                self.store.peers[peer].acquires += 1;
                let acquires = self.store.peers[peer].acquires;
                self.after(interval + LATER, Event::Peer { peer, event: PeerEvent::Report { acquires } });
            }
            None if self.store.peers[peer].leads => self.peer_leads(peer, false),
            _ => {}
        }
        self.store.peers[peer].held = revision;
    }

    fn peer_leads(&mut self, peer: usize, leads: bool) {
        self.note(|trace| write!(trace, "go-{peer}: {}", if leads { "OnWon" } else { "OnLost" }));
        self.store.peers[peer].leads = leads;
        self.observe(&Observation::Peer { peer, leads });
    }
}
