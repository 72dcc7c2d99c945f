//! The world of a run: candidates and a store, driven by a queue of events. The loop, the driver of the sessions and
//! the faults are the same for every store.
//!
//! A store provides its state, its events and its rules as [`Store`] and [`Hooks`], and a [`World`] runs them.

#[cfg(test)]
mod counter;
mod driver;
mod faults;

pub(crate) use driver::{is_of_second, nonce_of};
use faults::drift;

use std::collections::VecDeque;
use std::fmt::{Debug, Write as _};
use std::ops::{Deref, DerefMut};
use std::time::Duration;

use incumbent_core::campaign::Lease;
use incumbent_core::candidacy::{self, Candidacy, Rule};
use incumbent_core::record::Nonce;
use incumbent_core::session::{CampaignId, Input, Output, Session};
use incumbent_core::store::StoreInfo;
use incumbent_core::{Incarnation, Instant, Token};

use crate::clock::Clock;
use crate::clock::START;
use crate::dice::Dice;
use crate::kind::Kind;
use crate::observation::{Observation, Observers, Order, View};
use crate::oracle::{Checkers, Violation};
use crate::plan::{Fault, Plan};
use crate::promise::Promises;
use crate::queue::Queue;
use crate::report::Tally;
use crate::timeline::Timeline;
use crate::{Outcome, TracedRun};

/// The number of the first candidate on each session. Any other candidate is in the second election.
pub(crate) const CANDIDATE: CampaignId = 1;

/// The name of the election, and that of the second one if a run has it.
pub(crate) const ELECTION: &str = "election";
pub(crate) const SECOND: &str = "second";

pub(crate) type InputOf<S> = Input<<<S as Store>::Rule as Rule>::Answer, <<S as Store>::Rule as Rule>::Shown>;
pub(crate) type OutputOf<S> =
    Output<<<S as Store>::Rule as Rule>::Request, <<S as Store>::Rule as Rule>::Timer>;

/// The inputs and outputs of a campaign.
pub(crate) type Heard<S> =
    candidacy::Input<<RuleOf<S> as Rule>::Answer, <RuleOf<S> as Rule>::Shown, <RuleOf<S> as Rule>::Told>;
pub(crate) type Said<S> =
    candidacy::Output<<RuleOf<S> as Rule>::Request, <RuleOf<S> as Rule>::Timer, <RuleOf<S> as Rule>::Tell>;
type RuleOf<S> = <S as Store>::Rule;

/// The state of a simulated store.
pub(crate) trait Store: Sized {
    type Rule: Rule;
    /// A future event of this store.
    type Event: Debug;
    /// A message that arrives at a process. It is an input of the session, or something that the client turns into an
    /// input.
    type Incoming: From<InputOf<Self>>;
    /// The part of a process's state that only this store has.
    type Process;

    fn new(plan: &Plan) -> Self;
    /// Creates the process at an index. It may draw from the candidate's random numbers.
    fn process(place: usize, plan: &Plan, dice: &mut Dice) -> Self::Process;
    fn checkers(plan: &Plan) -> Checkers<Self::Rule> {
        Checkers::of_any_rule(plan)
    }
    /// Returns the checks of a second election, if each session has a candidate in one.
    fn of_second(_plan: &Plan) -> Option<Checkers<Self::Rule>> {
        None
    }
    /// Returns the present incarnation, when it was created, and whether an operator stated that it is the first.
    fn birth(&self) -> (Incarnation, Instant, bool) {
        (Incarnation(0), START, false)
    }
}

