//! The course of a world without further faults.

use std::sync::Arc;

use crate::action::{Action, enabled};
use crate::state::State;
use crate::step::step as take;
use crate::world::{Budget, World};

/// A state without further faults: late messages have arrived, stopped candidates go on, and at least one candidate exists.
pub(crate) fn from(world: &World, state: &State) -> State {
    let mut calm = state.clone();
    calm.calm = true;
    calm.left = Budget::NONE;
    for message in &mut calm.net {
        Arc::make_mut(message).held = None;
    }
    for node in &mut calm.nodes {
        if node.is_paused() || node.stalled.is_some() {
            let node = Arc::make_mut(node);
            (node.paused, node.stalled) = (None, None);
        }
    }
    if calm.nodes.iter().all(|node| node.campaign.is_none()) {
        calm = take(world, &calm, Action::Start(0), None);
    }
    calm
}

/// Takes the next action: messages under way arrive, then timers fire, then time passes; a record vanishes no
/// sooner than it must. Returns whether there was one.
pub(crate) fn step(world: &World, calm: &mut State) -> bool {
    let mut actions = Vec::new();
    enabled(world, calm, &mut actions);
    let next = actions.iter().find(|action| **action != Action::Expire).or(actions.first());
    let Some(next) = next else { return false };
    *calm = take(world, calm, *next, None);
    true
}
