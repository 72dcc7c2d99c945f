//! The driver of a session, which gives inputs to the session and carries out its outputs, as the runtime's driver
//! does.

use std::fmt::Write as _;
use std::time::Duration;

use incumbent_core::Instant;
use incumbent_core::campaign::{Event as Reported, Reason, Warning};
use incumbent_core::candidacy::{self, Candidacy};
use incumbent_core::record::Nonce;
use incumbent_core::session::{CampaignId, Command, Enter, Input, Observer, Output, Session};
use incumbent_core::store::StoreInfo;

use super::{
    CANDIDATE, ELECTION, Event, Heard, Hooks, InputOf, OutputOf, SECOND, Said, Second, Store, World,
};
use crate::kind::Kind;
use crate::observation::Observation;
use crate::oracle::Violation;

/// The time that a registration takes.
const REGISTRATION: Duration = Duration::from_millis(1);

impl<S: Store> World<S>
where
    Self: Hooks<S>,
{
    /// Starts a process at an index. The process begins to campaign after `wait`.
    pub(crate) fn start_process(&mut self, node: usize, wait: Duration) {
        self.processes += 1;
        let process = self.processes;
        let place = &mut self.nodes[node];
        place.process = process;
        place.nonce = Nonce(0x1000 + u128::from(process));
        place.alive = true;
        (place.session, place.twin, place.barred) = (None, None, None);
        place.backlog.clear();
        place.wakes = Instant::NEVER;
        self.starts(node);
        self.later(wait, Event::Begin { node, process });
    }

    /// Ends the process at an index.
    pub(crate) fn end_process(&mut self, node: usize) {
        let place = &mut self.nodes[node];
        place.alive = false;
        (place.session, place.twin, place.lease, place.leads_until) = (None, None, None, None);
        place.second = Second { id: place.second.id, ..Second::default() };
        self.ends(node);
        self.note(|trace| write!(trace, "c{node}: gone"));
        self.observe_all(&Observation::Ends { node });
    }

    /// Makes the session of a process, and lets its candidate enter.
    pub(crate) fn begin(&mut self, node: usize) {
        let process = self.nodes[node].process;
        if self.nodes[node].is_stopped(self.now) {
            return self.retry_begin(node);
        }
        let seed = self.nodes[node].dice.number();
        self.note(|trace| write!(trace, "c{node}: begins as process {process}"));
        self.observers.checkers.begins(node);
        let connection = self.connection(node);
        let place = &mut self.nodes[node];
        place.twin = self.observers.checkers.compare.then(|| Box::new(Session::new(connection.clone())));
        place.session = Some(Box::new(Session::new(connection)));
        place.seed = seed;
        let (settings, nonce) = (self.plan.settings_of(node), place.nonce);
        let enter =
            Enter { id: CANDIDATE, election: ELECTION.into(), settings, nonce, seed, fail_fast: false };
        self.handle(node, Input::Enter(Box::new(enter)));
        if self.second.is_some() {
            self.enter_second(node);
        }
    }

    /// Lets a process's candidate enter the second election.
    pub(super) fn enter_second(&mut self, node: usize) {
        let seed = self.nodes[node].dice.number();
        let place = &mut self.nodes[node];
        place.second.id = (place.second.id + 1).max(CANDIDATE + 1);
        let id = place.second.id;
        let nonce = nonce_of(place.nonce, id);
        let settings = self.plan.settings_of(node);
        let enter = Enter { id, election: SECOND.into(), settings, nonce, seed, fail_fast: false };
        self.handle(node, Input::Enter(Box::new(enter)));
    }

    /// Arranges another try for a process that could not begin.
    fn retry_begin(&mut self, node: usize) {
        let process = self.nodes[node].process;
        let wait = self.nodes[node].dice.millis(900, 1_100);
        self.later(wait, Event::Begin { node, process });
    }

    /// Gives a message to a process.
    pub(crate) fn deliver(&mut self, node: usize, incoming: S::Incoming) {
        // Messages that arrived during the stop are handled first, even if the process should already continue.
        if self.nodes[node].is_stopped(self.now) || !self.nodes[node].backlog.is_empty() {
            return self.nodes[node].backlog.push_back(incoming);
        }
        self.receive(node, incoming);
    }

    pub(crate) fn wake(&mut self, node: usize) {
        if self.nodes[node].wakes > self.now {
            return;
        }
        self.nodes[node].wakes = Instant::NEVER;
        if !self.nodes[node].is_stopped(self.now) {
            self.handle(node, Input::Tick);
        }
    }

    /// Lets a stopped process continue. The messages and timers of the meantime arrive at once.
    pub(crate) fn resume(&mut self, node: usize) {
        if self.nodes[node].is_stopped(self.now) || !self.nodes[node].alive {
            return;
        }
        self.observe_all(&Observation::Stopped { node, stopped: false });
        self.resumes(node);
        if self.nodes[node].dice.percent(50) {
            self.handle(node, Input::Tick);
        }
        let process = self.nodes[node].process;
        for incoming in std::mem::take(&mut self.nodes[node].backlog) {
            if self.is_present(node, process) {
                self.deliver(node, incoming);
            }
        }
        self.resumed(node);
        self.handle(node, Input::Tick);
    }

    /// Gives an input to a session and carries out its outputs.
    pub(crate) fn handle(&mut self, node: usize, input: InputOf<S>) {
        if self.observers.violation.is_some() {
            return;
        }
        let Some(mut session) = self.nodes[node].session.take() else { return };
        let clean = self.nodes[node].clock.at(self.now);
        let mut clock = clean;
        if self.is_on(Kind::ClockBack) && self.nodes[node].dice.percent(30) {
            // The slack covers this much.
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
            // The twin gets the latest reading of the clock in place of an older one, and must emit the same outputs.
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

    fn carry_out_output(&mut self, node: usize, output: OutputOf<S>) {
        let process = self.nodes[node].process;
        match output {
            Output::Register { .. } => {
                self.deliver_after(REGISTRATION, node, process, Input::Registered(true).into());
            }
            Output::Report { id, events, .. } => events.iter().for_each(|event| self.react(node, id, event)),
            Output::Refused(id, refusal) => {
                self.note(|trace| write!(trace, "c{node}: refused, {refusal:?}"));
                if id != CANDIDATE {
                    return self.later(Duration::from_secs(1), Event::EnterSecond { node, process });
                }
                (self.nodes[node].session, self.nodes[node].twin) = (None, None);
                self.retry_begin(node);
            }
            Output::Closed(id) if id != CANDIDATE => {
                self.later(Duration::from_secs(1), Event::EnterSecond { node, process });
            }
            Output::Closed(_) => {
                self.closes(node);
                self.end_process(node);
                if self.quiet {
                    self.start_process(node, Duration::from_secs(1));
                }
            }
            Output::Entered(_) | Output::Campaigning(..) | Output::Considered { .. } => {}
            // The loop has handled it.
            Output::WakeAt(_) => {}
            _ => self.carry_out(node, output),
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

    fn react(&mut self, node: usize, id: CampaignId, event: &Reported) {
        let process = self.nodes[node].process;
        let place = &mut self.nodes[node];
        match event {
            Reported::Won(term) => {
                match id {
                    CANDIDATE => place.barred = None,
                    _ => place.second.barred = false,
                }
                self.promises.term_reported(term.token);
            }
            Reported::Warning(Warning::StoreReset { seen, barred, .. }) => match id {
                CANDIDATE => place.barred = seen.filter(|_| *barred),
                _ => place.second.barred = *barred && seen.is_some(),
            },
            Reported::Draining { .. } | Reported::Lost { reason: Reason::HandlerFailed, .. } => {
                // One user in three takes longer than allowed, but only while there are faults.
                let drain = self.plan.settings[node].drain.as_millis() as u64;
                let most = if self.quiet { drain } else { drain * 3 / 2 };
                let wait = self.nodes[node].dice.millis(0, most);
                let drained = Input::Command { id, command: Command::Drained };
                self.deliver_after(wait, node, process, drained.into());
            }
            _ => {}
        }
    }
}

/// Returns the nonce of a process's campaign. The first campaign has the nonce of the process.
pub(crate) fn nonce_of(first: Nonce, id: CampaignId) -> Nonce {
    Nonce(first.0 + (u128::from(id - CANDIDATE) << 64))
}

/// Whether the campaign with a nonce is in the second election.
pub(crate) fn is_of_second(nonce: Nonce) -> bool {
    nonce.0 >> 64 > 0
}

/// A helper that shows every step of a campaign to the observers of its election.
struct Steps<'a, S: Store> {
    world: &'a mut World<S>,
    node: usize,
    /// What the process's clock would read without any fault.
    clean: Instant,
}

impl<S: Store> Observer<S::Rule> for Steps<'_, S>
where
    World<S>: Hooks<S>,
{
    fn begins(&mut self, id: CampaignId, clock: Instant, info: &StoreInfo) {
        let (node, nonce) = (self.node, nonce_of(self.world.nodes[self.node].nonce, id));
        self.world.promises.newcomer(self.world.now, node);
        self.world.observe_by(id, &Observation::Begins { node, nonce });
        self.world.campaigns(node, clock, info);
    }

    fn input(&mut self, id: CampaignId, clock: Instant, input: &Heard<S>) {
        let node = self.node;
        self.world.hears(node, input);
        if !matches!(input, candidacy::Input::Tick) {
            self.world.note(|trace| write!(trace, "c{node}{} < {input:?}", mark(id)));
        }
        self.world.observe_by(id, &Observation::Input { node, clock, input });
    }

    fn handled(&mut self, id: CampaignId, clock: Instant, campaign: &Candidacy<S::Rule>) {
        let node = self.node;
        let lease = campaign.lease();
        let place = &mut self.world.nodes[node];
        let (held, leads_until) = match id {
            CANDIDATE => (&mut place.lease, &mut place.leads_until),
            _ => (&mut place.second.lease, &mut place.second.leads_until),
        };
        if lease != *held {
            *held = lease;
            *leads_until = lease.map(|lease| place.clock.when(lease.deadline));
        }
        let until = *leads_until;
        self.world.handled(node, clock);
        let clock = self.clean;
        self.world.observe_by(id, &Observation::Handled { node, clock, campaign, lease, until });
    }

    fn output(&mut self, id: CampaignId, campaign: &Candidacy<S::Rule>, output: &Said<S>) {
        let node = self.node;
        if !matches!(output, candidacy::Output::WakeAt(_)) {
            self.world.note(|trace| write!(trace, "c{node}{} > {output:?}", mark(id)));
        }
        self.world.says(node, output);
        self.world.observe_by(id, &Observation::Output { node, campaign, output });
    }
}

/// Returns the mark of the second election in a trace.
fn mark(id: CampaignId) -> &'static str {
    if id == CANDIDATE { "" } else { "'" }
}
