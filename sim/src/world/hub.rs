//! What the runtime does for a campaign: hands inputs in, carries outputs out, keeps a connection and a watch.

use std::fmt::Write as _;
use std::time::Duration;

use incumbent_core::Instant;
use incumbent_core::campaign::{Campaign, Event as Told, Input, Output, Reason, State, Warning};
use incumbent_core::record::{Entry, Nonce};
use incumbent_core::store::{Outcome, StoreInfo};

use super::node::{Ask, Hears};
use super::{Event, World};
use crate::kind::Kind;
use crate::moment::Moment;
use crate::oracle::Violation;
use crate::tape::Recorded;

impl World {
    /// A process is born at a place; it begins after `wait`.
    pub(super) fn born(&mut self, node: usize, wait: Duration) {
        self.processes += 1;
        let process = self.processes;
        let place = &mut self.nodes[node];
        place.process = process;
        place.nonce = Nonce(0x1000 + u128::from(process));
        place.alive = true;
        place.healthy = true;
        place.barred = None;
        place.connecting = false;
        place.backlog.clear();
        place.outbox.clear();
        place.inspected = None;
        place.oldest = Duration::ZERO;
        place.seen = Default::default();
        place.wakes = Instant::NEVER;
        place.next_watch();
        self.after(wait, Event::Begin { node, process });
    }

    /// The process at a place is gone.
    pub(super) fn dies(&mut self, node: usize) {
        let place = &mut self.nodes[node];
        place.alive = false;
        place.campaign = None;
        place.shadow = None;
        place.lease = None;
        place.leads_until = None;
        if self.nodes[node].misled.take().is_some() {
            self.promises.rectify(self.now, node);
        }
        self.note(|trace| write!(trace, "c{node}: gone"));
        self.see(&Moment::Ends { node });
    }

    /// A candidate first inspects the store; it tries again until that is answered.
    pub(super) fn ask_to_begin(&mut self, node: usize) {
        let asked_at = self.nodes[node].clock.at(self.now);
        let process = self.nodes[node].process;
        if !self.nodes[node].is_stopped(self.now) {
            self.send(node, Ask::Inspect { asked_at });
        }
        let wait = self.nodes[node].dice.millis(900, 1_100);
        self.after(wait, Event::Begin { node, process });
    }

    /// The store answered a candidate that wants to campaign.
    fn begin(&mut self, node: usize, info: &StoreInfo) {
        let now = self.nodes[node].clock.at(self.now);
        let nonce = self.nodes[node].nonce;
        let seed = self.nodes[node].dice.number();
        let campaign = self.campaign(node, info, nonce, seed, now);
        let Some(campaign) = campaign else { return };
        let twin =
            self.audience.judges.compare.then(|| self.campaign(node, info, nonce, seed, now)).flatten();
        let process = self.nodes[node].process;
        self.note(|trace| write!(trace, "c{node}: begins as process {process}"));
        let (store, info) = (self.plan.capabilities(), *info);
        if self.tape.is_some() {
            let settings = Box::new(self.plan.settings_of(node));
            self.tape(|| Recorded::Begins { process, settings, store, info, nonce, seed, now });
        }
        self.nodes[node].campaign = Some(campaign);
        self.nodes[node].shadow = twin;
        self.nodes[node].inspected = Some(info.incarnation);
        self.nodes[node].oldest = info.max_age.unwrap_or_default();
        self.promises.newcomer(self.now, node);
        self.see(&Moment::Begins { node, nonce });
        self.see(&Moment::Hands { node, clock: now, input: &Input::Inspected(Ok(info)) });
        self.ask_for_watch(node);
        self.give(node, Input::Campaign);
    }

    fn campaign(
        &self,
        node: usize,
        info: &StoreInfo,
        nonce: Nonce,
        seed: u64,
        now: Instant,
    ) -> Option<Campaign> {
        Campaign::new(self.plan.settings_of(node), self.plan.capabilities(), info, nonce, seed, now).ok()
    }

