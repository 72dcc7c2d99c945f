//! The effect of each action: the part that is the same on every store.

use std::collections::VecDeque;
use std::sync::Arc;

use incumbent_core::Instant;
use incumbent_core::campaign::{Event, State as Stage};

use crate::action::{Action, costs};
use crate::clock::Tick;
use crate::node::{Node, name};
use crate::path;
use crate::property::{self, Property};
use crate::state::State;
use crate::store::{ActionOf, InputOf, OutputOf, Store};
use crate::world::World;

/// The state in which a world begins. If the world begins with a leader, the candidates have entered one after the
/// other.
pub(crate) fn begin<S: Store>(world: &World<S>) -> State<S> {
    let mut state = State::empty(world);
    let entered = if world.led { world.candidates } else { 0 };
    for place in 0..entered {
        state = step(world, &state, Action::Enter(place), None);
        while let Some(action) = S::opening(world, &state, place) {
            state = step(world, &state, action, None);
        }
    }
    (state.left, state.ends) = (world.budget, state.now + world.horizon);
    S::begins(&mut state);
    state
}

/// The state after an action. If `log` is given, the inputs and outputs are recorded in it.
pub(crate) fn step<S: Store>(
    world: &World<S>,
    state: &State<S>,
    action: ActionOf<S>,
    log: Option<&mut Vec<String>>,
) -> State<S> {
    let mut step = Step { world, state: state.clone(), log, touched: 0 };
    if let Some(fault) = costs::<S>(action) {
        step.state.left.spend(fault);
    }
    step.act(action);
    S::acted(&mut step, matches!(action, Action::Pass(_)));
    step.judge();
    for (place, node) in step.state.nodes.iter_mut().enumerate() {
        if step.touched & bit(place as u64) != 0 {
            Arc::make_mut(node).seal();
        }
    }
    step.state
}

/// The bit of a small number.
pub(crate) fn bit(number: u64) -> u64 {
    1 << number.min(63)
}

/// An action under way.
pub struct Step<'a, S: Store> {
    pub(crate) world: &'a World<S>,
    pub(crate) state: State<S>,
    log: Option<&'a mut Vec<String>>,
    /// The candidates whose digests are outdated, with one bit for each candidate.
    touched: u64,
}

