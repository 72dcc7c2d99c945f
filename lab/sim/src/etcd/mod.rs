//! The world of a run on an etcd: candidates in a queue, foreign ones among them, and a store of one or three members.
//!
//! It shares the plan, the clocks and the oracles with the world of a bucket. The module [`world`] describes how it
//! runs.

mod cluster;
mod content;
mod driver;
mod faults;
mod foreign;
mod process;
mod serve;

use std::collections::VecDeque;
use std::fmt::Write as _;
use std::time::Duration;

use incumbent_core::queue::{LeaseId, Queue, Server, Write};
use incumbent_core::record::Nonce;
use incumbent_core::{Incarnation, Instant, Revision};

use crate::clock::START;
use crate::dice::Dice;
use crate::kind::Kind;
use crate::observation::{Observation, Order};
use crate::oracle::Checkers;
use crate::plan::{Fault, Plan};
use crate::world::{self, Hooks, InputOf, OutputOf, Store};
use cluster::{Cluster, ELECTION, LATE, SHORTEST};
pub(crate) use content::{Author, Content, Lease};
use foreign::{Foreign, ForeignEvent};
use process::{Incoming, KeepAlive, Process, Request, Stream, Watch};

/// A future event.
#[derive(Debug)]
pub(crate) enum Event {
    /// A request arrives at a member. `slow` states whether it has already been delayed.
    Request {
        node: usize,
        process: u64,
        member: usize,
        number: u64,
        request: Request,
        slow: bool,
    },
    /// A keep-alive arrives at the member of its stream.
    KeepAlive {
        node: usize,
        process: u64,
        stream: u64,
        keep: KeepAlive,
    },
    /// A member gives up a keep-alive that it held back.
    Release {
        node: usize,
        process: u64,
        stream: u64,
        number: u64,
    },
    /// A transaction whose answer was lost with its leader is applied after all.
    Late {
        node: usize,
        nonce: Nonce,
        write: Write,
    },
    /// A candidate's client tries the next member.
    Connect {
        node: usize,
        process: u64,
    },
    /// The time for this watch to become ready is over.
    WatchAgain {
        node: usize,
        process: u64,
        number: u64,
    },
    Foreign {
        peer: usize,
        event: ForeignEvent,
    },
    Expire(LeaseId),
    Elect(u64),
    /// A former leader revokes leases. This random number selects them.
    RevokeEarly(u64),
}

/// The members of an etcd cluster, their content, and the foreign candidates that campaign there.
pub(crate) struct Etcd {
    cluster: Cluster,
    /// Earlier contents, if the store may go back to one of them.
    history: VecDeque<(Instant, Content)>,
    peers: Vec<Foreign>,
    requests: u64,
    /// The store was wiped.
    wiped: bool,
}

/// The random stream that decides the raft term at the beginning.
const TERM: u64 = 0xb_0000;

type World = world::World<Etcd>;

/// The longest time until a candidate leads, if the store is healthy during this time. First the leases of dead
/// candidates run out, each extended by an election and removed late. From then on, candidates wait out leases older
/// than the raft term, and anything that they did not see before their first read. The next round shows that the
/// candidate may lead.
pub(crate) fn worst_fail_over(plan: &Plan) -> Duration {
    plan.lease + ELECTION + LATE + plan.lease + plan.lease / 3
}

impl Store for Etcd {
    type Rule = Queue;
    type Event = Event;
    type Incoming = Incoming;
    type Process = Process;

    fn new(plan: &Plan) -> Self {
        // A new etcd elects its first leader in term 2. In an older etcd each new candidacy owes a lease. The bound
        // includes that lease if leases may be older than the term.
        let terms: &[u64] = if plan.ages_leases() { &[2, 2, 3, 5] } else { &[2] };
        let raft_term = Dice::new(plan.choice.seed, TERM).pick(terms);
        let cluster = Cluster::new(plan.replicas, plan.store_rate, raft_term);
        Self { cluster, history: VecDeque::new(), peers: Vec::new(), requests: 0, wiped: false }
    }

    fn process(place: usize, plan: &Plan, _: &mut Dice) -> Process {
        Process::new(place % plan.replicas)
    }

    fn checkers(plan: &Plan) -> Checkers<Queue> {
        Checkers::of_a_queue(plan)
    }

    fn of_second(plan: &Plan) -> Option<Checkers<Queue>> {
        plan.second.then(|| Checkers::of_a_second_queue(plan))
    }

    fn birth(&self) -> (Incarnation, Instant, bool) {
        let birth = self.cluster.content.birth;
        birth
            .map_or((Incarnation(0), START, false), |birth| (birth.incarnation, birth.made, birth.never_used))
    }
}

impl From<InputOf<Etcd>> for Incoming {
    fn from(input: InputOf<Etcd>) -> Self {
        Self::Input(input)
    }
}

impl Hooks<Etcd> for World {
    fn begins(&mut self) {
        self.start_foreign();
    }