    /// Something arrives at a process.
    pub(super) fn hear(&mut self, node: usize, hears: Hears) {
        // What came while it was stopped is heard first, though the moment at which it goes on may have come.
        if self.nodes[node].is_stopped(self.now) || !self.nodes[node].backlog.is_empty() {
            return self.nodes[node].backlog.push_back(hears);
        }
        match hears {
            Hears::Connected => {
                self.nodes[node].connecting = false;
                self.give(node, Input::Reconnected);
            }
            Hears::Stands { number, life, entry } => {
                let watch = &mut self.nodes[node].watch;
                if watch.number == number && !watch.stands && self.nodes[node].campaign.is_some() {
                    self.nodes[node].watch.stands = true;
                    let since = self.nodes[node].clock.at(self.now);
                    self.give(node, Input::Watching { since });
                    if entry != Entry::Vacant {
                        self.hear(node, Hears::Watched { number, life, entry });
                    }
                }
            }
            Hears::Watched { number, life, entry } => {
                let watch = &self.nodes[node].watch;
                if watch.number == number && watch.stands {
                    if self.nodes[node].inspected == Some(life) {
                        self.nodes[node].sees(entry.revision());
                    }
                    self.give(node, Input::Watched(entry));
                }
            }
            Hears::Gap { number } if self.nodes[node].watch.number == number => {
                self.nodes[node].next_watch();
                self.ask_for_watch(node);
            }
            Hears::Gap { .. } => {}
            Hears::Input(input) => self.answered(node, input),
        }
    }

    fn answered(&mut self, node: usize, input: Input) {
        if let Input::Inspected(Ok(info)) = &input {
            let present = info.incarnation == self.cluster.bucket.incarnation;
            if present && self.nodes[node].misled.take_if(|until| *until <= self.now).is_some() {
                self.promises.rectify(self.now, node);
            }
            let place = &mut self.nodes[node];
            place.oldest = place.oldest.max(info.max_age.unwrap_or_default());
        }
        match &input {
            Input::Inspected(Ok(info)) if self.nodes[node].campaign.is_none() => {
                return self.begin(node, &info.clone());
            }
            // Another life of the store begins with another watch.
            Input::Inspected(Ok(info)) if self.nodes[node].inspected != Some(info.incarnation) => {
                self.nodes[node].inspected = Some(info.incarnation);
                self.nodes[node].next_watch();
                self.ask_for_watch(node);
            }
            Input::Wrote { outcome: Outcome::Applied { revision, .. }, .. } => {
                self.nodes[node].sees(Some(*revision))
            }
            _ => {}
        }
        self.give(node, input);
    }

    pub(super) fn ask_for_watch(&mut self, node: usize) {
        let (process, number) = (self.nodes[node].process, self.nodes[node].watch.number);
        self.send(node, Ask::Watch { number });
        let wait = self.nodes[node].dice.millis(1_500, 2_500);
        self.after(wait, Event::WatchAgain { node, process, number });
    }

