//! Candidates whose handlers are slow, fail and hang, in a small separate world.
//!
//! Each candidate runs a [`incumbent_core::reconcile::Reconciler`]. The election is an ideal one: a lease that one of
//! the candidates has. Handlers, renewals, operators and the system fail. After that comes a quiet time without faults,
//! in which a candidate must work.

use std::fmt;
use std::time::Duration;

use incumbent_core::Instant;
use incumbent_core::reconcile::{Event, Handler, Input, Message, Output, Reconciler, RunId, Settings, State};

use crate::dice::Dice;
use crate::queue::Queue;

/// The stream of random numbers of this world.
const STREAM: u64 = 0x4841;
const CANDIDATES: usize = 3;
const LEASE: Duration = Duration::from_secs(10);
const RENEW: Duration = Duration::from_secs(3);
/// The longest time for which a leader that leaves may keep the lease.
const DRAIN: Duration = Duration::from_secs(10);
const FAULTS: Duration = Duration::from_secs(600);
/// The longest time for which faults have an effect: a cool-down, an *end* and all its retries.
const QUIET: Duration = Duration::from_secs(900);

/// The outcome of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Handled {
    /// The number of *begin* runs that succeeded.
    pub begun: u64,
    /// The number of *end* runs that succeeded.
    pub ended: u64,
    /// The number of handlers that failed.
    pub failed: u64,
    /// The number of *begin* runs that were stopped.
    pub stopped: u64,
    /// The number of times that work continued after its lease was over.
    pub overdue: u64,
    /// The number of times that two candidates worked at once.
    pub together: u64,
    /// The number of times that a candidate gave up.
    pub gave_up: u64,
    /// The number of messages that were dropped.
    pub dropped: u64,
    /// A number that depends on all events and their order.
    pub digest: u64,
    /// The rule that was broken.
    pub violation: Option<String>,
}

/// Makes a run. The same seed gives the same run.
pub fn run_handlers(seed: u64) -> Handled {
    let mut world = World::new(seed);
    match world.run() {
        Ok(()) => {}
        Err(violation) => {
            world.handled.violation = Some(format!("seed {seed}, at {:?}: {violation}", world.now));
        }
    }
    world.handled
}

enum Scheduled {
    /// A tick for this candidate.
    Tick(usize),
    /// A handler returns.
    Returns { index: usize, run: RunId, succeeded: bool },
    /// The holder renews its lease, or fails to renew it.
    Renews { index: usize, term: u64 },
    /// The lease of a term has run out.
    Expires { index: usize, term: u64 },
    /// The drain of a term has ended.
    Drained { index: usize, term: u64 },
    /// One of the candidates acquires the lease.
    Acquire,
    /// A fault happens.
    Fault,
    /// A person has repaired the system of a candidate that gave up, and restarts it.
    Restarts(usize),
}

struct Node {
    reconciler: Reconciler,
    /// Whether the candidate takes part in the election.
    in_race: bool,
    gave_up: bool,
    /// The running handler.
    running: Option<(RunId, Handler)>,
    /// Whether work from a *begin* may in fact be running.
    works: bool,
    lease: Instant,
    overdue: bool,
    failed_ends: u32,
    /// Whether the candidate's current error began with a failed *end*.
    failed_by_end: bool,
    sent_in_error: u32,
    /// The next tick.
    wake: Option<Instant>,
}

struct Held {
    holder: usize,
    term: u64,
    leaves: bool,
    cut_off: bool,
    /// Whether the term's drain has ended, so that the lease is no longer renewed.
    is_over: bool,
}

struct World {
    dice: Dice,
    now: Instant,
    quiet: bool,
    settings: Settings,
    nodes: Vec<Node>,
    held: Option<Held>,
    terms: u64,
    queue: Queue<Scheduled>,
    handled: Handled,
}

impl World {
    fn new(seed: u64) -> Self {
        let mut dice = Dice::new(seed, STREAM);
        let settings = Settings {
            retry_every: dice.pick(&[1, 5, 10].map(Duration::from_secs)),
            retries: dice.pick(&[0, 2, 12]),
            cool_down: dice.pick(&[0, 1, 30].map(Duration::from_secs)),
        };
        let now = Instant::ZERO + Duration::from_secs(3600);
        let node = || Node::new(&settings, now);
        let nodes = (0..CANDIDATES).map(|_| node()).collect();
        let mut world = Self {
            dice,
            now,
            quiet: false,
            settings,
            nodes,
            held: None,
            terms: 0,
            queue: Queue::new(),
            handled: Handled::default(),
        };
        world.after(Duration::ZERO, Scheduled::Acquire);
        world.after(Duration::from_secs(1), Scheduled::Fault);
        world
    }

