//! The world of a run: candidates, a network and a store, driven by a queue of events.

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
use std::iter;
use std::time::Duration;

use incumbent_core::record::Entry;
use incumbent_core::store::Write;
use incumbent_core::{Incarnation, Instant, Revision};

use crate::clock::Clock;
use crate::clock::START;
use crate::dice::Dice;
use crate::kind::Kind;
use crate::observation::{Observation, Observers, View};
use crate::oracle::Checkers;
use crate::plan::{DRIFT, Plan};
use crate::promise::Promises;
use crate::queue::Queue;
use crate::recording::Recorded;
use crate::report::Tally;
use crate::timeline::Timeline;
use cluster::Cluster;
pub(crate) use cluster::{Bucket, Put};
use peer::{Peer, PeerEvent};
pub(crate) use process::Node;
use process::{Incoming, Request};

/// A future event.
#[derive(Debug)]
pub(crate) enum Event {
    /// A process begins, or tries again to.
    Begin {
        node: usize,
        process: u64,
    },
    Wake {
        node: usize,
        process: u64,
    },
    /// A request arrives at a server.
    Request {
        node: usize,
        process: u64,
        server: usize,
        request: Request,
        copy: bool,
    },
    /// A message arrives at a candidate.
    Deliver {
        node: usize,
        process: u64,
        incoming: Incoming,
    },
    /// A candidate's client tries the next server.
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
    /// An event of a candidate of other software.
    Peer {
        peer: usize,
        event: PeerEvent,
    },
    Resume(usize),
    /// A process that gets a part of its time does not run for so long.
    Stop(usize, Duration),
    Commit(u64),
    Expire(Incarnation, Revision),
    Erase(Incarnation, Revision),
    Elect(u64),
    Remake(Remaking),
    BeginFault(usize),
    EndFault(usize),
    Quiet,
    /// An operator helps the candidates that stay out.
    Operator,
    /// An orderly change after the faults: the first or the second.
    Order(u32),
    Over,
}

/// The way in which a bucket is made again.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Remaking {
    /// The beginning of its sequence, after writes to other keys.
    sequence: u64,
    never_used: bool,
    /// Its lower maximum age from now on.
    max_age: Option<Duration>,
}

/// A write that the stream's leader took and the servers have not yet agreed on.
#[derive(Debug)]
pub(crate) struct Proposal {
    number: u64,
    node: usize,
    process: u64,
    server: usize,
    write: Write,
    incarnation: Incarnation,
    /// Its leader is gone: it may commit under another one, without an answer.
    stalled: bool,
    survives: bool,
}

pub(crate) struct World {
    pub(crate) now: Instant,
    pub(crate) plan: Plan,
    queue: Queue<Event>,
    dice: Dice,
    cluster: Cluster,
    in_flight: Option<Proposal>,
    proposals: u64,
    /// Former contents of the bucket, where it may go back to one.
    history: VecDeque<(Instant, Bucket)>,
    nodes: Vec<Node>,
    peers: Vec<Peer>,
    processes: u64,
    /// The number of active faults of each kind.
    active: [u32; Kind::ALL.len()],
    /// The candidates that the script's faults hit, for when they end.
    hit: Vec<Vec<usize>>,
    quiet: bool,
    promises: Promises,
    pub(crate) observers: Observers,
    pub(crate) trace: Option<String>,
    pub(crate) recording: Option<Vec<Recorded>>,
}

impl World {
    pub(crate) fn new(plan: Plan, trace: bool, timeline: bool) -> Self {
        let mut dice = Dice::new(plan.choice.seed, 2);
        let cluster = Cluster::new(plan.replicas, plan.max_age, plan.store_rate, plan.never_used);
        let nodes = (0..plan.choice.candidates)
            .map(|place| {
                let drawn =
                    if plan.has(Kind::Drift) { drift(&mut dice) } else { dice.below(101) as i64 - 50 };
                let rate = plan.rates.as_ref().map_or(drawn, |rates| rates[place]);
                let shows = START.before(dice.millis(0, 900_000));
                let own = Dice::new(plan.choice.seed, 16 + place as u64);
                Node::new(own, Clock::new(START, shows, rate), rate, place % plan.replicas)
            })
            .collect();
        let mut world = Self {
            now: START,
            queue: Queue::new(),
            dice,
            cluster,
            in_flight: None,
            proposals: 0,
            history: VecDeque::new(),
            nodes,
            peers: Vec::new(),
            processes: 0,
            active: [0; Kind::ALL.len()],
            hit: vec![Vec::new(); plan.script.last().map_or(0, |fault| fault.place + 1)],
            quiet: false,
            promises: Promises::new(&plan),
            observers: Observers {
                checkers: Checkers::new(&plan),
                tally: Tally::default(),
                timeline: timeline.then(|| Timeline::new(&plan)),
                violation: None,
            },
            trace: trace.then(String::new),
            recording: None,
            plan,
        };
        world.set_skew();
        for node in 0..world.nodes.len() {
            let drawn = world.nodes[node].dice.millis(0, 2_000);
            let wait = world.plan.begins.as_ref().map_or(drawn, |begins| begins[node]);
            world.start_process(node, wait);
        }
        world.peers_begin();
        for fault in world.plan.script.clone().iter() {
            world.queue.put(START + fault.from, Event::BeginFault(fault.place));
        }
        world.after(world.plan.faulty, Event::Quiet);
        world.after(world.plan.faulty + world.plan.quiet(), Event::Over);
        world
    }

