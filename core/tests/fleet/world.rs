//! Candidates, their clocks, and the network between them and the store.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::fmt::Write as _;
use std::time::Duration;

use incumbent_core::campaign::{Campaign, Event, Input, Output, Settings};
use incumbent_core::record::{Entry, Nonce};
use incumbent_core::{Incarnation, Instant, Token};
use oorandom::Rand64;

use crate::store::Store;

/// Which kinds of faults a run may draw.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Faults {
    pub(crate) loss: bool,
    pub(crate) delay: bool,
    pub(crate) pauses: bool,
    pub(crate) crashes: bool,
    pub(crate) partitions: bool,
    pub(crate) deletions: bool,
    pub(crate) overwrites: bool,
    pub(crate) recreations: bool,
    pub(crate) resignations: bool,
    pub(crate) markers: bool,
    pub(crate) acked: bool,
}

impl Faults {
    pub(crate) fn all() -> Self {
        Self {
            loss: true,
            delay: true,
            pauses: true,
            crashes: true,
            partitions: true,
            deletions: true,
            overwrites: true,
            recreations: true,
            resignations: true,
            markers: false,
            acked: false,
        }
    }
}

const CANDIDATES: usize = 4;
const TICK: Duration = Duration::from_millis(250);
/// Where the world's clock starts, so that clocks may differ both ways.
const START: Instant = Instant::from_nanos(1_000_000_000_000);

enum Step {
    /// A request of a candidate's campaign arrives at the store.
    Request(usize, u128, Output, Instant),
    /// Something arrives at a candidate's campaign.
    Arrive(usize, u128, Input),
    /// The watch of this number tells what it saw.
    Watch(usize, u128, Entry, u64),
    Wake(usize),
    Tick,
    Fault,
}

struct Node {
    campaign: Campaign,
    nonce: u128,
    /// Parts per million by which its clock runs fast.
    drift: i64,
    paused_until: Instant,
    cut_until: Instant,
    /// The number of its watch, and the one life of the store that it sees.
    watch: u64,
    watched: Incarnation,
    backlog: Vec<Input>,
    leads: bool,
}

pub(crate) struct World {
    now: Instant,
    rng: Rand64,
    faults: Faults,
    store: Store,
    nodes: Vec<Node>,
    queue: BinaryHeap<Reverse<(Instant, u64)>>,
    steps: std::collections::HashMap<u64, Step>,
    next: u64,
    tokens: Vec<Token>,
    trace: String,
    seed: u64,
}

impl World {
    pub(crate) fn new(seed: u64, faults: Faults) -> Self {
        let mut world = Self {
            now: START,
            rng: Rand64::new(u128::from(seed) + 1),
            faults,
            store: Store::new(faults.markers, faults.acked, START),
            nodes: Vec::new(),
            queue: BinaryHeap::new(),
            steps: std::collections::HashMap::new(),
            next: 0,
            tokens: Vec::new(),
            trace: String::new(),
            seed,
        };
        for place in 0..CANDIDATES {
            let drift = world.below(18_000) as i64 - 9_000;
            let nonce = 1 + place as u128;
            let campaign = world.campaign(nonce, drift);
            world.nodes.push(Node {
                campaign,
                nonce,
                drift,
                paused_until: START,
                cut_until: START,
                watch: 0,
                watched: Incarnation(0),
                backlog: Vec::new(),
                leads: false,
            });
            world.watch(place);
            world.give(place, Input::Campaign);
        }
        world.after(TICK, Step::Tick);
        world.after(Duration::from_secs(5), Step::Fault);
        world
    }

    pub(crate) fn trace(&self) -> &str {
        let start = self.trace.len().saturating_sub(6_000);
        &self.trace[self.trace.char_indices().map(|(at, _)| at).find(|at| *at >= start).unwrap_or(0)..]
    }

    pub(crate) fn leader(&self) -> Option<usize> {
        (0..CANDIDATES).find(|place| self.leads(*place))
    }

    /// Ends all faults.
    pub(crate) fn heal(&mut self) {
        let (markers, acked) = (self.faults.markers, self.faults.acked);
        self.faults = Faults { markers, acked, ..Faults::default() };
        for place in 0..CANDIDATES {
            self.nodes[place].cut_until = self.now;
        }
    }

    pub(crate) fn run_for(&mut self, span: Duration) {
        let end = self.now + span;
        while let Some(&Reverse((at, id))) = self.queue.peek().filter(|Reverse((at, _))| *at <= end) {
            self.queue.pop();
            self.now = at;
            if let Some(step) = self.steps.remove(&id) {
                self.step(step);
            }
            self.check();
        }
        self.now = end;
    }