/// The rules of a simulated store.
pub(crate) trait Hooks<S: Store> {
    /// Begins the run. Starts the candidates of other software.
    fn begins(&mut self) {}
    /// Lets an event of this store happen.
    fn happen(&mut self, event: S::Event);
    /// Notes that a process starts at an index, or that the process there ends.
    fn starts(&mut self, _node: usize) {}
    fn ends(&mut self, _node: usize) {}
    /// A process closes properly.
    fn closes(&mut self, _node: usize) {}
    /// Notes that a stopped process continues, before and after it handles what arrived meanwhile.
    fn resumes(&mut self, _node: usize) {}
    fn resumed(&mut self, _node: usize) {}
    /// Notes that a candidate got its campaign at the reading `clock` of its clock.
    fn campaigns(&mut self, _node: usize, _clock: Instant, _info: &StoreInfo) {}
    /// Notes that a campaign is about to handle an input, and that it has handled it.
    fn hears(&mut self, _node: usize, _input: &Heard<S>) {}
    fn handled(&mut self, _node: usize, _clock: Instant) {}
    /// A campaign emits an output.
    fn says(&mut self, _node: usize, _output: &Said<S>) {}
    /// Returns what a session must know about the store.
    fn connection(&self, node: usize) -> <S::Rule as Rule>::Store;
    /// Gives a message to a process that is not stopped.
    fn receive(&mut self, node: usize, incoming: S::Incoming);
    /// Carries out an output that concerns the store.
    fn carry_out(&mut self, node: usize, output: OutputOf<S>);
    /// Returns the candidate that leads according to the store, for times when none leads by its own clock.
    fn owner(&self) -> Option<usize>;
    /// Begins or ends a fault that only some stores have.
    fn begin_own_fault(&mut self, _fault: &Fault, _victim: usize, _dice: &mut Dice) {}
    fn end_own_fault(&mut self, _fault: &Fault, _hit: &[usize]) {}
    /// Notes that a fault is over, and that nothing keeps a candidate's requests from the store any more.
    fn reaches_again(&mut self, _node: usize) {}
    /// All faults are over.
    fn faults_ended(&mut self) {}
    /// Returns the longest time that an orderly change takes after a drain.
    fn change(&self) -> Duration {
        Duration::ZERO
    }
    /// Draws the orderly change of a turn that happens to the leader, if there is one.
    fn next_order(&self, _turn: u32, _leader: usize, _dice: Dice) -> Option<Order> {
        None
    }
    /// Lets an operator remove the leader from the store, if that is possible.
    fn remove(&mut self, _leader: usize) {}
    /// Cuts the server that leads off from all others.
    fn isolate(&mut self) {}
    /// Whether candidates stay out because of their tokens, so that an operator has to accept that the tokens start
    /// again.
    fn needs_an_operator(&self) -> bool {
        false
    }
}

/// A future event.
enum Event<S: Store> {
    /// A process begins, or tries to begin again.
    Begin {
        node: usize,
        process: u64,
    },
    Wake {
        node: usize,
        process: u64,
    },
    /// A process's candidate enters the second election again.
    EnterSecond {
        node: usize,
        process: u64,
    },
    Resume(usize),
    /// A process that gets only part of the processor's time does not run for a time.
    Stop(usize, Duration),
    Deliver {
        node: usize,
        process: u64,
        incoming: S::Incoming,
    },
    Store(S::Event),
    BeginFault(usize),
    EndFault(usize),
    Quiet,
    /// An operator helps the candidates that stay out.
    Operator,
    /// The first or the second orderly change after the faults happens.
    Order(u32),
    Over,
}

/// A candidate's process: its session, its clock, and its state on this store.
pub(crate) struct Node<S: Store> {
    /// The candidate's own random numbers. They are separate, so that events of other candidates change little for it.
    pub(crate) dice: Dice,
    /// The number of processes that have started at this index.
    pub(crate) process: u64,
    pub(crate) nonce: Nonce,
    /// The seed of the random numbers of its campaign.
    pub(crate) seed: u64,
    /// The session of the process. It is boxed because it is large and is moved for every input.
    pub(crate) session: Option<Box<Session<S::Rule>>>,
    /// The same session again, with correct readings of the clock, if the run compares both.
    twin: Option<Box<Session<S::Rule>>>,
    pub(crate) alive: bool,
    pub(crate) clock: Clock,
    /// The rate of its clock while no fault affects the clock.
    rate: i64,
    stopped_until: Instant,
    backlog: VecDeque<S::Incoming>,
    pub(crate) cut_out: u32,
    pub(crate) cut_in: u32,
    pub(crate) denied: u32,
    pub(crate) slow: u32,
    wakes: Instant,
    pub(crate) lease: Option<Lease>,
    /// The largest known token, if the candidate last reported that it stays out and has not led since.
    pub(crate) barred: Option<Token>,
    /// Until when it leads, in the world's time.
    leads_until: Option<Instant>,
    second: Second,
    own: S::Process,
}

/// The candidate of a process in the second election.
#[derive(Default)]
struct Second {
    /// The campaign's number on the session. It is a new number each time the campaign enters.
    id: CampaignId,
    lease: Option<Lease>,
    leads_until: Option<Instant>,
    barred: bool,
}

impl<S: Store> Deref for Node<S> {
    type Target = S::Process;

    fn deref(&self) -> &S::Process {
        &self.own
    }
}

impl<S: Store> DerefMut for Node<S> {
    fn deref_mut(&mut self) -> &mut S::Process {
        &mut self.own
    }
}

impl<S: Store> Node<S> {
    fn new(mut dice: Dice, clock: Clock, rate: i64, place: usize, plan: &Plan) -> Self {
        Self {
            process: 0,
            nonce: Nonce(0),
            seed: 0,
            session: None,
            twin: None,
            alive: false,
            clock,
            rate,
            stopped_until: Instant::ZERO,
            backlog: VecDeque::new(),
            cut_out: 0,
            cut_in: 0,
            denied: 0,
            slow: 0,
            wakes: Instant::NEVER,
            lease: None,
            barred: None,
            leads_until: None,
            second: Second::default(),
            own: S::process(place, plan, &mut dice),
            dice,
        }
    }