    /// A candidate's client connects to the next server, or tries again.
    pub(super) fn connect(&mut self, node: usize) {
        let process = self.nodes[node].process;
        let reachable = self.nodes[node].mute == 0 && self.nodes[node].deaf == 0;
        match self.cluster.next_server(self.nodes[node].server).filter(|_| reachable) {
            Some(server) => {
                self.nodes[node].server = server;
                self.nodes[node].next_watch();
                self.ask_for_watch(node);
                self.hear(node, Hears::Connected);
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
            self.give(node, Input::Tick);
        }
    }

    /// A stopped process goes on: what came meanwhile is there at once, and so are its timers.
    pub(super) fn resume(&mut self, node: usize) {
        if self.nodes[node].is_stopped(self.now) || !self.nodes[node].alive {
            return;
        }
        self.see(&Moment::Stopped { node, stopped: false });
        if self.nodes[node].dice.percent(50) {
            self.give(node, Input::Tick);
        }
        let process = self.nodes[node].process;
        for hears in std::mem::take(&mut self.nodes[node].backlog) {
            if self.is_present(node, process) {
                self.hear(node, hears);
            }
        }
        self.give(node, Input::Tick);
    }

    /// Hands an input to a campaign and carries out what it says.
    pub(super) fn give(&mut self, node: usize, input: Input) {
        let clean = self.nodes[node].clock.at(self.now);
        let mut clock = clean;
        if self.is_on(Kind::ClockBack) && self.nodes[node].dice.percent(30) {
            // A reading that is older than the truth makes first sights too early: the slack covers as much.
            clock = clock.before(self.nodes[node].dice.millis(0, 250));
        }
        if self.nodes[node].campaign.is_none() || self.audience.violation.is_some() {
            return;
        }
        if !matches!(input, Input::Tick) {
            self.note(|trace| write!(trace, "c{node} < {input:?}"));
        }
        self.see(&Moment::Hands { node, clock, input: &input });
        let twin = self.nodes[node].shadow.is_some().then(|| input.clone());
        let taped = self.tape.is_some().then(|| input.clone());
        let Some(campaign) = &mut self.nodes[node].campaign else { return };
        let handled = campaign.handle(clock, input);
        let lease = campaign.lease();
        if let Err(misuse) = handled {
            self.audience.violation = Some(Violation::of_contract(self.now, format!("c{node}: {misuse}")));
            return;
        }
        let process = self.nodes[node].process;
        if let Some(input) = taped {
            self.tape(|| Recorded::Hands { process, now: clock, input, lease });
        }
        if let Some(twin) = twin {
            self.give_twin(node, clock, twin);
        }
        if lease != self.nodes[node].lease {
            self.nodes[node].lease = lease;
            self.nodes[node].leads_until = lease.map(|lease| self.nodes[node].clock.when(lease.deadline));
        }
        self.see_stand(node, clean);
        self.drain(node);
    }

    /// The twin gets the latest reading instead of an older one, and must come to the same.
    fn give_twin(&mut self, node: usize, clock: Instant, input: Input) {
        let latest = self.audience.judges.latest(node, clock);
        if let Some(shadow) = &mut self.nodes[node].shadow {
            let _ = shadow.handle(latest, input);
        }
    }

    fn drain(&mut self, node: usize) {
        loop {
            let Some(campaign) = &mut self.nodes[node].campaign else { return };
            let output = campaign.poll();
            let twin = self.nodes[node].shadow.as_mut().map(Campaign::poll);
            if let Some(twin) = twin.filter(|twin| *twin != output) {
                let says = format!("c{node} says {output:?}, and the same again says {twin:?}");
                self.audience.violation = Some(self.audience.judges.differs(self.now, says));
                return;
            }
            if !matches!(output, Output::WakeAt(_)) {
                self.note(|trace| write!(trace, "c{node} > {output:?}"));
            }
            let process = self.nodes[node].process;
            self.tape(|| Recorded::Says { process, output: output.clone() });
            self.see_say(node, &output);
            match output {
                Output::Write(write) => self.send(node, Ask::Write(write)),
                Output::Read(read) => self.send(node, Ask::Read(read)),
                Output::Inspect { .. } => {
                    let asked_at = self.nodes[node].clock.at(self.now);
                    self.send(node, Ask::Inspect { asked_at });
                }
                Output::Reconnect if std::mem::replace(&mut self.nodes[node].connecting, true) => {}
                Output::Reconnect => {
                    let process = self.nodes[node].process;
                    let wait = self.nodes[node].dice.millis(1, 60);
                    self.after(wait, Event::Connect { node, process });
                }
                Output::Event(event) => self.told(node, &event),
                Output::WakeAt(wake) => return self.wake_later(node, wake.map(|wake| wake.at)),
            }
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

    fn told(&mut self, node: usize, event: &Told) {
        let process = self.nodes[node].process;
        match event {
            Told::Won(term) => {
                self.nodes[node].barred = None;
                self.promises.told(term.token);
            }
            Told::Warning(Warning::StoreReset { seen, barred, .. }) => {
                self.nodes[node].barred = seen.filter(|_| *barred);
            }
            Told::Draining { .. } | Told::Lost { reason: Reason::HandlerFailed, .. } => {
                // One user in three takes longer than it may, but not in the calm.
                let drain = self.plan.settings[node].drain.as_millis() as u64;
                let most = if self.calm { drain } else { drain * 3 / 2 };
                let wait = self.nodes[node].dice.millis(0, most);
                self.after(wait, Event::Hear { node, process, hears: Hears::Input(Input::Drained) });
            }
            Told::StateChanged(State::Closed) => {
                self.dies(node);
                if self.calm {
                    self.born(node, Duration::from_secs(1));
                }
            }
            _ => {}
        }
    }
}
