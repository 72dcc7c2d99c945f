//! Processes with drifting clocks, their network, one bucket, an operator, and the faults that a seed draws.

use std::time::Duration;

use incumbent_core::Instant;

use super::Broken;
use super::bucket::{Body, Bucket, Entry, Key, Write};
use super::process::{Count, DRIFT_PPM, Input, Output, Process};
use crate::clock::Clock;
use crate::dice::Dice;
use crate::queue::Queue;
use crate::store::START;

/// The time for which faults happen.
const FAULTS: Duration = Duration::from_secs(120);
/// After the faults each election is led by then: two waits of a lease, late messages, restarts.
const RECOVERY: Duration = Duration::from_secs(60);
/// And for this long after.
const STEADY: Duration = Duration::from_secs(30);
const TICK: Duration = Duration::from_millis(100);

/// A run to make.
#[derive(Clone, Copy, Debug)]
pub(super) struct Setup {
    pub(super) seed: u64,
    pub(super) processes: usize,
    pub(super) elections: usize,
    pub(super) faults: usize,
    pub(super) broken: Option<Broken>,
}

/// The counts of a run.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Summary {
    pub(super) terms: u64,
    pub(super) lost: u64,
    /// All writes of candidates, refused ones included.
    pub(super) writes: u64,
    pub(super) count: Count,
    /// Messages that watches delivered.
    pub(super) delivered: u64,
    /// The time until every election was led first.
    pub(super) all_led: Duration,
}

#[derive(Clone, Copy, Debug)]
enum Fault {
    Cut,
    Late,
    Lossy,
    Stall,
    Silent,
    Pause,
    Crash,
    Rate,
    Resign,
    Shutdown,
    Delete,
    DeleteTwice,
    DeleteProcess,
}

const KINDS: [Fault; 13] = [
    Fault::Cut,
    Fault::Late,
    Fault::Lossy,
    Fault::Stall,
    Fault::Silent,
    Fault::Pause,
    Fault::Crash,
    Fault::Rate,
    Fault::Resign,
    Fault::Shutdown,
    Fault::Delete,
    Fault::DeleteTwice,
    Fault::DeleteProcess,
];

enum Event {
    Tick(usize),
    Begin(Fault),
    Request {
        node: usize,
        process: u64,
        attempt: u64,
        write: Write,
    },
    Deliver {
        node: usize,
        process: u64,
        input: Input,
    },
    /// The store looks for the next message of a watch.
    Pump {
        node: usize,
        number: u64,
    },
    Watch {
        node: usize,
        process: u64,
        number: u64,
        after: u64,
    },
    Restart(usize),
    Operator(Key),
    Check,
}

/// A watch as the store knows it.
#[derive(Default)]
struct Watch {
    number: u64,
    process: u64,
    seen: u64,
    nth: u64,
    is_idle: bool,
    is_dead: bool,
    last: Instant,
}

struct Node {
    machine: Option<Process>,
    /// Which process it is: nothing of an earlier one arrives.
    process: u64,
    clock: Clock,
    watch: Watch,
    cut: Instant,
    late: Instant,
    lossy: Instant,
    stalled: Instant,
    paused: Instant,
}

pub(super) struct World {
    setup: Setup,
    now: Instant,
    dice: Dice,
    queue: Queue<Event>,
    bucket: Bucket,
    nodes: Vec<Node>,
    tokens: Vec<u64>,
    summary: Summary,
    violation: Option<String>,
}

pub(super) fn run(setup: Setup) -> Result<Summary, String> {
    World::new(setup).run()
}

impl World {
    fn new(setup: Setup) -> Self {
        let mut dice = Dice::new(setup.seed, 0x9ec0);
        let nodes = (0..setup.processes).map(|_| Node {
            machine: None,
            process: 0,
            clock: Clock::new(START, START, rate(&mut dice)),
            watch: Watch::default(),
            cut: START,
            late: START,
            lossy: START,
            stalled: START,
            paused: START,
        });
        let nodes = nodes.collect();
        Self {
            setup,
            now: START,
            dice,
            queue: Queue::new(),
            bucket: Bucket::default(),
            nodes,
            tokens: vec![0; setup.elections],
            summary: Summary::default(),
            violation: None,
        }
    }

    fn run(mut self) -> Result<Summary, String> {
        for node in 0..self.nodes.len() {
            self.queue.put(START, Event::Restart(node));
        }
        for _ in 0..self.setup.faults {
            let at = START + self.dice.millis(3_000, FAULTS.as_millis() as u64);
            let fault = self.dice.pick(&KINDS);
            self.queue.put(at, Event::Begin(fault));
        }
        let quiet = START + FAULTS + RECOVERY;
        for second in 0..STEADY.as_secs() {
            self.queue.put(quiet + Duration::from_secs(second), Event::Check);
        }
        while let Some((at, event)) = self.queue.take() {
            self.now = at;
            if at > quiet + STEADY {
                break;
            }
            self.step(event);
            if let Some(violation) = self.violation {
                return Err(format!("seed {}, {:?}: {violation}", self.setup.seed, self.now.since(START)));
            }
        }
        for node in 0..self.nodes.len() {
            self.keep_count(node);
        }
        Ok(self.summary)
    }

