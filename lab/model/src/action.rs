//! The actions that can happen next.

use incumbent_core::campaign::State as Stage;
use incumbent_core::candidacy::Candidacy;

use crate::clock::Tick;
use crate::state::State;
use crate::store::{ActionOf, Store};
use crate::world::{Fault, World};

/// One action. A candidate is named by its index; `A` is the type of the actions of one store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action<A> {
    /// Time passes, until this tick.
    Pass(Tick),
    /// A candidate's timer fires.
    Wake(usize),
    /// The first request of a candidate is served.
    Serve(usize),
    /// The request is lost.
    Lose(usize),
    /// A candidate's first request is served, but its answer is lost.
    LoseAnswer(usize),
    /// The request arrives later.
    Delay(usize),
    /// The late request with this index arrives.
    Land(usize),
    /// The work of a candidate's term has ended.
    Drained(usize),
    /// A candidate enters, as a new process.
    Enter(usize),
    /// A process ends.
    Crash(usize),
    /// A process is stopped.
    Pause(usize),
    /// It continues.
    Resume(usize),
    /// A candidate is asked to resign.
    Resign(usize),
    /// A candidate is asked to hand over to another one.
    HandOver(usize, usize),
    /// An action that only this store has.
    Own(A),
}

/// The fault that an action is, if it is one.
pub(crate) fn costs<S: Store>(action: ActionOf<S>) -> Option<Fault> {
    Some(match action {
        Action::Lose(_) | Action::LoseAnswer(_) => Fault::Lose,
        Action::Delay(_) => Fault::Late,
        Action::Enter(_) => Fault::Start,
        Action::Crash(_) => Fault::Crash,
        Action::Pause(_) => Fault::Pause,
        Action::Resign(_) => Fault::Resign,
        Action::HandOver(..) => Fault::HandOver,
        Action::Own(own) => return S::costs(own),
        Action::Pass(_)
        | Action::Wake(_)
        | Action::Serve(_)
        | Action::Land(_)
        | Action::Drained(_)
        | Action::Resume(_) => return None,
    })
}

/// Lists all actions that can happen next.
pub(crate) fn enabled<S: Store>(world: &World<S>, state: &State<S>, actions: &mut Vec<ActionOf<S>>) {
    if state.broken.is_none() && state.now < state.ends {
        S::enabled(world, state, actions);
    }
}

/// Lists what can happen to a candidate whose requests are served in order, and to its first request. Returns true if
/// none of it has to happen before time passes.
pub(crate) fn of_candidate<S: Store>(
    state: &State<S>,
    place: usize,
    actions: &mut Vec<ActionOf<S>>,
    of_request: impl Fn(&S::Request, &mut Vec<ActionOf<S>>),
) -> bool {
    let (node, left) = (&state.nodes[place], &state.left);
    if node.campaign.is_none() {
        return true;
    }
    if let Some(request) = node.requests.front() {
        actions.push(Action::Serve(place));
        if left.has(Fault::Lose) {
            actions.extend([Action::Lose(place), Action::LoseAnswer(place)]);
        }
        of_request(request, actions);
    }
    let runs = !node.is_paused();
    let due = node.wakes <= state.now;
    let wakes = runs && due && node.requests.is_empty();
    if wakes {
        actions.push(Action::Wake(place));
    }
    // A stop between two ticks matters only if it delays a timer or a request.
    if left.has(Fault::Pause) && runs && (due || !node.requests.is_empty()) {
        actions.push(Action::Pause(place));
    }
    if left.has(Fault::Crash) {
        actions.push(Action::Crash(place));
    }
    node.requests.is_empty() && !wakes
}

/// Lists the actions that end a term in an orderly way.
pub(crate) fn of_term<S: Store>(state: &State<S>, place: usize, actions: &mut Vec<ActionOf<S>>) {
    let node = &state.nodes[place];
    let drains = |campaign: &Candidacy<S::Rule>| campaign.state() == Stage::Draining;
    if !node.is_paused() && (node.working || node.campaign.as_ref().is_some_and(drains)) {
        actions.push(Action::Drained(place));
    }
    if state.left.has(Fault::Resign) && state.may_leave(place) {
        actions.push(Action::Resign(place));
    }
}

/// Lists the next tick of time, unless something has to happen first. Stopped processes continue only at a tick.
pub(crate) fn of_time<S: Store>(state: &State<S>, at_rest: bool, actions: &mut Vec<ActionOf<S>>) {
    if at_rest {
        actions.push(Action::Pass(state.now + 1));
        let paused = (0..state.nodes.len()).filter(|place| state.nodes[*place].is_paused());
        actions.extend(paused.map(Action::Resume));
    }
}

/// The next action while a candidate enters whose requests are served in order. An ordinary action comes first; without
/// one, time passes until the first candidate leads and all others wait.
pub(crate) fn opening<S: Store>(
    world: &World<S>,
    state: &State<S>,
    place: usize,
    is_ordinary: impl Fn(&ActionOf<S>) -> bool,
) -> Option<ActionOf<S>> {
    let mut actions = Vec::new();
    enabled(world, state, &mut actions);
    let is_ordinary =
        |action: &ActionOf<S>| matches!(action, Action::Serve(_) | Action::Wake(_)) || is_ordinary(action);
    let wanted = if place == 0 { Stage::Leading } else { Stage::Waiting };
    let has_begun = state.nodes[place].campaign.as_ref().is_none_or(|campaign| campaign.state() == wanted);
    actions.into_iter().find(is_ordinary).or((!has_begun).then_some(Action::Pass(state.now + 1)))
}
