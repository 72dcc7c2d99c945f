//! Members that use goNELI, by its rules. The assignment makes a member the leader at once, and any member's heartbeat
//! that it reads keeps it the leader. Its leader flag falls with a revocation, or when it has read no heartbeat for
//! five seconds. The flag rises again when the owner reads a heartbeat.

use std::fmt::Write as _;
use std::time::Duration;

use incumbent_core::Instant;

use super::group::{MemberId, Reply};
use super::{Event, Request, Who, World};
use crate::dice::Dice;
use crate::observation::Observation;

/// The first member's stream of random numbers.
const STREAM: u64 = 0x6_0000;

/// The time without a heartbeat after which a member's leader flag falls.
const FENCED: Duration = Duration::from_secs(5);

/// The interval of a member's heartbeats. In goNELI it is a tenth of a second.
const HEARTBEAT: Duration = Duration::from_millis(500);

#[derive(Debug)]
pub(super) struct Peer {
    dice: Dice,
    /// Counts its memberships.
    session: u64,
    member: Option<MemberId>,
    /// The peer's generation; negative until it has one.
    generation: i32,
    /// Whether the peer owns partition zero. The owner writes heartbeats even while its flag is down, and the flag
    /// rises again when it reads one.
    owns: bool,
    leads: bool,
    /// When the peer last read a heartbeat.
    read: Instant,
    stopped_until: Instant,
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum PeerEvent {
    /// The peer joins the group, or joins again.
    Join {
        session: u64,
    },
    Pulse {
        session: u64,
    },
    /// It leaves the group properly.
    Leave {
        session: u64,
    },
    /// Its process dies.
    Die {
        session: u64,
    },
    /// The peer's process is stopped for a while.
    Stop {
        session: u64,
    },
}

impl World {
    pub(super) fn start_peers(&mut self) {
        for peer in 0..self.plan.choice.peers {
            let dice = Dice::new(self.plan.choice.seed, STREAM + peer as u64);
            let (member, generation, owns, leads, read) = (None, -1, false, false, self.now);
            let stopped_until = Instant::ZERO;
            let session = 0;
            let one = Peer { dice, session, member, generation, owns, leads, read, stopped_until };
            self.store.peers.push(one);
            self.peer_begins(peer);
        }
    }

    fn peer_begins(&mut self, peer: usize) {
        self.peer_owns(peer, false);
        let place = &mut self.store.peers[peer];
        (place.session, place.member, place.generation) = (place.session + 1, None, -1);
        let session = place.session;
        let wait = place.dice.millis(1, 3_000);
        let lease = self.plan.lease.as_millis() as u64;
        // In the phase without faults the peer leaves properly, and stays long enough for others to win between two
        // rebalances.
        let lives = place.dice.millis(lease, 12 * lease) * if self.quiet { 4 } else { 1 };
        let ends = match place.dice.below(3) {
            _ if self.quiet => PeerEvent::Leave { session },
            0 => PeerEvent::Leave { session },
            1 => PeerEvent::Die { session },
            _ => PeerEvent::Stop { session },
        };
        self.after(wait, Event::Peer { peer, event: PeerEvent::Pulse { session } });
        self.after(lives, Event::Peer { peer, event: ends });
    }

