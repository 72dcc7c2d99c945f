//! The world of a run on a NATS bucket: candidates, a network, one or three servers, and candidates of the Go library.
//!
//! [`world`] describes how a run proceeds.

mod cluster;
mod driver;
mod faults;
mod network;
mod peer;
mod process;
mod quiet;
mod serve;

use std::collections::VecDeque;
use std::fmt::Write as _;
use std::time::Duration;

use incumbent_core::campaign::{self, KeyLease};
use incumbent_core::record::{Entry, Kind as Message};
use incumbent_core::store::{Capabilities, StoreInfo, Write};
use incumbent_core::{Incarnation, Instant, Revision};

use crate::dice::Dice;
use crate::kind::Kind;
use crate::observation::{Observation, Order};
use crate::oracle::Checkers;
use crate::plan::{Fault, Plan};
use crate::recording::Recorded;
use crate::world::{self, Hooks, InputOf, OutputOf, Store};
use cluster::Cluster;
pub(crate) use cluster::{Bucket, Put};
use peer::{Peer, PeerEvent};
use process::{Incoming, Process, Request, Watch};

/// A future event.
#[derive(Debug)]
pub(crate) enum Event {
    /// A request arrives at a server.
    Request {
        node: usize,
        process: u64,
        server: usize,
        request: Request,
        copy: bool,
    },
    /// A candidate's client tries to connect to the next server.
    Connect {
        node: usize,
        process: u64,
    },
    /// A watch should be ready by now.
    WatchAgain {
        node: usize,
        process: u64,
        number: u64,
    },
    /// Something happens to a candidate of other software.
    Peer {
        peer: usize,
        event: PeerEvent,
    },
    Commit(u64),
    Expire(Incarnation, Revision),
    Erase(Incarnation, Revision),
    Elect(u64),
    Remake(Remaking),
}

/// How a bucket is recreated.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Remaking {
    /// The number at which the bucket's sequence begins, after writes to other keys.
    sequence: u64,
    never_used: bool,
    /// The lower maximum age that the bucket has from now on.
    max_age: Option<Duration>,
}

/// A write that the stream's leader accepted but on which the servers have not yet agreed.
#[derive(Debug)]
pub(crate) struct Proposal {
    number: u64,
    node: usize,
    process: u64,
    server: usize,
    write: Write,
    incarnation: Incarnation,
    /// Whether the leader that accepted the proposal is gone, so that it may commit under another leader, without an
    /// answer.
    stalled: bool,
    survives: bool,
}

/// A bucket, its servers and the candidates of other software.
pub(crate) struct Nats {
    cluster: Cluster,
    in_flight: Option<Proposal>,
    proposals: u64,
    /// Former contents of the bucket, kept if the bucket may go back to one of them.
    history: VecDeque<(Instant, Bucket)>,
    peers: Vec<Peer>,
    pub(crate) recording: Option<Vec<Recorded>>,
}

pub(crate) type World = world::World<Nats>;

impl Store for Nats {
    type Rule = KeyLease;
    type Event = Event;
    type Incoming = Incoming;
    type Process = Process;

    fn new(plan: &Plan) -> Self {
        Self {
            cluster: Cluster::new(plan.replicas, plan.max_age, plan.store_rate, plan.never_used),
            in_flight: None,
            proposals: 0,
            history: VecDeque::new(),
            peers: Vec::new(),
            recording: None,
        }
    }

    fn process(place: usize, plan: &Plan, _: &mut Dice) -> Process {
        Process::new(place % plan.replicas)
    }

    fn checkers(plan: &Plan) -> Checkers<KeyLease> {
        Checkers::new(plan)
    }

    fn birth(&self) -> (Incarnation, Instant, bool) {
        let bucket = &self.cluster.bucket;
        (bucket.incarnation, bucket.made, bucket.never_used)
    }
}

impl From<InputOf<Nats>> for Incoming {
    fn from(input: InputOf<Nats>) -> Self {
        Self::Input(input)
    }
}

impl Hooks<Nats> for World {
    fn begins(&mut self) {
        self.set_skew();
        self.peers_begin();
    }

    fn happen(&mut self, event: Event) {
        match event {
            Event::Request { node, process, server, request, copy } => {
                if self.is_present(node, process) || matches!(request, Request::Write(_)) {
                    self.serve(node, process, server, request, copy);
                }
            }
            Event::Connect { node, process } => {
                if self.is_present(node, process) {
                    self.connect(node);
                }
            }
            Event::WatchAgain { node, process, number } => {
                let watch = &self.nodes[node].watch;
                if self.is_present(node, process) && watch.number == number && !watch.ready {
                    self.deliver(node, Incoming::Gap { number });
                }
            }
            Event::Peer { peer, event } => self.peer(peer, event),
            Event::Commit(number) => self.commit(number),
            Event::Expire(incarnation, revision) => self.expire(incarnation, revision),
            Event::Erase(incarnation, revision) => self.erase(incarnation, revision),
            Event::Elect(number) => self.elect(number),
            Event::Remake(remaking) => self.remake(remaking),
        }
    }

