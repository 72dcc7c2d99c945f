//! A lease over a key, in small worlds: one key in a store that compares and writes, and messages that are lost, late
//! or doubled, or overtake each other.

mod action;
mod bucket;
mod foreign_above_ours;
mod invariants;
mod liveness;
mod message;
mod process;
mod step;
mod words;
mod world;
mod worlds;

use std::collections::VecDeque;
use std::sync::Arc;

use incumbent_core::campaign::{Event, Input, KeyLease, Request, State as Stage};

use crate::check::{Findings, explore};
use crate::clock::Tick;
use crate::property::Property;
use crate::state::State;
use crate::step::Step;
use crate::store::{ActionOf, Store};
use crate::world::{Fault, World};
use action::Action;
use bucket::Bucket;
use foreign_above_ours::Proof;
use message::Message;
use process::Process;
use world::Setting;
pub use worlds::worlds;

/// The store, and the messages under way between it and its candidates.
#[derive(Clone, Debug, Hash)]
pub struct Key {
    bucket: Bucket,
    /// The messages, in the order of their digests.
    net: Vec<Arc<Message>>,
    /// The number of terms reported.
    terms: u8,
    /// Time has just passed.
    passed: bool,
}

impl Key {
    /// Sends a message.
    fn send(&mut self, message: Message) {
        let place = self.net.partition_point(|other| other.digest() < message.digest());
        self.net.insert(place, Arc::new(message));
    }
}

impl Store for Key {
    type Rule = KeyLease;
    type Setting = Setting;
    type Part = std::convert::Infallible;
    type Action = Action;
    type Request = std::convert::Infallible;
    type Process = Process;
    type Proof = Proof;

    const PROPERTIES: &'static [Property] = &[
        Property::I1,
        Property::I2,
        Property::I3,
        Property::I4,
        Property::I5,
        Property::I7,
        Property::I8,
        Property::I9,
        Property::I11,
        Property::I12,
        Property::I15,
        Property::Keeps,
        Property::Contract,
    ];

    fn explore(world: &World<Self>, most: Option<usize>) -> Findings {
        explore(world, most)
    }

    fn new() -> Self {
        Self { bucket: Bucket::new(), net: Vec::new(), terms: 0, passed: true }
    }

    fn bounds(world: &World<Self>) -> String {
        world.bounds_of_setting()
    }

    fn enabled(world: &World<Self>, state: &State<Self>, actions: &mut Vec<ActionOf<Self>>) {
        action::enabled(world, state, actions);
    }

    fn costs(action: Action) -> Option<Fault> {
        action::costs(action)
    }

    /// Does everything before time passes.
    fn opening(world: &World<Self>, state: &State<Self>, _: usize) -> Option<ActionOf<Self>> {
        let mut actions = Vec::new();
        crate::action::enabled(world, state, &mut actions);
        actions.into_iter().find(|action| !matches!(action, crate::action::Action::Pass(_)))
    }

    fn begins(state: &mut State<Self>) {
        (state.store.passed, state.store.terms) = (true, 0);
    }

    fn act(step: &mut Step<'_, Self>, action: Action) {
        step.carry_out(action);
    }

    fn enter(step: &mut Step<'_, Self>, place: usize) {
        if step.world.enters { step.watch_first(place) } else { step.start(place) }
    }

    fn acted(step: &mut Step<'_, Self>, passed: bool) {
        let now = step.state.now;
        step.state.store.passed = passed;
        if passed && step.state.store.bucket.erasing().is_some_and(|until| until < now) {
            step.state.store.bucket.spare();
        }
    }

    fn ended(step: &mut Step<'_, Self>, place: usize) {
        step.forget(place);
    }

    fn serve(_: &mut Step<'_, Self>, _: usize, request: Self::Request) -> Input {
        match request {}
    }

    fn hears(
        step: &mut Step<'_, Self>,
        place: usize,
        input: &mut Input,
        inputs: &mut VecDeque<Input>,
    ) -> Proof {
        let proof = foreign_above_ours::proof_of(&step.state.nodes[place], input, step.clock(place));
        step.note_input(place, input, inputs);
        proof
    }

    fn heard(step: &mut Step<'_, Self>, place: usize, proof: &Proof) {
        let node = &step.state.nodes[place];
        let verdicts = [
            (Property::I3, invariants::deadline_from_the_send(step.world, place, node)),
            (Property::I9, foreign_above_ours::holds(node, proof)),
            (Property::I12, invariants::another_incarnation_ends_the_term(node, proof)),
        ];
        for (property, verdict) in verdicts {
            step.check(place, property, verdict);
        }
    }

    fn asks(step: &mut Step<'_, Self>, place: usize, request: Request, _: &mut VecDeque<Input>) {
        step.ask(place, request);
    }

    fn inspects(step: &mut Step<'_, Self>, place: usize, inputs: &mut VecDeque<Input>) {
        step.inspect(place, inputs);
    }

    fn reconnects(step: &mut Step<'_, Self>, place: usize, inputs: &mut VecDeque<Input>) {
        step.begin_watch(place, inputs);
    }

    fn reports(step: &mut Step<'_, Self>, place: usize, event: &Event) {
        let node = &step.state.nodes[place];
        match event {
            Event::Won(term) => {
                let acknowledged = invariants::only_an_acknowledgement_wins(node, *term);
                let old_enough = invariants::incarnation_is_old_enough(&step.state, *term);
                step.check(place, Property::I11, acknowledged);
                step.check(place, Property::I12, old_enough);
                step.state.store.terms = step.state.store.terms.saturating_add(1);
                step.node(place).working = false;
            }
            Event::Lost { term, reason } => {
                let keeps = invariants::keeps_its_term(step.world, *term, *reason);
                step.check(place, Property::Keeps, keeps);
            }
            Event::Draining { .. } => step.node(place).working = true,
            // The candidate's work may continue after the drain's deadline, until it has nothing left to release.
            Event::StateChanged(stage) if !matches!(stage, Stage::Draining | Stage::Releasing) => {
                step.node(place).working = false;
            }
            _ => {}
        }
    }

    fn vacancy(world: &World<Self>, state: &State<Self>) -> Result<Tick, String> {
        if state.store.passed { liveness::vacancy(world, state) } else { Ok(0) }
    }

    fn terms(&self) -> u8 {
        self.terms
    }

    fn describe(state: &State<Self>, action: Action) -> String {
        words::describe(state, action)
    }

    fn received(input: &Input) -> String {
        words::received(input)
    }

    fn asked(request: &Request) -> String {
        words::asked(request)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::step::begin;

    #[test]
    fn a_led_world_begins_with_the_first_candidate_leading_and_observed_by_the_rest() {
        let world = worlds().remove(0);
        let state = begin(&world);
        assert_eq!(state.leaders(&world).collect::<Vec<_>>(), [0]);
        let names = state.nodes.iter().map(|node| {
            let leader = node.campaign.as_ref().and_then(|campaign| campaign.leader());
            leader.map(|leader| leader.name.clone())
        });
        assert!(names.into_iter().all(|name| name.as_deref() == Some("a")));
        assert!(state.store.net.is_empty());
    }

    #[test]
    fn a_state_without_faults_never_runs_out_of_actions() {
        let world = worlds().remove(0);
        let mut state = liveness::without_faults(&world, &begin(&world));
        for _ in 0..1000 {
            assert!(liveness::advance(&world, &mut state));
            assert!(state.broken.is_none(), "{:?}", state.broken);
        }
        assert!(state.now > world.horizon);
    }
}
