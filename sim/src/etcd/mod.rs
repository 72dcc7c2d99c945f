//! The world of a run on an etcd: candidates in a queue, foreign ones among them, and a store of one member or three.
//!
//! It shares the plan, the clocks and the oracles with the world of a bucket, and drives the same session with the other
//! rule.

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

use incumbent_core::queue::{Campaign, LeaseId, Server, Write};
use incumbent_core::record::Nonce;
use incumbent_core::{Incarnation, Instant, Revision};

use crate::clock::Clock;
use crate::dice::Dice;
use crate::kind::Kind;
use crate::observation::{Observation, Observers, View};
use crate::oracle::{Checkers, Violation};
use crate::plan::Plan;
use crate::promise::Promises;
use crate::queue::Queue;
use crate::report::Tally;
use crate::store::START;
use crate::timeline::Timeline;
use crate::world::drift;
use crate::{Outcome, TracedRun};
use cluster::{Cluster, ELECTION, LATE, SHORTEST};
pub(crate) use content::Content;
use foreign::{Foreign, ForeignEvent};
use process::{Incoming, KeepAlive, Process, Request};

/// A future event.
#[derive(Debug)]
enum Event {
    /// A process begins, or tries again to.
    Begin {
        node: usize,
        process: u64,
    },
    Wake {
        node: usize,
        process: u64,
    },
    Resume(usize),
    /// A request arrives at a member; `slow` where it took its time already.
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
    /// A member gives up a keep-alive that it holds back.
    Release {
        node: usize,
        process: u64,
        stream: u64,
        number: u64,
    },
    Deliver {
        node: usize,
        process: u64,
        incoming: Incoming,
    },
    /// A transaction whose answer is lost with its leader is applied after all.
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
    /// The time for this watch to be ready is over.
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
    BeginFault(usize),
    EndFault(usize),
    Quiet,
    /// An operator helps the candidates that stay out.
    Operator,
    /// An orderly change after the faults: the first or the second.
    Order(u32),
    Over,
}

pub(crate) struct World {
    now: Instant,
    plan: Plan,
    queue: Queue<Event>,
    dice: Dice,
    cluster: Cluster,
    /// Former contents, where the store may go back to one.
    history: VecDeque<(Instant, Content)>,
    nodes: Vec<Process>,
    peers: Vec<Foreign>,
    processes: u64,
    requests: u64,
    /// The store was wiped.
    wiped: bool,
    /// The number of active faults of each kind.
    active: [u32; Kind::ALL.len()],
    /// The candidates and members that the script's faults hit, for when they end.
    hit: Vec<Vec<usize>>,
    quiet: bool,
    promises: Promises,
    observers: Observers<Campaign>,
    trace: Option<String>,
}

/// Makes a run.
pub(crate) fn run_traced(plan: Plan, trace: bool, picture: bool) -> TracedRun {
    let mut world = World::new(plan, trace, picture);
    if let Err(panic) = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| world.run())) {
        // After a panic the world is only read.
        world.observers.violation = Some(Violation::of_panic(world.now, panic.as_ref()));
    }
    let picture = world.observers.timeline.take().map(|timeline| timeline.draw(world.now));
    TracedRun {
        outcome: Outcome { tally: world.observers.tally, violation: world.observers.violation },
        trace: world.trace.unwrap_or_default(),
        picture: picture.unwrap_or_default(),
    }
}

/// The longest time until a candidate leads, where the store was healthy for it: the leases of those that are gone run
/// out, each extended by an election and late; a wait is owed; the next round shows it.
pub(crate) fn worst_fail_over(plan: &Plan) -> Duration {
    plan.lease + ELECTION + LATE + plan.lease + plan.lease / 3
}

impl World {
    fn new(plan: Plan, trace: bool, timeline: bool) -> Self {
        let mut dice = Dice::new(plan.choice.seed, 2);
        let cluster = Cluster::new(plan.replicas, plan.store_rate);
        let nodes = (0..plan.choice.candidates)
            .map(|place| {
                let rate = if plan.has(Kind::Drift) { drift(&mut dice) } else { dice.below(101) as i64 - 50 };
                let shows = START.before(dice.millis(0, 900_000));
                let own = Dice::new(plan.choice.seed, 16 + place as u64);
                Process::new(own, Clock::new(START, shows, rate), rate, place % plan.replicas)
            })
            .collect();
        let mut world = Self {
            now: START,
            queue: Queue::new(),
            dice,
            cluster,
            history: VecDeque::new(),
            nodes,
            peers: Vec::new(),
            processes: 0,
            requests: 0,
            wiped: false,
            active: [0; Kind::ALL.len()],
            hit: vec![Vec::new(); plan.script.last().map_or(0, |fault| fault.place + 1)],
            quiet: false,
            promises: Promises::new(&plan),
            observers: Observers {
                checkers: Checkers::of_a_queue(&plan),
                tally: Tally::default(),
                timeline: timeline.then(|| Timeline::new(&plan)),
                violation: None,
            },
            trace: trace.then(String::new),
            plan,
        };
        for node in 0..world.nodes.len() {
            let wait = world.nodes[node].dice.millis(0, 2_000);
            world.start_process(node, wait);
        }
        world.foreign_begin();
        for fault in world.plan.script.clone().iter() {
            world.queue.put(START + fault.from, Event::BeginFault(fault.place));
        }
        world.after(world.plan.faulty, Event::Quiet);
        world.after(world.plan.faulty + world.plan.quiet(), Event::Over);
        world
    }