    fn step(&mut self, event: Event) {
        match event {
            Event::Tick(node) => {
                self.handle(node, Input::Tick);
                self.queue.put(self.now + TICK, Event::Tick(node));
            }
            Event::Begin(fault) => self.begin(fault),
            Event::Request { node, process, attempt, write } => {
                self.summary.writes += 1;
                let result = self.bucket.apply(&write);
                if result.is_ok() {
                    self.wake_watches();
                }
                self.send(node, process, Input::Answer { attempt, result });
            }
            Event::Deliver { node, process, input } => {
                if self.nodes[node].process != process {
                    return;
                }
                if self.nodes[node].paused > self.now {
                    // Everything that arrives meanwhile waits, and keeps its order.
                    return self.queue.put(self.nodes[node].paused, Event::Deliver { node, process, input });
                }
                self.handle(node, input);
            }
            Event::Watch { node, process, number, after } => {
                if self.nodes[node].process == process && self.nodes[node].watch.number < number {
                    let watch = &mut self.nodes[node].watch;
                    *watch = Watch { number, process, seen: after, last: watch.last, ..Watch::default() };
                    self.pump(node, true);
                }
            }
            Event::Pump { node, number } => {
                if self.nodes[node].watch.number == number {
                    self.pump(node, false);
                }
            }
            Event::Restart(node) => self.restart(node),
            Event::Operator(key) => {
                if self.bucket.get(key).is_some() {
                    self.bucket.put(key, Body::Deleted);
                    self.wake_watches();
                }
            }
            Event::Check => {
                for election in 0..self.setup.elections {
                    if !(0..self.nodes.len()).any(|node| self.leads(node, election)) {
                        let entry = self.bucket.get(Key::Election(election));
                        self.violation = Some(format!("election {election} is not led: {entry:?}"));
                    }
                }
            }
        }
    }

    fn begin(&mut self, fault: Fault) {
        let node = self.dice.below(self.nodes.len() as u64) as usize;
        let election = Key::Election(self.dice.below(self.setup.elections as u64) as usize);
        let until = self.now + self.dice.millis(200, 14_000);
        let soon = self.now + self.dice.millis(1, 4_000);
        let place = &mut self.nodes[node];
        match fault {
            Fault::Cut => place.cut = until,
            Fault::Late => place.late = until,
            Fault::Lossy => place.lossy = until,
            Fault::Stall => place.stalled = until,
            Fault::Silent => place.watch.is_dead = true,
            Fault::Pause => place.paused = until,
            Fault::Crash => {
                self.stop(node);
                self.queue.put(soon, Event::Restart(node));
            }
            Fault::Rate => {
                let ppm = rate(&mut self.dice);
                self.nodes[node].clock.set_rate(self.now, ppm);
            }
            Fault::Resign => {
                if let Key::Election(election) = election
                    && let Some(leader) = (0..self.nodes.len()).find(|node| self.leads(*node, election))
                {
                    let process = self.nodes[leader].process;
                    self.queue.put(
                        self.now,
                        Event::Deliver { node: leader, process, input: Input::Resign(election) },
                    );
                }
            }
            Fault::Shutdown => {
                let process = self.nodes[node].process;
                self.queue.put(self.now, Event::Deliver { node, process, input: Input::Shutdown });
            }
            Fault::Delete => self.queue.put(self.now, Event::Operator(election)),
            Fault::DeleteTwice => {
                self.queue.put(self.now, Event::Operator(election));
                self.queue.put(soon, Event::Operator(election));
            }
            Fault::DeleteProcess => self.queue.put(self.now, Event::Operator(Key::Process(node))),
        }
    }

    fn restart(&mut self, node: usize) {
        if self.nodes[node].machine.is_some() {
            return;
        }
        let nonce = self.dice.number() >> 16;
        let (processes, elections) = (self.setup.processes, self.setup.elections);
        let machine = Process::new(node, processes, elections, nonce, self.setup.broken);
        let process = self.dice.number();
        let place = &mut self.nodes[node];
        place.machine = Some(machine);
        place.process = process;
        place.paused = self.now;
        place.watch = Watch::default();
        let first = self.now + self.dice.millis(1, 100);
        if self.now == START {
            self.queue.put(first, Event::Tick(node));
        }
    }

    fn keep_count(&mut self, node: usize) {
        if let Some(machine) = &self.nodes[node].machine {
            self.summary.count.renewals += machine.count.renewals;
            self.summary.count.separate += machine.count.separate;
        }
    }

    fn stop(&mut self, node: usize) {
        self.keep_count(node);
        let place = &mut self.nodes[node];
        place.machine = None;
        place.process = 0;
    }

