//! The driver of a session: hands in inputs and carries out outputs, as the runtime's does.

use std::fmt::Write as _;
use std::time::Duration;

use incumbent_core::Instant;
use incumbent_core::campaign::{self, Campaign, Event as Reported, Reason, Warning};
use incumbent_core::record::{Entry, Nonce};
use incumbent_core::session::{CampaignId, Command, Enter, Input, Observer, Output, Scope, Session};
use incumbent_core::store::{Fault, FaultKind, Outcome, StoreInfo};

use super::process::{CANDIDATE, Incoming, Request, Watch};
use super::{Event, World};
use crate::kind::Kind;
use crate::observation::Observation;
use crate::oracle::Violation;
use crate::recording::Recorded;

/// The key of the election.
const ELECTION: &str = "election";

/// The time that a registration takes.
const REGISTRATION: Duration = Duration::from_millis(1);

impl World {
    /// Starts a process at this index; it begins after `wait`.
    pub(super) fn start_process(&mut self, node: usize, wait: Duration) {
        self.processes += 1;
        let process = self.processes;
        let place = &mut self.nodes[node];
        place.process = process;
        place.nonce = Nonce(0x1000 + u128::from(process));
        place.alive = true;
        place.healthy = true;
        place.barred = None;
        place.backlog.clear();
        place.outbox.clear();
        place.session = None;
        place.twin = None;
        place.oldest = Duration::ZERO;
        place.seen = Default::default();
        place.wakes = Instant::NEVER;
        place.watch = Watch::new(0);
        self.after(wait, Event::Begin { node, process });
    }

    /// Ends the process at this index.
    pub(super) fn end_process(&mut self, node: usize) {
        let place = &mut self.nodes[node];
        place.alive = false;
        place.session = None;
        place.twin = None;
        place.lease = None;
        place.leads_until = None;
        if self.nodes[node].misled.take().is_some() {
            self.promises.undeceive(self.now, node);
        }
        self.note(|trace| write!(trace, "c{node}: gone"));
        self.observe(&Observation::Ends { node });
    }

    /// Makes a process's session, on which its candidate enters.
    pub(super) fn begin(&mut self, node: usize) {
        let process = self.nodes[node].process;
        if self.nodes[node].is_stopped(self.now) {
            return self.retry_begin(node);
        }
        let seed = self.nodes[node].dice.number();
        self.note(|trace| write!(trace, "c{node}: begins as process {process}"));
        self.observers.checkers.begins(node);
        let place = &mut self.nodes[node];
        let store = self.plan.capabilities();
        place.session = Some(Box::new(Session::new(store)));
        place.twin = self.observers.checkers.compare.then(|| Box::new(Session::new(store)));
        let (settings, nonce) = (self.plan.settings_of(node), place.nonce);
        let enter =
            Enter { id: CANDIDATE, election: ELECTION.into(), settings, nonce, seed, fail_fast: false };
        if self.recording.is_some() {
            self.nodes[node].seed = seed;
        }
        self.handle(node, Input::Enter(Box::new(enter)));
    }

    /// Retries a process that could not begin.
    fn retry_begin(&mut self, node: usize) {
        let process = self.nodes[node].process;
        let wait = self.nodes[node].dice.millis(900, 1_100);
        self.after(wait, Event::Begin { node, process });
    }

