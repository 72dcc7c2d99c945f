//! The driver of a session: hands in inputs and carries out outputs, as the runtime's does.

use std::fmt::Write as _;
use std::time::Duration;

use incumbent_core::Instant;
use incumbent_core::campaign::{Event as Reported, Reason, Warning};
use incumbent_core::queue::{self, Answer, Campaign, Change, Failure, KeptAlive, LeaseId, Timer};
use incumbent_core::record::Nonce;
use incumbent_core::session::{CampaignId, Enter, Input, Observer, Output, Session};
use incumbent_core::store::{Fault, FaultKind, StoreInfo};

use super::process::{CANDIDATE, Incoming, KeepAlive, Request, Stream, Watch};
use super::{Event, World};
use crate::kind::Kind;
use crate::observation::Observation;
use crate::oracle::Violation;

/// The election's name.
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
        (place.session, place.twin, place.barred, place.shared) = (None, None, None, None);
        place.backlog.clear();
        place.open.clear();
        place.wakes = Instant::NEVER;
        place.watch = Watch::new(0);
        place.stream = Stream::new(place.stream.number + 1, place.member);
        self.after(wait, Event::Begin { node, process });
    }

    /// Ends the process at this index.
    pub(super) fn end_process(&mut self, node: usize) {
        let place = &mut self.nodes[node];
        place.alive = false;
        (place.session, place.twin, place.lease, place.leads_until) = (None, None, None, None);
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
        let server = self.server();
        let place = &mut self.nodes[node];
        place.session = Some(Session::new(server));
        place.twin = self.observers.checkers.compare.then(|| Session::new(server));
        let (settings, nonce) = (self.plan.settings_of(node), place.nonce);
        let enter =
            Enter { id: CANDIDATE, election: ELECTION.into(), settings, nonce, seed, fail_fast: false };
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
        let watch = &mut self.nodes[node].watch;
        match incoming {
            Incoming::Connected => {
                // The watch and the stream ended with the connection that they were on.
                let number = watch.number;
                watch.end();
                let member = self.nodes[node].member;
                self.nodes[node].stream = Stream::new(self.nodes[node].stream.number + 1, member);
                self.handle(node, Input::WatchEnded { number });
                self.handle(node, Input::Reconnected);
            }
            Incoming::WatchReady { number } if watch.number == number && !watch.ready && !watch.over => {
                watch.ready = true;
                self.handle(node, Input::Watching { number });
            }
            Incoming::Watched { number, change } if watch.number == number && watch.ready => {
                self.handle(node, Input::Watched { number, election: ELECTION.into(), shown: change });
            }
            Incoming::WatchEnded { number } if watch.number == number && !watch.over => {
                watch.end();
                self.handle(node, Input::WatchEnded { number });
            }
            Incoming::WatchReady { .. } | Incoming::Watched { .. } | Incoming::WatchEnded { .. } => {}
            Incoming::Input(input) => self.handle(node, input),
            Incoming::Command(command) => self.handle(node, Input::Command { id: CANDIDATE, command }),
            Incoming::KeptAlive { stream, number, answer } => {
                if self.nodes[node].stream.number == stream {
                    self.deliver(node, Incoming::Answer { number, answer });
                }
            }
            Incoming::Answer { number, answer } => {
                if self.nodes[node].open.remove(&number) {
                    if let Answer::Shared { result } = &answer {
                        self.nodes[node].shared = result.as_ref().ok().copied();
                    }
                    self.handle(node, Input::Answered { id: CANDIDATE, answer });
                }
            }
        }
    }

    /// Connects a candidate's client to the next member, or tries again.
    pub(super) fn connect(&mut self, node: usize) {
        let process = self.nodes[node].process;
        let reachable = self.nodes[node].cut_out == 0 && self.nodes[node].cut_in == 0;
        match self.cluster.next_member(self.nodes[node].member).filter(|_| reachable) {
            Some(member) => {
                self.nodes[node].member = member;
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
    fn handle(&mut self, node: usize, input: Input<Answer, Change>) {
        if self.observers.violation.is_some() {
            return;
        }
        let Some(mut session) = self.nodes[node].session.take() else { return };
        let clean = self.nodes[node].clock.at(self.now);
        let mut clock = clean;
        if self.is_on(Kind::ClockBack) && self.nodes[node].dice.percent(30) {
            // The slack covers as much.
            clock = clock.before(self.nodes[node].dice.millis(0, 250));
        }
        let twin = self.nodes[node].twin.is_some().then(|| input.clone());
        let mut steps = Steps { world: self, node, clean };
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
            let twin = self.nodes[node].twin.as_mut().map(Session::poll);
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

    fn carry_out_output(&mut self, node: usize, output: Output<queue::Request, Timer>) {
        let process = self.nodes[node].process;
        match output {
            Output::Ask { request, limit, .. } => self.ask(node, request, limit),
            Output::Inspect { number, limit } => {
                let asked_at = self.nodes[node].clock.at(self.now);
                self.send(node, 0, Request::Inspect { number, asked_at });
                let fault = Fault { kind: FaultKind::Unreachable, detail: "no answer".into() };
                let incoming = Incoming::Input(Input::Inspected { number, result: Err(fault) });
                self.after(limit, Event::Deliver { node, process, incoming });
            }
            Output::Watch { number, limit } => {
                self.nodes[node].watch = Watch::new(number);
                self.send(node, 0, Request::Watch { number });
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
            Output::Refused(_, refusal) => {
                self.note(|trace| write!(trace, "c{node}: refused, {refusal:?}"));
                (self.nodes[node].session, self.nodes[node].twin) = (None, None);
                self.retry_begin(node);
            }
            Output::Closed(_) => {
                // A driver that closes its connection gives up the lease of the companions.
                if let Some(lease) = self.nodes[node].shared.take().filter(|_| process.is_multiple_of(2)) {
                    self.send(node, 0, Request::Revoke { lease });
                }
                self.end_process(node);
                if self.quiet {
                    self.start_process(node, Duration::from_secs(1));
                }
            }
            Output::NotNext { successor, before, .. } => {
                self.note(|trace| write!(trace, "c{node}: {successor} is not next, {before:?}"));
            }
            Output::Entered(_) | Output::Campaigning(..) | Output::Considered { .. } => {}
            // The loop has handled it.
            Output::WakeAt(_) => {}
        }
    }

    /// Sends a request, and answers it as unknown where no answer comes in time.
    fn ask(&mut self, node: usize, request: queue::Request, limit: Duration) {
        let request = match request {
            queue::Request::KeepAlive { leases } => {
                for lease in leases {
                    self.send_keep_alive(node, lease, limit);
                }
                return;
            }
            queue::Request::Share { gone, ttl } => match self.nodes[node].shared {
                Some(lease) if Some(lease) != gone => {
                    let number = self.number(node);
                    let answer = Answer::Shared { result: Ok(lease) };
                    let process = self.nodes[node].process;
                    let incoming = Incoming::Answer { number, answer };
                    return self.after(Duration::ZERO, Event::Deliver { node, process, incoming });
                }
                _ => {
                    self.nodes[node].shared = None;
                    let lease = LeaseId((self.nodes[node].dice.number() >> 1).max(1));
                    Request::Share { lease, ttl }
                }
            },
            queue::Request::Grant { lease, ttl } => Request::Grant { lease, ttl },
            queue::Request::Read { read, own, whole } => Request::Read { read, own, whole },
            queue::Request::Write(write) => Request::Write(write),
            queue::Request::Revoke { lease } => Request::Revoke { lease },
        };
        let number = self.number(node);
        if let Some(answer) = request.failed(Failure::Unknown) {
            self.give_up_after(node, number, answer, limit);
        }
        self.send(node, number, request);
    }

    fn number(&mut self, node: usize) -> u64 {
        self.requests += 1;
        self.nodes[node].open.insert(self.requests);
        self.requests
    }

    fn give_up_after(&mut self, node: usize, number: u64, answer: Answer, limit: Duration) {
        let process = self.nodes[node].process;
        let incoming = Incoming::Answer { number, answer };
        self.after(limit, Event::Deliver { node, process, incoming });
    }

    fn send_keep_alive(&mut self, node: usize, lease: LeaseId, limit: Duration) {
        let number = self.number(node);
        let sent_at = self.nodes[node].clock.at(self.now);
        let failed = Answer::KeptAlive { lease, sent_at, result: Err(Failure::Unknown) };
        self.give_up_after(node, number, failed, limit);
        let lost = self.nodes[node].cut_out > 0 || self.is_lost(node);
        let latency = self.latency(node);
        let place = &mut self.nodes[node];
        // What a stream loses is sent again, in order, or the stream is over: nothing overtakes it.
        place.stream.broken |= lost;
        if place.stream.broken {
            return;
        }
        place.stream.sent = place.stream.sent.max(self.now + latency);
        let (process, stream, at) = (place.process, place.stream.number, place.stream.sent);
        let keep = KeepAlive { number, lease, sent_at };
        self.queue.put(at, Event::KeepAlive { node, process, stream, keep });
    }

    /// Sends the answer to a keep-alive.
    pub(super) fn kept_alive(&mut self, node: usize, keep: KeepAlive, result: Result<KeptAlive, Failure>) {
        let lost = self.nodes[node].cut_in > 0 || self.is_lost(node);
        let latency = self.latency(node);
        let place = &mut self.nodes[node];
        place.stream.broken |= lost;
        if place.stream.broken {
            return;
        }
        place.stream.answered = place.stream.answered.max(self.now + latency);
        let (process, stream, at) = (place.process, place.stream.number, place.stream.answered);
        let KeepAlive { number, lease, sent_at } = keep;
        let answer = Answer::KeptAlive { lease, sent_at, result };
        let incoming = Incoming::KeptAlive { stream, number, answer };
        self.queue.put(at, Event::Deliver { node, process, incoming });
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
                let incoming = Incoming::Command(incumbent_core::session::Command::Drained);
                self.after(wait, Event::Deliver { node, process, incoming });
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
}

impl Observer<Campaign> for Steps<'_> {
    fn begins(&mut self, _: CampaignId, _: Instant, _: &StoreInfo) {
        let (node, nonce) = (self.node, self.world.nodes[self.node].nonce);
        self.world.promises.newcomer(self.world.now, node);
        self.world.observe(&Observation::Begins { node, nonce });
    }

    fn input(&mut self, _: CampaignId, clock: Instant, input: &queue::Input) {
        let node = self.node;
        if !matches!(input, queue::Input::Tick) {
            self.world.note(|trace| write!(trace, "c{node} < {input:?}"));
        }
        self.world.observe(&Observation::Input { node, clock, input });
    }

    fn handled(&mut self, _: CampaignId, _: Instant, campaign: &Campaign) {
        let node = self.node;
        let lease = campaign.lease();
        let place = &mut self.world.nodes[node];
        if lease != place.lease {
            place.lease = lease;
            place.leads_until = lease.map(|lease| place.clock.when(lease.deadline));
        }
        let (clock, until) = (self.clean, place.leads_until);
        self.world.observe(&Observation::Handled { node, clock, campaign, until });
    }

    fn output(&mut self, _: CampaignId, campaign: &Campaign, output: &queue::Output) {
        let node = self.node;
        if !matches!(output, queue::Output::WakeAt(_)) {
            self.world.note(|trace| write!(trace, "c{node} > {output:?}"));
        }
        self.world.observe(&Observation::Output { node, campaign, output });
    }
}
