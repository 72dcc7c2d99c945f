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

/// The state of a simulated store, and what happens on it. Everything that is the same on every store is in `step`.
pub trait Store: Clone + Debug + Hash + Send + Sync + 'static {
    /// The rule by which its candidates lead.
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
    /// What distinguishes the store's worlds besides their bounds.
    type Setting: Clone + Debug + Send + Sync;
    /// A part of the rule that a world can be [without](World::without).
    type Part: Copy + Debug + PartialEq + Send + Sync;
    /// What happens on this store alone.
    type Action: Copy + Debug + PartialEq;
    /// A request in the queue for a store that serves each candidate's requests in order; `Infallible` for a store where
    /// they overtake each other.
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

    /// The store before any candidate enters.
    fn new() -> Self;
    /// The bounds of a world that only this store has.
    fn bounds(_world: &World<Self>) -> String {
        String::new()
    }

    // ---- what can happen next ----

    /// Lists the actions that can happen next, the most ordinary first.
    fn enabled(world: &World<Self>, state: &State<Self>, actions: &mut Vec<ActionOf<Self>>);
    /// Which fault an action is, if any.
    fn costs(action: Self::Action) -> Option<Fault>;
    /// The next action before the exploration, while this candidate enters; `None` once the world is as it should
    /// begin.
    fn opening(world: &World<Self>, state: &State<Self>, place: usize) -> Option<ActionOf<Self>>;
    /// The exploration begins.
    fn begins(_state: &mut State<Self>) {}

    // ---- what happens ----

    /// An action of this store happens.
    fn act(step: &mut Step<'_, Self>, action: Self::Action);
    /// A candidate enters, as a new process.
    fn enter(step: &mut Step<'_, Self>, place: usize);
    /// The action is complete: time passed, or something else happened.
    fn acted(_step: &mut Step<'_, Self>, _passed: bool) {}
    /// A process has ended.
    fn ended(_step: &mut Step<'_, Self>, _place: usize) {}
    /// The store carries out a request, and answers.
    fn serve(step: &mut Step<'_, Self>, place: usize, request: Self::Request) -> InputOf<Self>;
    /// Returns true if a request that was late is answered.
    fn answers_late(_request: &Self::Request) -> bool {
        false
    }

    // ---- a candidate ----

    /// A candidate is about to receive an input, which other inputs may follow.
    fn hears(
        _step: &mut Step<'_, Self>,
        _place: usize,
        _input: &mut InputOf<Self>,
        _inputs: &mut VecDeque<InputOf<Self>>,
    ) -> Self::Proof {
        Self::Proof::default()
    }
    /// A candidate has received the input, and all outputs are carried out.
    fn heard(_step: &mut Step<'_, Self>, _place: usize, _proof: &Self::Proof) {}
    /// A candidate makes a request, which may be answered at once.
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

    /// Checks a state for this rule alone.
    fn judge(_step: &mut Step<'_, Self>) {}
    /// The time without a leader from a state in which nothing more goes wrong; an error if that is too long.
    fn vacancy(_world: &World<Self>, _state: &State<Self>) -> Result<Tick, String> {
        Ok(0)
    }
    /// The number of terms reported so far, if that is counted.
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