    fn step(&mut self, step: Step) {
        match step {
            Step::Tick => {
                let marker = self.store.expire(self.now);
                self.publish(marker);
                self.after(TICK, Step::Tick);
            }
            Step::Wake(place) => {
                let clock = self.clock(place);
                let due = match self.nodes[place].campaign.poll() {
                    Output::WakeAt(Some(wake)) => wake.at <= clock,
                    _ => false,
                };
                if due {
                    self.give(place, Input::Tick);
                }
            }
            Step::Arrive(place, nonce, input) => {
                if self.nodes[place].nonce == nonce {
                    self.give(place, input);
                }
            }
            Step::Watch(place, nonce, entry, watch) => {
                if self.nodes[place].nonce == nonce && self.nodes[place].watch == watch {
                    self.give(place, Input::Watched(entry));
                }
            }
            Step::Request(place, nonce, output, asked_at) => self.serve(place, nonce, output, asked_at),
            Step::Fault => {
                self.fault();
                let pause = Duration::from_millis(500 + self.below(8_000));
                self.after(pause, Step::Fault);
            }
        }
    }

    fn serve(&mut self, place: usize, nonce: u128, output: Output, asked_at: Instant) {
        let answer = match output {
            Output::Write(write) => {
                let (outcome, entry) = self.store.write(&write, self.now);
                self.note(|trace, _| writeln!(trace, "  {place}: {write:?} -> {outcome:?}"));
                self.publish(entry);
                Input::Wrote { attempt: write.attempt, outcome }
            }
            Output::Read(read) => Input::Read { read, result: Ok(self.store.read()) },
            Output::Inspect { .. } => Input::Inspected(Ok(self.store.facts(asked_at, self.now))),
            Output::Reconnect => {
                self.watch(place);
                Input::Reconnected
            }
            Output::Event(_) | Output::WakeAt(_) => return,
        };
        self.send(place, nonce, answer);
    }

    /// Tells the watchers.
    fn publish(&mut self, entry: Option<Entry>) {
        let Some(entry) = entry else { return };
        self.note(|trace, _| writeln!(trace, "  store: {entry:?}"));
        for place in 0..CANDIDATES {
            self.watched(place, entry.clone());
        }
    }

    fn watched(&mut self, place: usize, entry: Entry) {
        let Node { nonce, watch, watched, .. } = self.nodes[place];
        if watched == self.store.incarnation() && !self.is_lost(place) {
            let delay = self.latency();
            self.after(delay, Step::Watch(place, nonce, entry, watch));
        }
    }

    /// Begins a new watch, which tells what is there.
    fn watch(&mut self, place: usize) {
        let watched = self.store.incarnation();
        let node = &mut self.nodes[place];
        node.watch += 1;
        node.watched = watched;
        let since = self.clock(place);
        self.give(place, Input::Watching { since });
        let entry = self.store.read();
        if entry != Entry::Vacant {
            self.watched(place, entry);
        }
    }

    /// Sends something to a candidate, unless the network loses it.
    fn send(&mut self, place: usize, nonce: u128, input: Input) {
        if !self.is_lost(place) {
            let delay = self.latency();
            self.after(delay, Step::Arrive(place, nonce, input));
        }
    }

    fn is_lost(&mut self, place: usize) -> bool {
        self.nodes[place].cut_until > self.now || self.faults.loss && self.below(100) < 5
    }

    fn latency(&mut self) -> Duration {
        if self.faults.delay && self.below(100) < 5 {
            Duration::from_millis(self.below(12_000))
        } else {
            Duration::from_micros(100 + self.below(3_000))
        }
    }

    fn fault(&mut self) {
        let place = self.below(CANDIDATES as u64) as usize;
        let victim = if self.below(2) == 0 { self.leader().unwrap_or(place) } else { place };
        let span = Duration::from_millis(self.below(25_000));
        let faults = self.faults;
        match self.below(9) {
            0 if faults.pauses => {
                self.nodes[victim].paused_until = self.now + span;
                self.after(span, Step::Wake(victim));
            }
            1 if faults.crashes => self.crash(victim),
            2 if faults.partitions => self.nodes[victim].cut_until = self.now + span,
            3 if faults.deletions => {
                let entry = self.store.delete(self.now);
                self.publish(Some(entry));
            }
            4 if faults.overwrites => {
                let entry = self.store.overwrite(self.now);
                self.publish(Some(entry));
            }
            5 if faults.recreations => {
                let skip = self.below(30);
                self.store.recreate(skip, self.now);
                self.note(|trace, _| writeln!(trace, "  store made anew"));
            }
            6 if faults.resignations => self.give(victim, Input::Resign),
            7 if faults.resignations => self.give(victim, Input::HandlerFailed),
            8 if faults.resignations => {
                self.give(victim, Input::Health(false));
                let nonce = self.nodes[victim].nonce;
                self.after(span, Step::Arrive(victim, nonce, Input::Health(true)));
            }
            _ => {}
        }
    }