    fn happen(&mut self, event: Event) {
        match event {
            Event::Request { node, process, member, number, request, slow } => {
                let counts = matches!(
                    request,
                    Request::Write(_)
                        | Request::Grant { .. }
                        | Request::Share { .. }
                        | Request::Revoke { .. }
                );
                if self.is_present(node, process) || counts {
                    self.serve(node, process, member, number, request, slow);
                }
            }
            Event::KeepAlive { node, process, stream, keep } => {
                if self.is_present(node, process) {
                    self.keep_alive_arrives(node, stream, keep);
                }
            }
            Event::Release { node, process, stream, number } => {
                let first = self.nodes[node].stream.held.front().map(|keep| keep.number);
                let stream_stands = self.nodes[node].stream.number == stream;
                if self.is_present(node, process) && stream_stands && first == Some(number) {
                    self.release(node, None);
                }
            }
            Event::Late { node, nonce, write } => {
                if self.store.cluster.leader.is_some() {
                    self.write(node, nonce, &write);
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
                    self.deliver(node, Incoming::WatchEnded { number });
                }
            }
            Event::Foreign { peer, event } => self.foreign(peer, event),
            Event::Expire(lease) => self.expire(lease),
            Event::Elect(number) => self.elect(number),
            Event::RevokeEarly(roll) => self.revoke_early(roll),
        }
    }

    fn starts(&mut self, node: usize) {
        let place = &mut self.nodes[node];
        (place.shared, place.raft_term) = (None, 0);
        place.open.clear();
        place.watch = Watch::new(0);
        place.stream = Stream::new(place.stream.number + 1, place.member);
    }

    fn closes(&mut self, node: usize) {
        // A driver that closes its connection gives up the companions' lease.
        let process = self.nodes[node].process;
        if let Some(lease) = self.nodes[node].shared.take().filter(|_| process.is_multiple_of(2)) {
            self.send(node, 0, Request::Revoke { lease });
        }
    }

    fn connection(&self, _: usize) -> Server {
        Server { shortest: Some(SHORTEST) }
    }

    fn receive(&mut self, node: usize, incoming: Incoming) {
        self.handle_message(node, incoming);
    }

    fn carry_out(&mut self, node: usize, output: OutputOf<Etcd>) {
        self.serve_output(node, output);
    }

    /// The candidate whose place is the first.
    fn owner(&self) -> Option<usize> {
        let (key, _) = self.store.cluster.content.first()?;
        let nonce = self.store.cluster.content.companions.get(key)?.value.nonce;
        (0..self.nodes.len()).find(|node| self.nodes[*node].nonce == nonce)
    }

    fn begin_own_fault(&mut self, fault: &Fault, victim: usize, dice: &mut Dice) {
        self.begin_store_fault(fault, victim, dice);
    }

    fn end_own_fault(&mut self, fault: &Fault, hit: &[usize]) {
        self.end_store_fault(fault.kind, hit);
    }

    fn faults_ended(&mut self) {
        self.delete_unleased();
        self.delete_forgotten();
        if self.store.cluster.leader.is_none() {
            self.elect_later();
        }
        self.help_later();
    }

    fn change(&self) -> Duration {
        self.plan.delay() + self.plan.owed()
    }

    fn next_order(&self, turn: u32, leader: usize, dice: Dice) -> Option<Order> {
        self.usual_order(turn, leader, dice, self.store.cluster.content.companions.len(), true)
    }

    fn needs_an_operator(&self) -> bool {
        self.any_stays_out()
    }

    fn remove(&mut self, _: usize) {
        let first = self.store.cluster.content.first().map(|(key, _)| key.clone());
        let change = self.store.cluster.content.delete_place(&first.unwrap_or_default());
        self.changed(&change);
    }
}

impl World {
    /// Publishes a change to the oracles, the foreign candidates and the watches.
    fn changed(&mut self, change: &incumbent_core::queue::Change) {
        if self.plan.has(Kind::Restore) {
            if self.store.history.len() == 512 {
                self.store.history.pop_front();
            }
            self.store.history.push_back((self.now, self.store.cluster.content.clone()));
        }
        self.promises.reached(self.now, self.store.cluster.content.revision);
        let content = std::mem::replace(&mut self.store.cluster.content, Content::new());
        self.observe(&Observation::Stored { content: &content });
        self.store.cluster.content = content;
        self.foreign_look();
        if change.revision > Revision(0) {
            self.note(|trace| write!(trace, "store: {change:?}"));
            self.publish(world::ELECTION, change);
        }
    }

    /// Publishes a change of the second election.
    fn second_changed(&mut self, change: &incumbent_core::queue::Change) {
        self.changed(&incumbent_core::queue::Change::default());
        if change.revision > Revision(0) {
            self.note(|trace| write!(trace, "store: second election: {change:?}"));
            self.publish(world::SECOND, change);
        }
    }
}