    pub(crate) fn is_stopped(&self, now: Instant) -> bool {
        self.stopped_until > now
    }

    /// Whether the candidate leads, by its `is_leader`.
    pub(crate) fn leads(&self, now: Instant) -> bool {
        self.leads_until.is_some_and(|until| now < until)
    }

    /// Returns the candidate's campaign, once the store has answered.
    pub(crate) fn campaign(&self) -> Option<&Candidacy<S::Rule>> {
        self.session.as_ref()?.campaign(CANDIDATE)
    }

    /// Returns the incarnation that the candidate's last inspection showed.
    pub(crate) fn inspected(&self) -> Option<Incarnation> {
        self.session.as_ref()?.info().map(|info| info.incarnation)
    }
}

pub(crate) struct World<S: Store> {
    pub(crate) now: Instant,
    pub(crate) plan: Plan,
    queue: Queue<Event<S>>,
    pub(crate) dice: Dice,
    pub(crate) store: S,
    pub(crate) nodes: Vec<Node<S>>,
    processes: u64,
    /// The number of active faults of each kind.
    active: [u32; Kind::ALL.len()],
    /// The candidates and servers that each fault of the script affects, for when the fault ends.
    pub(crate) hit: Vec<Vec<usize>>,
    pub(crate) quiet: bool,
    pub(crate) promises: Promises,
    observers: Observers<S::Rule>,
    /// The checks of the second election, if each session has a candidate in one.
    second: Option<Checkers<S::Rule>>,
    trace: Option<String>,
}

/// Makes a run.
pub(crate) fn run_traced<S: Store>(plan: Plan, trace: bool, picture: bool) -> TracedRun
where
    World<S>: Hooks<S>,
{
    World::new(plan, trace, picture).run().0
}

