//! The world of a run on Kafka: candidates in a consumer group, members that use goNELI among them, the group's
//! coordinator, and the log that all of them read.
//!
//! It shares the plan, the clocks and the oracles with the world of a bucket. The module [`world`] describes how it
//! runs.

mod broker;
mod client;
mod driver;
mod faults;
mod group;
mod log;
mod peer;
mod process;

use std::fmt::Write as _;
use std::sync::Arc;
use std::time::Duration;

use incumbent_core::Instant;
use incumbent_core::induction::{self, Connection, Induction, Protocol, Publish};
use incumbent_core::record::{Attempt, Nonce};

use crate::dice::Dice;
use crate::happened::Happened;
use crate::kind::Kind;
use crate::observation::Order;
use crate::oracle::Checkers;
use crate::plan::{Assigning, Fault, KAFKA, Plan};
use crate::world::{self, Hooks, InputOf, OutputOf, Store};
use group::{Group, MemberId, Replies, Reply, Who};
use log::Log;
use peer::{Peer, PeerEvent};
use process::{Client, Incoming, Process, Reader};

/// A client's requests to the coordinator.
#[derive(Clone, Debug)]
pub(crate) enum Request {
    Join {
        member: Option<MemberId>,
        holds: bool,
    },
    Beat {
        member: MemberId,
        generation: i32,
        holds: bool,
    },
    Leave {
        member: MemberId,
    },
    Commit {
        member: Option<MemberId>,
        generation: i32,
        attempt: Attempt,
        metadata: Arc<str>,
    },
    /// A question for the metadata of the committed offset.
    Committed {
        number: u64,
    },
}

/// A future event.
#[derive(Debug)]
pub(crate) enum Event {
    /// A record arrives at the partition's leader.
    Append {
        node: usize,
        process: u64,
        producer: u64,
        publish: Box<Publish>,
        until: Instant,
    },
    /// A producer tries again.
    Flush {
        node: usize,
        process: u64,
    },
    /// A record of a process that has ended is appended anyway.
    Late {
        node: usize,
        nonce: Nonce,
        publish: Box<Publish>,
    },
    Fetch {
        node: usize,
        process: u64,
    },
    ToGroup {
        from: Who,
        request: Request,
    },
    /// A client's heartbeat is due.
    Beat {
        node: usize,
        process: u64,
        client: u64,
    },
    /// A client sends a commit, or sends it again.
    Commit {
        node: usize,
        process: u64,
        client: u64,
        attempt: Attempt,
        metadata: Arc<str>,
    },
    /// A member's session timeout may have ended.
    Session(MemberId),
    /// The time for a rebalance, or for a member that keeps the partition from moving, is up.
    Rebalanced(u64),
    HeldBack(MemberId),
    Peer {
        peer: usize,
        event: PeerEvent,
    },
    /// From now on a client is not polled.
    Hold {
        node: usize,
        process: u64,
    },
}

/// The coordinator of a group, the log of its topic, and the members that use goNELI.
pub(crate) struct Kafka {
    group: Group,
    log: Log,
    peers: Vec<Peer>,
}

type World = world::World<Kafka>;

/// The longest time until a candidate leads, if the brokers are healthy during this time. Dead members are removed, the
/// partition is assigned, the previous lease is waited out, and the next renewal shows that the candidate leads.
pub(crate) fn worst_fail_over(plan: &Plan, happened: &Happened) -> Duration {
    // A reader that fetches nothing is replaced one lease after the first record of its candidate that it missed.
    let unread = if happened.ever(Kind::StaleEpochs) { plan.lease } else { Duration::ZERO };
    plan.group.change() + plan.lease + plan.lease / 3 + unread
}

/// The default of `group.consumer.session.timeout.ms`, which a candidate assumes because it cannot know the brokers'
/// value.
const BROKERS_SESSION: Duration = Duration::from_secs(45);

/// The time without members after which a resting candidate joins again.
pub(crate) fn unclaimed(plan: &Plan) -> Duration {
    let session = match plan.group.assigning {
        Assigning::Consumer => BROKERS_SESSION,
        Assigning::Eager | Assigning::Cooperative => plan.group.session,
    };
    let polls = plan.settings.iter().map(|settings| client::longest_poll(plan, settings.drain)).max();
    session + polls.unwrap_or_default() + plan.lease * 2
}

impl Store for Kafka {
    type Rule = Induction;
    type Event = Event;
    type Incoming = Incoming;
    type Process = Process;

    fn new(plan: &Plan) -> Self {
        let dice = Dice::new(plan.choice.seed, KAFKA + 1);
        let group = Group::new(plan.group.assigning, plan.group.session, dice);
        // Kafka's default retention is an hour. Here it is as short as the rule tolerates.
        Self { group, log: Log::new(plan.lease * 3), peers: Vec::new() }
    }

    fn process(_: usize, plan: &Plan, dice: &mut Dice) -> Process {
        Process::new(plan, dice)
    }

    fn checkers(plan: &Plan) -> Checkers<Induction> {
        Checkers::of_a_group(plan)
    }
}

impl From<InputOf<Kafka>> for Incoming {
    fn from(input: InputOf<Kafka>) -> Self {
        Self::Input(input)
    }
}

impl Hooks<Kafka> for World {
    fn begins(&mut self) {
        self.start_peers();
    }

