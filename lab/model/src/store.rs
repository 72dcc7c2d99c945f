//! The parts of a small world that depend on its store and on the rule by which candidates lead.

use std::collections::VecDeque;
use std::fmt::Debug;
use std::hash::Hash;

use incumbent_core::campaign::Event;
use incumbent_core::candidacy::{self, Rule};

use crate::action::Action;
use crate::check::Findings;
use crate::clock::Tick;
use crate::property::Property;
use crate::state::State;
use crate::step::Step;
use crate::world::{Fault, World};

pub(crate) type RuleOf<S> = <S as Store>::Rule;
pub(crate) type RequestOf<S> = <RuleOf<S> as Rule>::Request;
pub(crate) type InputOf<S> =
    candidacy::Input<<RuleOf<S> as Rule>::Answer, <RuleOf<S> as Rule>::Shown, <RuleOf<S> as Rule>::Told>;
pub(crate) type OutputOf<S> =
    candidacy::Output<RequestOf<S>, <RuleOf<S> as Rule>::Timer, <RuleOf<S> as Rule>::Tell>;
pub(crate) type ActionOf<S> = Action<<S as Store>::Action>;

/// The state of a simulated store, and what happens on it. Everything that is the same on every store is in the module
/// `step`.
pub trait Store: Clone + Debug + Hash + Send + Sync + 'static {
    /// The rule by which the store's candidates lead.
    type Rule: Rule<
            Race: Hash + Send + Sync,
            Leaving: Hash + Send + Sync,
            Settings: Send + Sync,
            Timer: Send + Sync,
            Request: Send + Sync,
            Answer: Send + Sync,
            Shown: Send + Sync,
            Told: Send + Sync,
            Tell: Send + Sync,
        > + Send
        + Sync
        + 'static;
    /// The setting, other than bounds, that distinguishes the store's worlds.
    type Setting: Clone + Debug + Send + Sync;
    /// A part of the rule that a world can be [without](World::without).
    type Part: Copy + Debug + PartialEq + Send + Sync;
    /// An action that only this store has.
    type Action: Copy + Debug + PartialEq;
    /// A request that waits for the store, if the store serves each candidate's requests in order. `Infallible` for a
    /// store on which requests overtake each other.
    type Request: Clone + Debug + Send + Sync;
    /// The state of a candidate's process that only this store has.
    type Process: Clone + Debug + Default + Hash + Send + Sync;
    /// What an input proves to a candidate.
    type Proof: Default;

    /// What the store's worlds check.
    const PROPERTIES: &'static [Property];

    /// Explores a world. Every store calls the same function, so that it is compiled and optimised in this crate and
    /// not in its callers.
    fn explore(world: &World<Self>, most: Option<usize>) -> Findings;

    /// Creates the store before any candidate enters.
    fn new() -> Self;
    /// The text of those bounds of a world that only this store has.
    fn bounds(_world: &World<Self>) -> String {
        String::new()
    }

    // ---- what can happen next ----

    /// Lists the actions that can happen next, the most ordinary first.
    fn enabled(world: &World<Self>, state: &State<Self>, actions: &mut Vec<ActionOf<Self>>);
    /// The fault that an action is, if it is one.
    fn costs(action: Self::Action) -> Option<Fault>;
    /// The next action before the exploration, while this candidate enters. `None` once the world is in the state in
    /// which the exploration begins.
    fn opening(world: &World<Self>, state: &State<Self>, place: usize) -> Option<ActionOf<Self>>;
    /// The exploration begins.
    fn begins(_state: &mut State<Self>) {}

    // ---- what happens ----

    /// Carries out an action that only this store has.
    fn act(step: &mut Step<'_, Self>, action: Self::Action);
    /// Lets a candidate enter, as a new process.
    fn enter(step: &mut Step<'_, Self>, place: usize);
    /// Notes that an action is complete. `passed` states whether only time passed.
    fn acted(_step: &mut Step<'_, Self>, _passed: bool) {}
    /// A process has ended.
    fn ended(_step: &mut Step<'_, Self>, _place: usize) {}
    /// Lets the store carry out a request, and returns its answer.
    fn serve(step: &mut Step<'_, Self>, place: usize, request: Self::Request) -> InputOf<Self>;
    /// Returns true if the store still answers a request that was late.
    fn answers_late(_request: &Self::Request) -> bool {
        false
    }

    // ---- a candidate ----

    /// Handles an input that a candidate is about to receive. It may change the input, and add inputs that follow it.
    fn hears(
        _step: &mut Step<'_, Self>,
        _place: usize,
        _input: &mut InputOf<Self>,
        _inputs: &mut VecDeque<InputOf<Self>>,
    ) -> Self::Proof {
        Self::Proof::default()
    }
    /// Notes that a candidate has received the input, and that all outputs have been carried out.
    fn heard(_step: &mut Step<'_, Self>, _place: usize, _proof: &Self::Proof) {}
    /// Handles a request of a candidate. It may be answered at once.
    fn asks(
        step: &mut Step<'_, Self>,
        place: usize,
        request: RequestOf<Self>,
        inputs: &mut VecDeque<InputOf<Self>>,
    );
    /// It asks for an inspection.
    fn inspects(_step: &mut Step<'_, Self>, _place: usize, _inputs: &mut VecDeque<InputOf<Self>>) {}
    /// It is connected again.
    fn reconnects(_step: &mut Step<'_, Self>, _place: usize, _inputs: &mut VecDeque<InputOf<Self>>) {}
    /// It tells its connection something.
    fn tells(
        _step: &mut Step<'_, Self>,
        _place: usize,
        _tell: <RuleOf<Self> as Rule>::Tell,
        _inputs: &mut VecDeque<InputOf<Self>>,
    ) {
    }
    /// It reports an event.
    fn reports(_step: &mut Step<'_, Self>, _place: usize, _event: &Event) {}

    // ---- what is checked ----

    /// Checks the properties of a state that only this rule has.
    fn judge(_step: &mut Step<'_, Self>) {}
    /// The time without a leader from a state in which nothing more goes wrong. Returns an error if it is too long.
    fn vacancy(_world: &World<Self>, _state: &State<Self>) -> Result<Tick, String> {
        Ok(0)
    }
    /// The number of terms reported so far, if the store counts them.
    fn terms(&self) -> u8 {
        0
    }

    // ---- words ----

    /// An action of this store.
    fn describe(state: &State<Self>, action: Self::Action) -> String;
    /// An answer, or what a watch showed.
    fn received(input: &InputOf<Self>) -> String {
        format!("takes {input:?}")
    }
    /// A request.
    fn asked(request: &RequestOf<Self>) -> String {
        format!("asks for {request:?}")
    }
}
