//! I15: without further faults, a candidate soon leads.

use std::sync::Arc;

use super::Key;
use super::action::Action as Own;
use crate::action::{Action, enabled};
use crate::clock::Tick;
use crate::state::State;
use crate::step::step;
use crate::world::{Budget, World};

/// The time without a leader from this state, without further faults. Returns an error if it is too long.
pub(super) fn vacancy(world: &World<Key>, state: &State<Key>) -> Result<Tick, String> {
    let mut quiet = without_faults(world, state);
    let begin = quiet.now;
    while quiet.leaders(world).next().is_none() {
        if quiet.now - begin > world.fail_over || !advance(world, &mut quiet) {
            return Err(format!(
                "no candidate leads for {} s, although there are no faults",
                quiet.now - begin
            ));
        }
    }
    Ok(quiet.now - begin)
}

/// The same state without further faults: late messages have arrived, stopped candidates continue, and at least one
/// candidate exists.
pub(super) fn without_faults(world: &World<Key>, state: &State<Key>) -> State<Key> {
    let mut quiet = state.clone();
    (quiet.left, quiet.ends) = (Budget::NONE, Tick::MAX);
    for message in &mut quiet.store.net {
        Arc::make_mut(message).held = None;
    }
    for node in &mut quiet.nodes {
        if node.is_paused() || node.stalled.is_some() {
            let node = Arc::make_mut(node);
            (node.paused, node.stalled) = (None, None);
        }
    }
    if !quiet.nodes.iter().any(|node| node.is_present()) {
        quiet = step(world, &quiet, Action::Enter(0), None);
    }
    quiet
}

/// Takes the next action: messages under way arrive, then timers fire, then time passes. A record vanishes no sooner
/// than it must. Returns whether there was an action.
pub(super) fn advance(world: &World<Key>, quiet: &mut State<Key>) -> bool {
    let mut actions = Vec::new();
    enabled(world, quiet, &mut actions);
    let next = actions.iter().find(|action| **action != Action::Own(Own::Expire)).or(actions.first());
    let Some(next) = next else { return false };
    *quiet = step(world, quiet, *next, None);
    true
}