    fn leads(&self, node: usize, election: usize) -> bool {
        let place = &self.nodes[node];
        place.machine.as_ref().is_some_and(|machine| machine.is_leader(election, place.clock.at(self.now)))
    }

    fn handle(&mut self, node: usize, input: Input) {
        let place = &mut self.nodes[node];
        if place.paused > self.now {
            return;
        }
        let Some(machine) = &mut place.machine else { return };
        let process = place.process;
        for output in machine.handle(place.clock.at(self.now), &input) {
            match output {
                Output::Write { attempt, write } => {
                    if let Some(latency) = self.latency(node) {
                        let request = Event::Request { node, process, attempt, write };
                        self.queue.put(self.now + latency, request);
                    }
                }
                Output::Watch { number, after } => {
                    if let Some(latency) = self.latency(node) {
                        self.queue.put(self.now + latency, Event::Watch { node, process, number, after });
                    }
                }
                Output::Won { election, token } => self.won(node, election, token),
                Output::Lost => self.summary.lost += 1,
                Output::Stopped => {
                    self.stop(node);
                    let at = self.now + self.dice.millis(1, 4_000);
                    self.queue.put(at, Event::Restart(node));
                    return;
                }
            }
        }
    }

    /// Leading begins here alone, so two lead at once if and only if another leads now.
    fn won(&mut self, node: usize, election: usize, token: u64) {
        self.summary.terms += 1;
        if let Some(other) =
            (0..self.nodes.len()).find(|other| *other != node && self.leads(*other, election))
        {
            self.violation = Some(format!("{other} leads election {election}, and {node} won it"));
        } else if token <= self.tokens[election] {
            self.violation = Some(format!("token {token} of election {election} is not the largest"));
        }
        self.tokens[election] = token;
        if self.summary.all_led == Duration::ZERO && self.tokens.iter().all(|token| *token > 0) {
            self.summary.all_led = self.now.since(START);
        }
    }

    fn latency(&mut self, node: usize) -> Option<Duration> {
        let place = &self.nodes[node];
        let (is_cut, is_lossy) = (place.cut > self.now, place.lossy > self.now);
        let is_late = place.late > self.now;
        if is_cut || is_lossy && self.dice.percent(30) {
            return None;
        }
        Some(if is_late && self.dice.percent(40) {
            self.dice.millis(1, 12_000)
        } else {
            self.dice.micros(100, 3_000)
        })
    }

    fn send(&mut self, node: usize, process: u64, input: Input) {
        if let Some(latency) = self.latency(node) {
            self.queue.put(self.now + latency, Event::Deliver { node, process, input });
        }
    }

    fn wake_watches(&mut self) {
        for node in 0..self.nodes.len() {
            if self.nodes[node].watch.is_idle {
                self.nodes[node].watch.is_idle = false;
                let number = self.nodes[node].watch.number;
                let soon = self.now + self.dice.micros(10, 500);
                self.queue.put(soon, Event::Pump { node, number });
            }
        }
    }

    /// Sends the next message of a watch. What was superseded before is skipped.
    fn pump(&mut self, node: usize, is_first: bool) {
        let place = &mut self.nodes[node];
        let number = place.watch.number;
        if place.watch.is_dead {
            return;
        }
        if place.stalled > self.now {
            let at = place.stalled;
            if is_first {
                place.watch.number = number.saturating_sub(1);
                let event =
                    Event::Watch { node, process: place.watch.process, number, after: place.watch.seen };
                return self.queue.put(at, event);
            }
            return self.queue.put(at, Event::Pump { node, number });
        }
        let (entry, is_last): (Option<Entry>, bool) = self.bucket.after(place.watch.seen);
        place.watch.is_idle = entry.is_none();
        if entry.is_none() && !is_first {
            return;
        }
        place.watch.seen = entry.map_or(place.watch.seen, |entry| entry.revision);
        place.watch.nth += 1;
        let (nth, process) = (place.watch.nth, place.watch.process);
        self.summary.delivered += 1;
        if let Some(latency) = self.latency(node) {
            let watch = &mut self.nodes[node].watch;
            watch.last = watch.last.max(self.now + latency);
            let input = Input::Watched { number, nth, entry, is_last };
            self.queue.put(watch.last, Event::Deliver { node, process, input });
        }
        if entry.is_some() {
            // A reader of the stream is slower than the writers now and then.
            let step = if self.dice.percent(2) && self.setup.faults > 0 {
                self.dice.micros(1_000, 400_000)
            } else {
                self.dice.micros(10, 200)
            };
            self.queue.put(self.now + step, Event::Pump { node, number });
        }
    }
}

/// A rate of a clock within the setting.
fn rate(dice: &mut Dice) -> i64 {
    let drift = i64::from(DRIFT_PPM);
    if dice.percent(40) {
        return dice.pick(&[-drift, drift]);
    }
    dice.below(2 * u64::from(DRIFT_PPM) + 1) as i64 - drift
}