    /// Hands a message to a process.
    pub(super) fn deliver(&mut self, node: usize, incoming: Incoming) {
        // Messages from the stop come first, though the moment at which the process goes on may have come.
        if self.nodes[node].is_stopped(self.now) || !self.nodes[node].backlog.is_empty() {
            return self.nodes[node].backlog.push_back(incoming);
        }
        match incoming {
            Incoming::Connected => {
                // The watch ended with the connection that it was on.
                let number = self.nodes[node].watch.number;
                self.nodes[node].watch.end();
                self.handle(node, Input::WatchEnded { number });
                self.handle(node, Input::Reconnected);
            }
            Incoming::WatchReady { number, incarnation, entry } => {
                let watch = &mut self.nodes[node].watch;
                if watch.number == number && !watch.ready && !watch.over {
                    watch.ready = true;
                    self.handle(node, Input::Watching { number });
                    if entry != Entry::Vacant {
                        self.deliver(node, Incoming::Watched { number, incarnation, entry });
                    }
                    if self.plan.shows_all {
                        self.handle(node, Input::WatchedAll { number, of: Scope::All });
                    }
                }
            }
            Incoming::Watched { number, incarnation, entry } => {
                let watch = &self.nodes[node].watch;
                if watch.number == number && watch.ready {
                    if self.nodes[node].inspected() == Some(incarnation) {
                        self.nodes[node].note_revision(entry.revision());
                    }
                    self.handle(node, Input::Watched { number, election: ELECTION.into(), shown: entry });
                }
            }
            Incoming::Gap { number } => {
                let watch = &mut self.nodes[node].watch;
                if watch.number == number && !watch.over {
                    watch.end();
                    self.handle(node, Input::WatchEnded { number });
                }
            }
            Incoming::Input(input) => {
                if let Input::Answered {
                    answer: campaign::Answer::Wrote { outcome: Outcome::Applied { revision, .. }, .. },
                    ..
                } = &input
                {
                    self.nodes[node].note_revision(Some(*revision));
                }
                self.handle(node, input);
            }
            Incoming::Command(command) => self.handle(node, Input::Command { id: CANDIDATE, command }),
        }
    }

    /// Connects a candidate's client to the next server, or tries again.
    pub(super) fn connect(&mut self, node: usize) {
        let process = self.nodes[node].process;
        let reachable = self.nodes[node].cut_out == 0 && self.nodes[node].cut_in == 0;
        match self.cluster.next_server(self.nodes[node].server).filter(|_| reachable) {
            Some(server) => {
                self.nodes[node].server = server;
                self.deliver(node, Incoming::Connected);
            }
            None => {
                let wait = self.nodes[node].dice.millis(300, 700);
                self.after(wait, Event::Connect { node, process });
            }
        }
    }

    pub(super) fn wake(&mut self, node: usize) {
        if self.nodes[node].wakes > self.now {
            return;
        }
        self.nodes[node].wakes = Instant::NEVER;
        if !self.nodes[node].is_stopped(self.now) {
            self.handle(node, Input::Tick);
        }
    }

    /// Lets a stopped process go on: the messages that came meanwhile are there at once, and so are its timers.
    pub(super) fn resume(&mut self, node: usize) {
        if self.nodes[node].is_stopped(self.now) || !self.nodes[node].alive {
            return;
        }
        self.observe(&Observation::Stopped { node, stopped: false });
        if self.nodes[node].dice.percent(50) {
            self.handle(node, Input::Tick);
        }
        let process = self.nodes[node].process;
        for incoming in std::mem::take(&mut self.nodes[node].backlog) {
            if self.is_present(node, process) {
                self.deliver(node, incoming);
            }
        }
        self.handle(node, Input::Tick);
    }

    /// Hands an input to a session and carries out its outputs.
    pub(super) fn handle(&mut self, node: usize, input: Input) {
        if self.observers.violation.is_some() {
            return;
        }
        let Some(mut session) = self.nodes[node].session.take() else { return };
        let clean = self.nodes[node].clock.at(self.now);
        let mut clock = clean;
        if self.is_on(Kind::ClockBack) && self.nodes[node].dice.percent(30) {
            // A reading that is older than the truth makes first observations too early: the slack covers as much.
            clock = clock.before(self.nodes[node].dice.millis(0, 250));
        }
        let twin = self.nodes[node].twin.is_some().then(|| input.clone());
        let mut steps = Steps { world: self, node, clean, input: None };
        let handled = session.handle_observed(clock, input, &mut steps);
        self.nodes[node].session = Some(session);
        if let Err(misuse) = handled {
            self.observers.violation = Some(Violation::of_contract(self.now, format!("c{node}: {misuse}")));
        }
        if self.observers.violation.is_some() {
            return;
        }
        if let Some(input) = twin {
            // The twin gets the latest reading instead of an older one, and must emit the same.
            let latest = self.observers.checkers.latest(node, clock);
            if let Some(twin) = &mut self.nodes[node].twin {
                let _ = twin.handle(latest, input);
            }
        }
        self.drain(node);
    }