    fn run(&mut self) -> Result<(), String> {
        let quiet_at = self.now + FAULTS;
        let end = quiet_at + QUIET;
        while let Some((at, event)) = self.queue.take() {
            if at > end {
                break;
            }
            self.now = at;
            self.quiet = at >= quiet_at;
            self.carry_out_event(event)?;
            self.check()?;
        }
        let workers = self.nodes.iter().filter(|node| node.works && !node.overdue).count();
        must(workers == 1, || format!("{workers} candidates work after the faults"))
    }

    fn carry_out_event(&mut self, event: Scheduled) -> Result<(), String> {
        match event {
            Scheduled::Tick(index) => {
                self.nodes[index].wake.take_if(|at| *at <= self.now);
                self.handle(index, Input::Tick)
            }
            Scheduled::Returns { index, run, succeeded } => self.returns(index, run, succeeded),
            Scheduled::Renews { index, term } if self.holds(index, term) => {
                self.after(RENEW, Scheduled::Renews { index, term });
                if self.held.as_ref().is_some_and(|held| held.is_over || held.cut_off && !self.quiet) {
                    return Ok(());
                }
                self.lease(index, term)
            }
            Scheduled::Expires { index, term }
                if self.holds(index, term) && self.nodes[index].lease <= self.now =>
            {
                self.vacate();
                self.send(index, Message::NotLeader)
            }
            Scheduled::Drained { index, term } if self.holds(index, term) && self.nodes[index].works => {
                // The candidate's term is lost, so its lease is not renewed. The lease is not released while the
                // candidate works.
                if let Some(held) = &mut self.held {
                    held.is_over = true;
                }
                Ok(())
            }
            Scheduled::Drained { index, term } if self.holds(index, term) => {
                self.vacate();
                self.handle(index, Input::Lease { until: self.now })?;
                self.nodes[index].lease = self.now;
                Ok(())
            }
            Scheduled::Acquire if self.held.is_none() => self.acquire(),
            Scheduled::Fault if !self.quiet => self.begin_fault(),
            Scheduled::Restarts(index) => {
                self.nodes[index] = Node::new(&self.settings, self.now);
                self.after(Duration::ZERO, Scheduled::Acquire);
                Ok(())
            }
            _ => Ok(()),
        }
    }

    fn acquire(&mut self) -> Result<(), String> {
        let candidates: Vec<usize> = (0..CANDIDATES).filter(|index| self.nodes[*index].in_race).collect();
        if candidates.is_empty() {
            self.after(Duration::from_secs(1), Scheduled::Acquire);
            return Ok(());
        }
        let holder = self.dice.pick(&candidates);
        self.terms += 1;
        let term = self.terms;
        self.held = Some(Held { holder, term, leaves: false, cut_off: false, is_over: false });
        self.after(RENEW, Scheduled::Renews { index: holder, term });
        self.lease(holder, term)?;
        self.send(holder, Message::Leader)
    }

    fn lease(&mut self, index: usize, term: u64) -> Result<(), String> {
        let until = self.now + LEASE;
        self.nodes[index].lease = until;
        self.after(LEASE, Scheduled::Expires { index, term });
        self.handle(index, Input::Lease { until })
    }

    fn begin_fault(&mut self) -> Result<(), String> {
        let wait = self.dice.millis(200, 20_000);
        self.after(wait, Scheduled::Fault);
        let index = self.dice.below(CANDIDATES as u64) as usize;
        match self.dice.below(6) {
            0 => self.send(index, Message::Error),
            // A message that changes nothing.
            1 => {
                let leads = self.held.as_ref().is_some_and(|held| held.holder == index && !held.leaves);
                self.send(index, if leads { Message::Leader } else { Message::NotLeader })
            }
            2 => {
                if let Some(held) = &mut self.held {
                    held.cut_off = !held.cut_off;
                }
                Ok(())
            }
            3 => self.leave(),
            // An operator deletes the key, and the next candidate may lead at once.
            4 => {
                let Some(held) = self.vacate() else { return Ok(()) };
                self.nodes[held.holder].lease = self.now;
                self.handle(held.holder, Input::Lease { until: self.now })?;
                self.send(held.holder, Message::NotLeader)
            }
            _ => Ok(()),
        }
    }