    /// Runs to the end, or to the first violation.
    fn run(&mut self) {
        while let Some((at, event)) = self.queue.take() {
            self.now = at;
            if matches!(event, Event::Over) {
                self.observe(&Observation::Over);
                break;
            }
            self.happen(event);
            if self.observers.violation.is_some() {
                break;
            }
        }
        self.observers.tally.runs = 1;
        self.observers.tally.time = self.now.since(START);
    }

    fn happen(&mut self, event: Event) {
        match event {
            Event::Begin { node, process } => {
                if self.is_present(node, process) && self.nodes[node].session.is_none() {
                    self.begin(node);
                }
            }
            Event::Wake { node, process } => {
                if self.is_present(node, process) {
                    self.wake(node);
                }
            }
            Event::Resume(node) => self.resume(node),
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
            Event::Deliver { node, process, incoming } => {
                if self.is_present(node, process) {
                    self.deliver(node, incoming);
                }
            }
            Event::Late { node, nonce, write } => {
                if self.cluster.leader.is_some() {
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
            Event::BeginFault(place) => self.begin_fault(place),
            Event::EndFault(place) => self.end_fault(place),
            Event::Quiet => self.end_all_faults(),
            Event::Operator => self.operator(),
            Event::Order(turn) => self.order(turn),
            Event::Over => {}
        }
    }

    /// Whether the process is still the one at its index.
    fn is_present(&self, node: usize, process: u64) -> bool {
        self.nodes[node].alive && self.nodes[node].process == process
    }

    fn after(&mut self, span: Duration, event: Event) {
        self.queue.put(self.now + span, event);
    }

    /// Whether a fault of a kind is active.
    fn is_on(&self, kind: Kind) -> bool {
        self.active[kind as usize] > 0
    }

    /// Shows an event to all observers.
    fn observe(&mut self, observation: &Observation<'_, Campaign>) {
        let birth = self.cluster.content.birth;
        let view = View {
            now: self.now,
            plan: &self.plan,
            promises: &self.promises,
            incarnation: birth.map_or(Incarnation(0), |birth| birth.incarnation),
            made: birth.map_or(START, |birth| birth.made),
            never_used: birth.is_some_and(|birth| birth.never_used),
        };
        self.observers.observe(&view, observation);
    }

    /// Writes a line into the trace, where there is one.
    fn note(&mut self, line: impl FnOnce(&mut String) -> std::fmt::Result) {
        if let Some(trace) = &mut self.trace {
            let nanos = self.now.since(START).as_nanos();
            // Writing to a string does not fail.
            let _ = write!(trace, "{:>6}.{:06} ", nanos / 1_000_000_000, nanos / 1_000 % 1_000_000)
                .and_then(|()| line(trace));
            trace.push('\n');
        }
    }

    /// The candidate that leads, or has the first place.
    fn incumbent(&self) -> Option<usize> {
        let leads = (0..self.nodes.len()).find(|node| self.nodes[*node].leads(self.now));
        leads.or_else(|| {
            let (key, _) = self.cluster.content.first()?;
            let nonce = self.cluster.content.companions.get(key)?.value.nonce;
            (0..self.nodes.len()).find(|node| self.nodes[*node].nonce == nonce)
        })
    }

    /// What the candidates are shown of the servers.
    fn server(&self) -> Server {
        let version = if self.plan.keeps_leases { Some((3, 7, 3)) } else { Some((3, 4, 23)) };
        Server { version, shortest: SHORTEST }
    }

    /// Publishes what changed: to the oracles, to the foreign candidates and to the watches.
    fn changed(&mut self, change: &incumbent_core::queue::Change) {
        if self.plan.has(Kind::Restore) {
            if self.history.len() == 512 {
                self.history.pop_front();
            }
            self.history.push_back((self.now, self.cluster.content.clone()));
        }
        let content = std::mem::replace(&mut self.cluster.content, Content::new());
        self.observe(&Observation::Stored { content: &content });
        self.cluster.content = content;
        self.foreign_look();
        if change.revision > Revision(0) {
            self.note(|trace| write!(trace, "store: {change:?}"));
            self.publish(change);
        }
    }
}