    fn drain(&mut self, node: usize) {
        loop {
            let Some(session) = &mut self.nodes[node].session else { return };
            let output = session.poll();
            let twin = self.nodes[node].twin.as_mut().map(|twin| twin.poll());
            if let Some(twin) = twin.filter(|twin| *twin != output) {
                let says = format!("c{node} says {output:?}, and the same again says {twin:?}");
                self.observers.violation = Some(self.observers.checkers.differs(self.now, says));
                return;
            }
            if let Output::WakeAt(wake) = output {
                return self.wake_later(node, wake.map(|wake| wake.at));
            }
            self.carry_out_output(node, output);
        }
    }

    fn carry_out_output(&mut self, node: usize, output: Output) {
        let process = self.nodes[node].process;
        match output {
            Output::Ask { request: campaign::Request::Write(write), .. } => {
                self.send(node, Request::Write(write))
            }
            Output::Ask { request: campaign::Request::Read(read), .. } => {
                self.send(node, Request::Read(read))
            }
            Output::Inspect { number, limit } => {
                let asked_at = self.nodes[node].clock.at(self.now);
                self.send(node, Request::Inspect { number, asked_at });
                let fault = Fault { kind: FaultKind::Unreachable, detail: "no answer".into() };
                let incoming = Incoming::Input(Input::Inspected { number, result: Err(fault) });
                self.after(limit, Event::Deliver { node, process, incoming });
            }
            Output::Watch { number, limit } => {
                self.nodes[node].watch = Watch::new(number);
                self.send(node, Request::Watch { number });
                self.after(limit, Event::WatchAgain { node, process, number });
            }
            Output::Reconnect { .. } => {
                let wait = self.nodes[node].dice.millis(1, 60);
                self.after(wait, Event::Connect { node, process });
            }
            Output::Register { .. } => {
                let incoming = Incoming::Input(Input::Registered(true));
                self.after(REGISTRATION, Event::Deliver { node, process, incoming });
            }
            Output::Report { events, .. } => events.iter().for_each(|event| self.react(node, event)),
            Output::Refused(..) => {
                self.nodes[node].session = None;
                self.nodes[node].twin = None;
                self.retry_begin(node);
            }
            Output::Closed(_) => {
                self.end_process(node);
                if self.quiet {
                    self.start_process(node, Duration::from_secs(1));
                }
            }
            Output::Entered(_)
            | Output::Campaigning(..)
            | Output::Considered { .. }
            | Output::NotNext { .. } => {}
            // The loop has handled it.
            Output::WakeAt(_) => {}
        }
    }

    fn wake_later(&mut self, node: usize, at: Option<Instant>) {
        let Some(at) = at else { return };
        let mut at = self.nodes[node].clock.when(at).max(self.now) + self.nodes[node].dice.micros(10, 500);
        if self.is_on(Kind::Starve) && self.nodes[node].dice.percent(30) {
            at = at + self.nodes[node].dice.millis(1, self.plan.lease.as_millis() as u64);
        }
        if at < self.nodes[node].wakes {
            self.nodes[node].wakes = at;
            let process = self.nodes[node].process;
            self.queue.put(at, Event::Wake { node, process });
        }
    }