    fn happen(&mut self, event: Event) {
        match event {
            Event::Append { node, process, producer, publish, until } => {
                if self.is_present(node, process) && self.nodes[node].producer != producer {
                    self.append_late(node, publish);
                } else if self.is_present(node, process) {
                    self.nodes[node].outbox.push_back((*publish, until));
                    self.flush(node);
                } else if self.dice.percent(50) {
                    let nonce = Nonce(0x1000 + u128::from(process));
                    self.append(node, nonce, &publish);
                }
            }
            Event::Flush { node, process } => {
                if self.is_present(node, process) {
                    self.flush(node);
                }
            }
            Event::Late { node, nonce, publish } => {
                self.append(node, nonce, &publish);
            }
            Event::Fetch { node, process } => {
                if self.is_present(node, process) {
                    self.fetch(node);
                }
            }
            Event::ToGroup { from, request } => self.ask_group(from, request),
            Event::Beat { node, process, client } => {
                if self.is_present(node, process) && self.nodes[node].client.number == client {
                    self.beat(node);
                }
            }
            Event::Commit { node, process, client, attempt, metadata } => {
                if self.is_present(node, process) {
                    self.send_commit(node, client, attempt, metadata);
                }
            }
            Event::Session(member) => self.session(member),
            Event::Rebalanced(number) => {
                let replies = self.store.group.time_is_up(number);
                self.reply_all(replies);
            }
            Event::HeldBack(member) => {
                if self.store.group.holds_back(member) {
                    let replies = self.store.group.remove(member);
                    self.reply_all(replies);
                }
            }
            Event::Peer { peer, event } => self.peer(peer, event),
            Event::Hold { node, process } => {
                if self.is_present(node, process) {
                    self.hold_now(node);
                }
            }
        }
    }

    fn starts(&mut self, node: usize) {
        let now = self.now;
        let place = &mut self.nodes[node];
        (place.watch, place.watching) = (0, false);
        place.unpolled.clear();
        place.unanswered.clear();
        place.client = Client::new(place.client.number + 1, now);
        place.reader = Reader::default();
    }

    /// Records that the ended process's producer has sent may be appended anyway.
    fn ends(&mut self, node: usize) {
        let place = &mut self.nodes[node];
        let nonce = place.nonce;
        let mut wait = Duration::ZERO;
        for (publish, _) in std::mem::take(&mut place.outbox) {
            wait += self.dice.millis(1, 3_000);
            if self.dice.percent(50) {
                self.after(wait, Event::Late { node, nonce, publish: Box::new(publish) });
            }
        }
    }

    /// The client may be the first to notice that its session timeout has ended.
    fn resumes(&mut self, node: usize) {
        if self.nodes[node].dice.percent(50) {
            self.check(node);
        }
    }

    fn resumed(&mut self, node: usize) {
        self.check(node);
    }

    fn connection(&self, node: usize) -> Connection {
        let plan = &self.plan.group;
        let group = match plan.assigning {
            Assigning::Consumer => {
                induction::Group { protocol: Protocol::Consumer, ..induction::Group::default() }
            }
            _ => induction::Group {
                session: Some(plan.session),
                goneli: plan.goneli,
                ..induction::Group::default()
            },
        };
        let read_at = self.nodes[node].clock.at(self.now);
        Connection { group, read_at, time_of_day: self.time_of_day(node) }
    }

    fn receive(&mut self, node: usize, incoming: Incoming) {
        self.handle_message(node, incoming);
    }

    fn carry_out(&mut self, node: usize, output: OutputOf<Kafka>) {
        self.serve_output(node, output);
    }

    /// The candidate to which the partition is assigned.
    fn owner(&self) -> Option<usize> {
        match self.store.group.owner()? {
            Who::Candidate { node, .. } => Some(node),
            Who::Peer { .. } => None,
        }
    }

    fn begin_own_fault(&mut self, fault: &Fault, victim: usize, dice: &mut Dice) {
        self.begin_store_fault(fault.kind, victim, dice);
    }

    fn end_own_fault(&mut self, fault: &Fault, hit: &[usize]) {
        self.end_store_fault(fault.kind, hit);
    }

    fn change(&self) -> Duration {
        self.plan.delay() + self.plan.owed() + self.plan.lease * 2
    }

    fn next_order(&self, turn: u32, leader: usize, dice: Dice) -> Option<Order> {
        // If a successor has to wait as long as the candidate that resigned rests, a rebalance may give the partition
        // back.
        let waits = self.plan.delay() > Duration::ZERO || !self.plan.group.has_ids;
        let may_resign = !(self.plan.group.assigning == Assigning::Eager && waits);
        self.usual_order(turn, leader, dice, self.store.group.count(), may_resign)
    }

    fn needs_an_operator(&self) -> bool {
        self.any_stays_out()
    }

    fn remove(&mut self, leader: usize) {
        self.remove_member(leader);
    }
}

impl World {
    /// Sends the coordinator's replies to its members, and sets the time limits for members that must act.
    fn reply_all(&mut self, replies: Replies) {
        for (who, reply) in replies {
            if !matches!(reply, Reply::Beat) {
                self.note(|trace| write!(trace, "group: {reply:?} for {who:?}"));
            }
            match who {
                Who::Candidate { node, process, client, life } => {
                    self.reply(node, process, client, life, reply);
                }
                Who::Peer { peer, session } => self.answer_peer(peer, session, &reply),
            }
        }
        if let Some(number) = self.store.group.rebalance {
            self.after(self.plan.group.rebalance, Event::Rebalanced(number));
        }
    }
}