    fn starts(&mut self, node: usize) {
        let place = &mut self.nodes[node];
        place.outbox.clear();
        (place.oldest, place.seen, place.watch) = (Duration::ZERO, Default::default(), Watch::new(0));
    }

    fn ends(&mut self, node: usize) {
        if self.nodes[node].misled.take().is_some() {
            self.promises.undeceive(self.now, node);
        }
    }

    fn campaigns(&mut self, node: usize, clock: Instant, info: &StoreInfo) {
        self.enters(node, clock, *info);
    }

    fn hears(&mut self, node: usize, input: &campaign::Input) {
        if let campaign::Input::Inspected(Ok(info)) = input {
            self.note_info(node, info);
        }
        self.nodes[node].hears = self.store.recording.is_some().then(|| input.clone());
    }

    fn handled(&mut self, node: usize, clock: Instant) {
        let place = &mut self.nodes[node];
        let (process, lease) = (place.process, place.lease);
        if let Some(input) = place.hears.take() {
            self.record(|| Recorded::Input { process, now: clock, input, lease });
        }
    }

    fn says(&mut self, node: usize, output: &campaign::Output) {
        let process = self.nodes[node].process;
        self.record(|| Recorded::Output { process, output: output.clone() });
    }

    fn connection(&self, _: usize) -> Capabilities {
        self.plan.capabilities()
    }

    fn receive(&mut self, node: usize, incoming: Incoming) {
        self.handle_message(node, incoming);
    }

    fn carry_out(&mut self, node: usize, output: OutputOf<Nats>) {
        self.serve_output(node, output);
    }

    /// Returns the candidate whose record is in the bucket.
    fn owner(&self) -> Option<usize> {
        let write_id = self.store.cluster.bucket.message.as_ref()?.write_id?;
        (0..self.nodes.len()).find(|node| self.nodes[*node].nonce == write_id.nonce)
    }

    fn begin_own_fault(&mut self, fault: &Fault, victim: usize, dice: &mut Dice) {
        self.begin_store_fault(fault, victim, dice);
    }

    fn end_own_fault(&mut self, fault: &Fault, hit: &[usize]) {
        self.end_store_fault(fault, hit);
    }

    fn reaches_again(&mut self, node: usize) {
        self.flush(node);
    }

    fn faults_ended(&mut self) {
        self.store.cluster.max_age = self.plan.max_age;
        if self.store.cluster.leader.is_none() {
            self.elect_after(Duration::from_secs(1));
        }
        self.expire_later();
        self.help_later();
    }

    fn change(&self) -> Duration {
        self.plan.delay()
    }

    fn next_order(&self, turn: u32, leader: usize, dice: Dice) -> Option<Order> {
        self.drawn_order(turn, leader, dice)
    }

    fn remove(&mut self, _: usize) {
        self.operate(&Put::bare(Message::Tombstone));
    }

    fn isolate(&mut self) {
        self.isolate_leader(self.plan.choice.seed.is_multiple_of(3));
    }

    fn needs_an_operator(&self) -> bool {
        self.some_stay_out()
    }
}

impl World {
    /// Records an input or output for another machine, if the run is recorded.
    fn record(&mut self, recorded: impl FnOnce() -> Recorded) {
        if let Some(recording) = &mut self.store.recording {
            recording.push(recorded());
        }
    }

    /// Sends the present entry of the key to the watches.
    fn key_changed(&mut self) {
        let entry = self.store.cluster.bucket.entry();
        self.note(|trace| write!(trace, "store: {}", brief(&entry)));
        self.observe(&Observation::Key { entry: &entry });
        if self.plan.has(Kind::Restore) || self.plan.has(Kind::LostWrites) {
            if self.store.history.len() == 512 {
                self.store.history.pop_front();
            }
            self.store.history.push_back((self.now, self.store.cluster.bucket.clone()));
        }
        let bucket = &self.store.cluster.bucket;
        self.promises.holds(self.now, bucket.incarnation, bucket.sequence, bucket.revision());
        self.expire_later();
        if entry != Entry::Vacant {
            self.publish(&entry);
        }
    }
}

/// Describes an entry in a few words.
fn brief(entry: &Entry) -> String {
    match entry {
        Entry::Vacant => "vacant".into(),
        Entry::Live(record) => {
            let attempt =
                record.write_id.map_or(String::new(), |write_id| format!(" {}", write_id.attempt.0));
            format!("@{} live {}{attempt}", record.revision.0, record.candidate)
        }
        Entry::Released(release) => format!("@{} released, {:?} owed", release.revision.0, release.owed),
        Entry::Deleted { revision, .. } => format!("@{} deleted", revision.0),
        Entry::Expired { revision } => format!("@{} expired", revision.0),
    }
}