    fn react(&mut self, node: usize, event: &Reported) {
        let process = self.nodes[node].process;
        match event {
            Reported::Won(term) => {
                self.nodes[node].barred = None;
                self.promises.term_reported(term.token);
            }
            Reported::Warning(Warning::StoreReset { seen, barred, .. }) => {
                self.nodes[node].barred = seen.filter(|_| *barred);
            }
            Reported::Draining { .. } | Reported::Lost { reason: Reason::HandlerFailed, .. } => {
                // One user in three takes longer than it may, but not without faults.
                let drain = self.plan.settings[node].drain.as_millis() as u64;
                let most = if self.quiet { drain } else { drain * 3 / 2 };
                let wait = self.nodes[node].dice.millis(0, most);
                self.after(
                    wait,
                    Event::Deliver { node, process, incoming: Incoming::Command(Command::Drained) },
                );
            }
            _ => {}
        }
    }
}

/// Shows every step of a campaign to all observers.
struct Steps<'a> {
    world: &'a mut World,
    node: usize,
    /// The reading of the process's clock without any fault.
    clean: Instant,
    /// The input that is being handled, where it is recorded.
    input: Option<campaign::Input>,
}

impl Steps<'_> {
    fn observe(&mut self, observation: &Observation<'_>) {
        self.world.observe(observation);
    }

    /// Notes what the store showed the process about itself.
    fn note_info(&mut self, info: &StoreInfo) {
        let (node, now) = (self.node, self.world.now);
        let present = info.incarnation == self.world.cluster.bucket.incarnation;
        if present && self.world.nodes[node].misled.take_if(|until| *until <= now).is_some() {
            self.world.promises.undeceive(now, node);
        }
        let place = &mut self.world.nodes[node];
        place.oldest = place.oldest.max(info.max_age.unwrap_or_default());
    }
}

impl Observer for Steps<'_> {
    fn begins(&mut self, _: CampaignId, now: Instant, info: &StoreInfo) {
        let (node, info) = (self.node, *info);
        self.world.nodes[node].oldest = Duration::ZERO;
        self.note_info(&info);
        let place = &self.world.nodes[node];
        let (process, nonce, seed) = (place.process, place.nonce, place.seed);
        if self.world.recording.is_some() {
            let (settings, store) =
                (Box::new(self.world.plan.settings_of(node)), self.world.plan.capabilities());
            self.world.record(|| Recorded::Begins { process, settings, store, info, nonce, seed, now });
        }
        self.world.promises.newcomer(self.world.now, node);
        self.observe(&Observation::Begins { node, nonce });
        self.observe(&Observation::Input { node, clock: now, input: &campaign::Input::Inspected(Ok(info)) });
    }

    fn input(&mut self, _: CampaignId, clock: Instant, input: &campaign::Input) {
        let node = self.node;
        if let campaign::Input::Inspected(Ok(info)) = input {
            self.note_info(info);
        }
        if !matches!(input, campaign::Input::Tick) {
            self.world.note(|trace| write!(trace, "c{node} < {input:?}"));
        }
        self.observe(&Observation::Input { node, clock, input });
        self.input = self.world.recording.is_some().then(|| input.clone());
    }

    fn handled(&mut self, _: CampaignId, clock: Instant, campaign: &Campaign) {
        let node = self.node;
        let lease = campaign.lease();
        let place = &mut self.world.nodes[node];
        let process = place.process;
        if lease != place.lease {
            place.lease = lease;
            place.leads_until = lease.map(|lease| place.clock.when(lease.deadline));
        }
        let until = place.leads_until;
        if let Some(input) = self.input.take() {
            self.world.record(|| Recorded::Input { process, now: clock, input, lease });
        }
        let clean = self.clean;
        self.observe(&Observation::Handled { node, clock: clean, campaign, until });
    }

    fn output(&mut self, _: CampaignId, campaign: &Campaign, output: &campaign::Output) {
        let (node, process) = (self.node, self.world.nodes[self.node].process);
        if !matches!(output, campaign::Output::WakeAt(_)) {
            self.world.note(|trace| write!(trace, "c{node} > {output:?}"));
        }
        self.world.record(|| Recorded::Output { process, output: output.clone() });
        self.observe(&Observation::Output { node, campaign, output });
    }
}