    fn crash(&mut self, place: usize) {
        let nonce = self.nodes[place].nonce + 100;
        let drift = self.nodes[place].drift;
        let campaign = self.campaign(nonce, drift);
        let node = &mut self.nodes[place];
        *node = Node { campaign, nonce, leads: false, backlog: Vec::new(), paused_until: self.now, ..*node };
        self.note(|trace, _| writeln!(trace, "  {place}: crashed"));
        self.watch(place);
        self.give(place, Input::Campaign);
    }

    fn campaign(&mut self, nonce: u128, drift: i64) -> Campaign {
        let now = reading(self.now, drift);
        let seed = self.rng.rand_u64();
        let facts = self.store.facts(now, self.now);
        let settings = Settings { drain: Duration::from_secs(1), ..Settings::new(format!("c{nonce}")) };
        Campaign::new(settings, self.store.capabilities(), &facts, Nonce(nonce), seed, now)
            .expect("sound settings")
    }

    fn give(&mut self, place: usize, input: Input) {
        if self.nodes[place].paused_until > self.now {
            self.nodes[place].backlog.push(input);
            return;
        }
        let mut inputs = std::mem::take(&mut self.nodes[place].backlog);
        inputs.push(input);
        for input in inputs {
            // As a hub does: another life of the store begins with another watch.
            let another = matches!(&input, Input::Inspected(Ok(facts)) if facts.incarnation != self.nodes[place].watched);
            if another {
                self.watch(place);
            }
            let clock = self.clock(place);
            self.nodes[place].campaign.handle(clock, input).expect("the world keeps the contract");
            self.drain(place);
        }
    }

    fn drain(&mut self, place: usize) {
        loop {
            let nonce = self.nodes[place].nonce;
            match self.nodes[place].campaign.poll() {
                Output::WakeAt(None) => return,
                Output::WakeAt(Some(wake)) => {
                    let ahead = wake.at.since(self.clock(place)) + Duration::from_micros(100);
                    return self.after(ahead.mul_f64(1.02), Step::Wake(place));
                }
                Output::Event(event) => self.event(place, event),
                request => {
                    let asked_at = self.clock(place);
                    if !self.is_lost(place) {
                        let delay = self.latency();
                        self.after(delay, Step::Request(place, nonce, request, asked_at));
                    }
                }
            }
        }
    }

    fn event(&mut self, place: usize, event: Event) {
        self.note(|trace, _| writeln!(trace, "{place}: {event:?}"));
        match event {
            Event::Won(term) => {
                assert!(!self.nodes[place].leads, "seed {}: won twice\n{}", self.seed, self.trace());
                self.nodes[place].leads = true;
                let last = self.tokens.last().copied();
                assert!(
                    Some(term.token) > last,
                    "seed {}: {} after {last:?}\n{}",
                    self.seed,
                    term.token,
                    self.trace()
                );
                self.tokens.push(term.token);
            }
            Event::Lost { .. } => {
                assert!(self.nodes[place].leads, "seed {}: lost without a win\n{}", self.seed, self.trace());
                self.nodes[place].leads = false;
            }
            _ => {}
        }
    }

    fn check(&self) {
        let leaders: Vec<_> = (0..CANDIDATES).filter(|place| self.leads(*place)).collect();
        assert!(
            leaders.len() <= 1,
            "seed {}: {leaders:?} all lead at {:?}\n{}",
            self.seed,
            self.now,
            self.trace()
        );
    }

    fn leads(&self, place: usize) -> bool {
        self.nodes[place].campaign.is_leader(self.clock(place))
    }

    fn clock(&self, place: usize) -> Instant {
        reading(self.now, self.nodes[place].drift)
    }

    fn after(&mut self, span: Duration, step: Step) {
        self.next += 1;
        self.queue.push(Reverse((self.now + span, self.next)));
        self.steps.insert(self.next, step);
    }

    fn below(&mut self, bound: u64) -> u64 {
        self.rng.rand_range(0..bound)
    }

    fn note(&mut self, line: impl FnOnce(&mut String, ()) -> std::fmt::Result) {
        write!(self.trace, "{:?} ", self.now)
            .and_then(|()| line(&mut self.trace, ()))
            .expect("a String takes text");
    }
}

/// What a clock that drifts shows at a moment of the world.
fn reading(now: Instant, drift: i64) -> Instant {
    let elapsed = now.since(START).as_nanos() as i128;
    let shown = START.as_nanos() as i128 + elapsed + elapsed * i128::from(drift) / 1_000_000;
    Instant::from_nanos(shown as u64)
}