impl<S: Store> World<S>
where
    Self: Hooks<S>,
{
    pub(crate) fn new(plan: Plan, trace: bool, timeline: bool) -> Self {
        let mut dice = Dice::new(plan.choice.seed, 2);
        let nodes = (0..plan.choice.candidates)
            .map(|place| {
                let drawn =
                    if plan.has(Kind::Drift) { drift(&mut dice) } else { dice.below(101) as i64 - 50 };
                let rate = plan.rates.as_ref().map_or(drawn, |rates| rates[place]);
                let shows = START.before(dice.millis(0, 900_000));
                let own = Dice::new(plan.choice.seed, 16 + place as u64);
                Node::new(own, Clock::new(START, shows, rate), rate, place, &plan)
            })
            .collect();
        let mut world = Self {
            now: START,
            queue: Queue::new(),
            dice,
            store: S::new(&plan),
            nodes,
            processes: 0,
            active: [0; Kind::ALL.len()],
            hit: vec![Vec::new(); plan.script.last().map_or(0, |fault| fault.place + 1)],
            quiet: false,
            promises: Promises::new(&plan),
            observers: Observers {
                checkers: S::checkers(&plan),
                tally: Tally::default(),
                timeline: timeline.then(|| Timeline::new(&plan)),
                violation: None,
            },
            second: S::of_second(&plan),
            trace: trace.then(String::new),
            plan,
        };
        for node in 0..world.nodes.len() {
            let drawn = world.nodes[node].dice.millis(0, 2_000);
            let wait = world.plan.begins.as_ref().map_or(drawn, |begins| begins[node]);
            world.start_process(node, wait);
        }
        world.begins();
        for fault in world.plan.script.clone().iter() {
            world.queue.put(START + fault.from, Event::BeginFault(fault.place));
        }
        world.later(world.plan.faulty, Event::Quiet);
        world.later(world.plan.faulty + world.plan.quiet(), Event::Over);
        world
    }

    /// Runs until the end or the first violation. Also returns the final state of the store.
    pub(crate) fn run(mut self) -> (TracedRun, S) {
        if let Err(panic) = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| self.run_to_the_end())) {
            // After a panic the world is only read from.
            self.observers.violation = Some(Violation::of_panic(self.now, panic.as_ref()));
        }
        let picture = self.observers.timeline.take().map(|timeline| timeline.draw(self.now));
        let run = TracedRun {
            outcome: Outcome { tally: self.observers.tally, violation: self.observers.violation },
            trace: self.trace.unwrap_or_default(),
            picture: picture.unwrap_or_default(),
        };
        (run, self.store)
    }

    fn run_to_the_end(&mut self) {
        while let Some((at, place)) = self.queue.next() {
            self.now = at;
            match self.queue.remove(place) {
                None | Some(Event::Over) => {
                    self.observe_all(&Observation::Over);
                    break;
                }
                Some(event) => self.dispatch(event),
            }
            if self.observers.violation.is_some() {
                break;
            }
        }
        self.observers.tally.runs = 1;
        self.observers.tally.time = self.now.since(START);
    }

    fn dispatch(&mut self, event: Event<S>) {
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
            Event::EnterSecond { node, process } => {
                if self.is_present(node, process) && self.nodes[node].session.is_some() {
                    self.enter_second(node);
                }
            }
            Event::Resume(node) => self.resume(node),
            Event::Stop(node, lasts) if !self.quiet => self.stop(node, lasts, false),
            Event::Stop(..) => {}
            Event::Deliver { node, process, incoming } => {
                if self.is_present(node, process) {
                    self.deliver(node, incoming);
                }
            }
            Event::Store(event) => self.happen(event),
            Event::BeginFault(place) => self.begin_fault(place),
            Event::EndFault(place) => self.end_fault(place),
            Event::Quiet => self.end_all_faults(),
            Event::Operator => self.operator(),
            Event::Order(turn) => self.order(turn),
            Event::Over => {}
        }
    }

    /// Whether a process is still the one at its index.
    pub(crate) fn is_present(&self, node: usize, process: u64) -> bool {
        self.nodes[node].alive && self.nodes[node].process == process
    }

    fn later(&mut self, span: Duration, event: Event<S>) {
        self.queue.put(self.now + span, event);
    }

    /// Lets an event of the store happen after a time, or at an instant.
    pub(crate) fn after(&mut self, span: Duration, event: S::Event) {
        self.later(span, Event::Store(event));
    }

    pub(crate) fn put(&mut self, at: Instant, event: S::Event) {
        self.queue.put(at, Event::Store(event));
    }

    /// Lets a message arrive at a process after a time, or at an instant.
    pub(crate) fn deliver_after(&mut self, span: Duration, node: usize, process: u64, incoming: S::Incoming) {
        self.later(span, Event::Deliver { node, process, incoming });
    }

    pub(crate) fn deliver_at(&mut self, at: Instant, node: usize, process: u64, incoming: S::Incoming) {
        self.queue.put(at, Event::Deliver { node, process, incoming });
    }

    /// Whether a fault of a kind is active.
    pub(crate) fn is_on(&self, kind: Kind) -> bool {
        self.active[kind as usize] > 0
    }

    pub(crate) fn is_lost(&mut self, node: usize) -> bool {
        self.is_on(Kind::Loss) && self.nodes[node].dice.percent(15)
    }

    pub(crate) fn latency(&mut self, node: usize) -> Duration {
        if self.is_on(Kind::Delay) && self.nodes[node].dice.percent(15) {
            self.nodes[node].dice.millis(1, 12_000)
        } else {
            self.nodes[node].dice.micros(100, 3_000)
        }
    }

    /// Shows an event of the first election to all observers.
    pub(crate) fn observe(&mut self, observation: &Observation<'_, S::Rule>) {
        self.observe_of(true, false, observation);
    }

    /// Shows an event that belongs to no election to all observers.
    pub(crate) fn observe_all(&mut self, observation: &Observation<'_, S::Rule>) {
        self.observe_of(true, true, observation);
    }

    /// Shows an event of a candidate to the observers of its election.
    pub(crate) fn observe_by(&mut self, id: CampaignId, observation: &Observation<'_, S::Rule>) {
        self.observe_of(id == CANDIDATE, id != CANDIDATE, observation);
    }

    fn observe_of(&mut self, first: bool, second: bool, observation: &Observation<'_, S::Rule>) {
        let (incarnation, made, never_used) = self.store.birth();
        let (now, plan, promises) = (self.now, &self.plan, &self.promises);
        let view = View { now, plan, promises, incarnation, made, never_used };
        if first {
            self.observers.observe(&view, observation);
        }
        let Some(checkers) = self.second.as_mut().filter(|_| second) else { return };
        let verdict = checkers.observe(&view, observation);
        if self.observers.violation.is_none() {
            self.observers.violation = verdict.err();
        }
    }

    /// Writes a line to the trace, if there is one.
    pub(crate) fn note(&mut self, line: impl FnOnce(&mut String) -> std::fmt::Result) {
        if let Some(trace) = &mut self.trace {
            let nanos = self.now.since(START).as_nanos();
            // Writing to a string cannot fail.
            let _ = write!(trace, "{:>6}.{:06} ", nanos / 1_000_000_000, nanos / 1_000 % 1_000_000)
                .and_then(|()| line(trace));
            trace.push('\n');
        }
    }

    /// The candidate that leads.
    fn leader(&self) -> Option<usize> {
        (0..self.nodes.len()).find(|node| self.nodes[*node].leads(self.now))
    }
}