    /// The holder leaves voluntarily.
    fn leave(&mut self) -> Result<(), String> {
        let Some(held) = self.held.as_mut().filter(|held| !held.leaves) else { return Ok(()) };
        held.leaves = true;
        let (index, term) = (held.holder, held.term);
        self.after(DRAIN, Scheduled::Drained { index, term });
        self.send(index, Message::NotLeader)
    }

    fn vacate(&mut self) -> Option<Held> {
        let wait = self.dice.millis(1, 500);
        self.after(wait, Scheduled::Acquire);
        self.held.take()
    }

    fn holds(&self, index: usize, term: u64) -> bool {
        self.held.as_ref().is_some_and(|held| held.holder == index && held.term == term)
    }

    fn send(&mut self, index: usize, message: Message) -> Result<(), String> {
        let node = &mut self.nodes[index];
        if node.reconciler.state() == State::Error {
            node.sent_in_error += 1;
        }
        self.handle(index, Input::Message(message))
    }

    fn returns(&mut self, index: usize, run: RunId, succeeded: bool) -> Result<(), String> {
        let node = &mut self.nodes[index];
        // If the handler was stopped, or belongs to a former process, it counts as returned already.
        let Some((_, handler)) = node.running.take_if(|running| running.0 == run) else {
            return Ok(());
        };
        self.handled.failed += u64::from(!succeeded);
        match handler {
            Handler::Begin if succeeded => self.handled.begun += 1,
            // The handler may have done any part of its work.
            Handler::Begin => {}
            Handler::End if succeeded => {
                self.handled.ended += 1;
                (node.works, node.failed_ends) = (false, 0);
            }
            Handler::End => node.failed_ends += 1,
            Handler::Error => {}
        }
        self.handle(index, Input::Returned { run, succeeded })
    }

    fn handle(&mut self, index: usize, input: Input) -> Result<(), String> {
        let node = &mut self.nodes[index];
        if node.gave_up {
            return Ok(());
        }
        node.reconciler.handle(self.now, input).map_err(|misuse| misuse.to_string())?;
        loop {
            let output = self.nodes[index].reconciler.poll();
            self.note(index, &output);
            match output {
                Output::WakeAt(Some(wake)) => {
                    let asked = self.nodes[index].wake.replace(wake.at);
                    if asked != Some(wake.at) {
                        self.at(wake.at, Scheduled::Tick(index));
                    }
                    return Ok(());
                }
                Output::WakeAt(None) => return Ok(()),
                output => self.carry_out(index, output)?,
            }
        }
    }

    fn carry_out(&mut self, index: usize, output: Output) -> Result<(), String> {
        match output {
            Output::Run { run, handler } => self.start(index, run, handler),
            Output::Stop(run) => {
                self.handled.stopped += 1;
                let (running, handler) = self.nodes[index].running.ok_or("nothing to stop")?;
                must(running == run && handler == Handler::Begin, || format!("stop of {handler}"))?;
                // Some handlers cannot be stopped.
                if self.dice.percent(80) {
                    let (wait, succeeded) = (self.dice.millis(0, 500), self.dice.percent(30));
                    self.after(wait, Scheduled::Returns { index, run, succeeded });
                }
                Ok(())
            }
            Output::StandDown => {
                must(self.nodes[index].in_race, || "stands down twice".into())?;
                self.nodes[index].in_race = false;
                if let Some(held) = self.held.as_mut().filter(|held| held.holder == index && !held.leaves) {
                    held.leaves = true;
                    let term = held.term;
                    // If no work was begun, there is nothing to wait for.
                    let wait = if self.nodes[index].works { DRAIN } else { Duration::ZERO };
                    self.after(wait, Scheduled::Drained { index, term });
                }
                Ok(())
            }
            Output::StandUp => {
                must(!self.nodes[index].in_race, || "stands up twice".into())?;
                self.nodes[index].in_race = true;
                Ok(())
            }
            Output::Relinquish => {
                must(!self.nodes[index].works, || "relinquishes the lease while it works".into())?;
                if self.held.as_ref().is_some_and(|held| held.holder == index && held.leaves) {
                    self.vacate();
                }
                Ok(())
            }
            Output::Event(event) => self.report(index, event),
            Output::GiveUp(gave_up) => {
                let node = &mut self.nodes[index];
                node.gave_up = true;
                node.in_race = false;
                self.handled.gave_up += 1;
                // If the run of *end* that failed caused the error, that run is not one of the retries.
                let runs =
                    if node.failed_by_end { self.settings.retries + 1 } else { self.settings.retries.max(1) };
                must(gave_up.failed == runs && node.failed_ends == runs, || gave_up.to_string())?;
                self.after(Duration::from_secs(60), Scheduled::Restarts(index));
                Ok(())
            }
            Output::WakeAt(_) => Ok(()),
        }
    }