    pub(super) fn peer(&mut self, peer: usize, event: PeerEvent) {
        let place = &self.store.peers[peer];
        let present = place.session;
        let (PeerEvent::Join { session }
        | PeerEvent::Pulse { session }
        | PeerEvent::Leave { session }
        | PeerEvent::Die { session }
        | PeerEvent::Stop { session }) = event;
        if session != present {
            return;
        }
        let event = match event {
            PeerEvent::Die { session } | PeerEvent::Stop { session } if self.quiet => {
                PeerEvent::Leave { session }
            }
            event => event,
        };
        match event {
            PeerEvent::Join { .. } => {
                let member = place.member;
                let from = Who::Peer { peer, session };
                self.ask_group(from, Request::Join { member, holds: false });
            }
            PeerEvent::Pulse { .. } => {
                let runs = place.stopped_until <= self.now;
                self.after(HEARTBEAT, Event::Peer { peer, event: PeerEvent::Pulse { session } });
                if runs {
                    self.pulse(peer);
                }
            }
            PeerEvent::Leave { .. } | PeerEvent::Die { .. } => {
                let member = place.member;
                if let (Some(member), PeerEvent::Leave { .. }) = (member, event) {
                    self.ask_group(Who::Peer { peer, session }, Request::Leave { member });
                }
                self.peer_begins(peer);
            }
            PeerEvent::Stop { .. } => {
                let lease = self.plan.lease.as_millis() as u64;
                let place = &mut self.store.peers[peer];
                place.stopped_until = self.now + place.dice.millis(1, 5 * lease);
                let lives = place.dice.millis(6 * lease, 12 * lease);
                self.after(lives, Event::Peer { peer, event: PeerEvent::Die { session } });
            }
        }
    }

    fn pulse(&mut self, peer: usize) {
        let (now, session) = (self.now, self.store.peers[peer].session);
        if self.store.peers[peer].leads && now.since(self.store.peers[peer].read) > FENCED {
            self.peer_leads(peer, false);
        }
        if self.store.peers[peer].owns {
            let value = incumbent_core::induction::value(self.time_of_day(0), &format!("neli_{peer}"));
            if self.store.log.down == 0 {
                self.append_value(&value, &[]);
            }
        }
        let from = Who::Peer { peer, session };
        let Peer { member, generation, .. } = self.store.peers[peer];
        match member.filter(|_| generation >= 0) {
            Some(member) => self.ask_group(from, Request::Beat { member, generation, holds: false }),
            None => self.ask_group(from, Request::Join { member, holds: false }),
        }
    }

    /// Notes which member the peer is. It joins under that id until it gets an assignment.
    pub(super) fn peer_joins_as(&mut self, peer: usize, session: u64, id: MemberId) {
        let place = &mut self.store.peers[peer];
        if place.session == session && place.member.is_none() {
            (place.member, place.generation) = (Some(id), -1);
        }
    }

    /// Lets the owner read the appended records.
    pub(super) fn peers_read(&mut self) {
        for peer in 0..self.store.peers.len() {
            let place = &mut self.store.peers[peer];
            if place.owns && place.stopped_until <= self.now {
                place.read = self.now;
                self.peer_leads(peer, true);
            }
        }
    }

    /// The coordinator sends it something.
    pub(super) fn answer_peer(&mut self, peer: usize, session: u64, reply: &Reply) {
        if self.store.peers[peer].session != session || self.store.peers[peer].stopped_until > self.now {
            return;
        }
        match reply {
            Reply::Assigned { member, generation, owns } => {
                (self.store.peers[peer].member, self.store.peers[peer].generation) =
                    (Some(*member), *generation);
                if *owns && !self.store.peers[peer].leads {
                    self.store.peers[peer].read = self.now;
                }
                self.peer_owns(peer, *owns);
            }
            // The peer gives up everything and joins again.
            Reply::Rebalance => {
                self.peer_owns(peer, false);
                let wait = Duration::from_millis(2);
                self.after(wait, Event::Peer { peer, event: PeerEvent::Join { session } });
            }
            Reply::Unknown | Reply::Illegal | Reply::Fenced => {
                self.peer_owns(peer, false);
                self.store.peers[peer].member = None;
            }
            Reply::Beat => {}
        }
    }

    fn peer_owns(&mut self, peer: usize, owns: bool) {
        self.store.peers[peer].owns = owns;
        self.peer_leads(peer, owns);
    }

    fn peer_leads(&mut self, peer: usize, leads: bool) {
        if self.store.peers[peer].leads != leads {
            self.store.peers[peer].leads = leads;
            self.note(|trace| write!(trace, "neli {peer}: leads: {leads}"));
            self.observe(&Observation::Peer { peer, leads });
        }
    }
}