    /// Runs to the end, or to the first violation.
    pub(crate) fn run(&mut self) {
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
            Event::Request { node, process, server, request, copy } => {
                if self.is_present(node, process) || matches!(request, Request::Write(_)) {
                    self.serve(node, process, server, request, copy);
                }
            }
            Event::Deliver { node, process, incoming } => {
                if self.is_present(node, process) {
                    self.deliver(node, incoming);
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
            Event::Resume(node) => self.resume(node),
            Event::Stop(node, lasts) if !self.quiet => self.stop(node, lasts, false),
            Event::Stop(..) => {}
            Event::Commit(number) => self.commit(number),
            Event::Expire(incarnation, revision) => self.expire(incarnation, revision),
            Event::Erase(incarnation, revision) => self.erase(incarnation, revision),
            Event::Elect(number) => self.elect(number),
            Event::Remake(remaking) => self.remake(remaking),
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
    fn observe(&mut self, observation: &Observation<'_>) {
        let view = View::new(self.now, &self.plan, &self.promises, &self.cluster.bucket);
        self.observers.observe(&view, observation);
    }

    /// Records an input or output for another machine, where that is wanted.
    fn record(&mut self, recorded: impl FnOnce() -> Recorded) {
        if let Some(recording) = &mut self.recording {
            recording.push(recorded());
        }
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

    /// The candidate that leads, or holds the key.
    fn incumbent(&self) -> Option<usize> {
        let leads = (0..self.nodes.len()).find(|node| self.nodes[*node].leads(self.now));
        leads.or_else(|| {
            let write_id = self.cluster.bucket.message.as_ref()?.write_id?;
            (0..self.nodes.len()).find(|node| self.nodes[*node].nonce == write_id.nonce)
        })
    }

    /// Publishes the present entry of the key.
    fn key_changed(&mut self) {
        let entry = self.cluster.bucket.entry();
        self.note(|trace| write!(trace, "store: {}", brief(&entry)));
        self.observe(&Observation::Key { entry: &entry });
        if self.plan.has(Kind::Restore) || self.plan.has(Kind::LostWrites) {
            if self.history.len() == 512 {
                self.history.pop_front();
            }
            self.history.push_back((self.now, self.cluster.bucket.clone()));
        }
        let (incarnation, sequence) = (self.cluster.bucket.incarnation, self.cluster.bucket.sequence);
        self.promises.holds(self.now, incarnation, sequence, self.cluster.bucket.revision());
        self.expire_later();
        if entry != Entry::Vacant {
            self.publish(&entry);
        }
    }
}

/// The rate of a clock that drifts within the setting, often at its limit.
pub(crate) fn drift(dice: &mut Dice) -> i64 {
    match dice.below(3) {
        0 => DRIFT,
        1 => -DRIFT,
        _ => dice.below(2 * DRIFT as u64 + 1) as i64 - DRIFT,
    }
}

/// When a process that gets a part of its time does not run, from the beginning of a fault on, and for how long: within a quota's
/// periods of 100 ms, or longer ones, as on a machine that swaps.
pub(crate) fn stops(dice: &mut Dice, lasts: Duration) -> impl Iterator<Item = (Duration, Duration)> + use<> {
    let period = Duration::from_millis(dice.pick(&[100, 500, 2_000, 5_000])).max(lasts / 200);
    let stopped = period * (100 - dice.pick(&[5, 10, 20, 30])) / 100;
    let begins = iter::successors(Some(Duration::ZERO), move |from| Some(*from + period));
    begins.take_while(move |from| *from < lasts).map(move |from| (from, stopped.min(lasts - from)))
}

/// An entry in few words.
pub(crate) fn brief(entry: &Entry) -> String {
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