    fn start(&mut self, index: usize, run: RunId, handler: Handler) -> Result<(), String> {
        let quiet = self.quiet;
        let node = &mut self.nodes[index];
        if let Some((_, other)) = &node.running {
            return Err(format!("{handler} runs while {other} is running"));
        }
        match handler {
            Handler::Begin => {
                must(!node.works, || "begins again before it has ended".into())?;
                must(node.in_race, || "begins while it stays out of the race".into())?;
                node.works = true;
            }
            Handler::End => must(node.works, || "ends what was never begun".into())?,
            Handler::Error => must(!node.works, || "handles an error while it works".into())?,
        }
        node.running = Some((run, handler));
        let (hangs, fails) = if quiet { (0, 0) } else { (10, 20) };
        let takes = if self.dice.percent(hangs) {
            self.dice.millis(5_000, 60_000)
        } else {
            self.dice.millis(0, 3_000)
        };
        let succeeded = !self.dice.percent(fails);
        self.after(takes, Scheduled::Returns { index, run, succeeded });
        Ok(())
    }

    fn report(&mut self, index: usize, event: Event) -> Result<(), String> {
        let now = self.now;
        let node = &mut self.nodes[index];
        match event {
            Event::Overdue { since } => {
                self.handled.overdue += 1;
                must(node.works && !node.overdue && since <= now, || format!("overdue since {since:?}"))?;
                node.overdue = true;
            }
            Event::Late { by } => {
                must(node.overdue && !node.works, || format!("late by {by:?}"))?;
                node.overdue = false;
            }
            Event::Resumed { dropped } => {
                self.handled.dropped += u64::from(dropped);
                let sent = std::mem::take(&mut node.sent_in_error);
                // One more message may have waited for the handler that failed.
                must(dropped == sent || dropped == sent + 1, || format!("{dropped} dropped of {sent}"))?;
            }
            Event::State(State::Error) => {
                node.sent_in_error = 0;
                node.failed_by_end = node.failed_ends > 0;
            }
            Event::State(_) | Event::Failed(_) => {}
        }
        Ok(())
    }

    /// Checks the rules that hold at every moment.
    fn check(&mut self) -> Result<(), String> {
        for (index, node) in self.nodes.iter().enumerate().filter(|(_, node)| !node.gave_up) {
            let over = node.works && node.lease <= self.now;
            must(!over || node.overdue, || format!("{index} works without a lease, and it is not reported"))?;
        }
        let working: Vec<&Node> = self.nodes.iter().filter(|node| node.works && !node.gave_up).collect();
        self.handled.together += u64::from(working.len() > 1);
        let in_time = working.iter().filter(|node| !node.overdue).count();
        must(in_time <= 1, || format!("{in_time} work, each of them with a lease"))
    }

    /// Adds an event to the digest.
    fn note(&mut self, index: usize, output: &dyn fmt::Debug) {
        for byte in format!("{:?} {index} {output:?}\n", self.now).bytes() {
            self.handled.digest = (self.handled.digest ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }

    fn after(&mut self, span: Duration, event: Scheduled) {
        self.at(self.now + span, event);
    }

    fn at(&mut self, at: Instant, event: Scheduled) {
        self.queue.put(at.max(self.now), event);
    }
}

impl Node {
    fn new(settings: &Settings, now: Instant) -> Self {
        Self {
            reconciler: Reconciler::new(settings.clone(), now),
            in_race: true,
            gave_up: false,
            running: None,
            works: false,
            lease: Instant::ZERO,
            overdue: false,
            failed_ends: 0,
            failed_by_end: false,
            sent_in_error: 0,
            wake: None,
        }
    }
}

fn must(holds: bool, otherwise: impl FnOnce() -> String) -> Result<(), String> {
    if holds { Ok(()) } else { Err(otherwise()) }
}