impl<S: Store> Step<'_, S> {
    fn act(&mut self, action: ActionOf<S>) {
        match action {
            Action::Pass(tick) => self.state.now = tick,
            Action::Wake(place) => self.handle(place, InputOf::<S>::Tick),
            Action::Serve(place) => {
                if let Some(request) = self.node(place).requests.pop_front() {
                    let answer = S::serve(self, place, request);
                    self.deliver(place, answer);
                }
            }
            Action::Lose(place) => drop(self.node(place).requests.pop_front()),
            Action::LoseAnswer(place) => {
                if let Some(request) = self.node(place).requests.pop_front() {
                    S::serve(self, place, request);
                }
            }
            Action::Delay(place) => {
                let request = self.node(place).requests.pop_front();
                self.state.late.extend(request.map(|request| (place, request)));
            }
            Action::Land(index) => {
                let (place, request) = self.state.late.remove(index);
                let is_answered = S::answers_late(&request);
                let answer = S::serve(self, place, request);
                if is_answered {
                    self.deliver(place, answer);
                }
            }
            Action::Drained(place) => {
                self.node(place).working = false;
                self.handle(place, InputOf::<S>::Drained);
            }
            Action::Enter(place) => S::enter(self, place),
            Action::Crash(place) => self.end(place),
            Action::Pause(place) => self.node(place).paused = Some(self.until()),
            Action::Resume(place) => {
                let node = self.node(place);
                node.paused = None;
                for input in std::mem::take(&mut node.inbox) {
                    self.handle(place, input);
                }
            }
            Action::Resign(place) => self.handle(place, InputOf::<S>::Resign),
            Action::HandOver(place, successor) => {
                self.handle(place, InputOf::<S>::HandOver(name(successor).into()));
            }
            Action::Own(action) => S::act(self, action),
        }
    }

    /// The candidate with this index, to be changed.
    pub(crate) fn node(&mut self, place: usize) -> &mut Node<S> {
        self.touched |= bit(place as u64);
        Arc::make_mut(&mut self.state.nodes[place])
    }

    /// Its clock.
    pub(crate) fn clock(&self, place: usize) -> Instant {
        self.world.clock(place).at(self.state.now)
    }

    /// The time until which something that begins now is late, silent or stopped.
    pub(crate) fn until(&self) -> Tick {
        self.state.now.saturating_add(self.world.hold)
    }

    /// Notes the first broken property of a candidate.
    pub(crate) fn check(&mut self, place: usize, property: Property, verdict: Result<(), String>) {
        self.state.check(property, verdict.map_err(|says| format!("{} {says}", name(place))));
    }

    fn end(&mut self, place: usize) {
        self.node(place).end();
        S::ended(self, place);
    }

    /// Delivers an input, or keeps it for a stopped process.
    pub(crate) fn deliver(&mut self, place: usize, input: InputOf<S>) {
        let node = &self.state.nodes[place];
        if node.is_paused() {
            self.node(place).inbox.push_back(input);
        } else {
            self.handle(place, input);
        }
    }

    /// Gives an input to a campaign and carries out its outputs. Answers that are immediate follow as inputs.
    pub(crate) fn handle(&mut self, place: usize, input: InputOf<S>) {
        let mut inputs = VecDeque::from([input]);
        while let Some(mut input) = inputs.pop_front() {
            if self.state.broken.is_some() || self.state.nodes[place].campaign.is_none() {
                return;
            }
            let now = self.clock(place);
            let proof = S::hears(self, place, &mut input, &mut inputs);
            self.note(|| format!("{} {}", name(place), path::received::<S>(&input)));
            let Some(campaign) = &mut self.node(place).campaign else { return };
            if let Err(misuse) = campaign.handle(now, input) {
                return self.state.check(Property::Contract, Err(format!("{}: {misuse}", name(place))));
            }
            self.drain(place, &mut inputs);
            let node = &self.state.nodes[place];
            let (in_time, in_term) =
                (property::reported_and_in_time(node, now), property::term_has_its_stage(node));
            self.check(place, Property::I2, in_time);
            S::heard(self, place, &proof);
            self.check(place, Property::I5, in_term);
            self.judge();
            let campaign = self.state.nodes[place].campaign.as_ref();
            if campaign.is_some_and(|campaign| campaign.state() == Stage::Closed) {
                self.end(place);
            }
        }
    }

    /// Carries out all outputs of a campaign.
    fn drain(&mut self, place: usize, inputs: &mut VecDeque<InputOf<S>>) {
        let clock = self.world.clock(place);
        loop {
            let Some(campaign) = &mut self.node(place).campaign else { return };
            let output = campaign.poll();
            self.note(|| path::emitted::<S>(self.world, place, &output));
            match output {
                OutputOf::<S>::WakeAt(wake) => {
                    self.node(place).wakes = wake.map_or(Tick::MAX, |wake| clock.when(wake.at));
                    return;
                }
                OutputOf::<S>::Ask(request) => S::asks(self, place, request, inputs),
                OutputOf::<S>::Inspect { .. } => S::inspects(self, place, inputs),
                OutputOf::<S>::Reconnect => {
                    inputs.push_back(InputOf::<S>::Reconnected);
                    S::reconnects(self, place, inputs);
                }
                OutputOf::<S>::Tell(tell) => S::tells(self, place, tell, inputs),
                OutputOf::<S>::Event(event) => self.react(place, &event),
            }
        }
    }

    fn react(&mut self, place: usize, event: &Event) {
        let node = &self.state.nodes[place];
        match event {
            Event::Won(term) => {
                let alternates = property::won_alternates(node, *term);
                let grows = property::tokens_grow(self.state.largest_reported, *term);
                self.check(place, Property::I5, alternates);
                self.check(place, Property::I4, grows);
                S::reports(self, place, event);
                self.state.largest_reported = self.state.largest_reported.max(Some(term.token));
                self.node(place).term = Some(*term);
            }
            Event::Lost { term, reason } => {
                let alternates = property::lost_alternates(node, *term, *reason);
                self.check(place, Property::I5, alternates);
                S::reports(self, place, event);
                self.node(place).term = None;
            }
            _ => S::reports(self, place, event),
        }
    }

    /// Checks the present state.
    fn judge(&mut self) {
        if self.state.broken.is_none() {
            S::judge(self);
            let verdict = property::one_leader(self.world, &self.state);
            self.state.check(Property::I1, verdict);
        }
    }

    fn note(&mut self, text: impl FnOnce() -> String) {
        if let Some(log) = &mut self.log {
            log.push(text());
        }
    }
}
