//! I1.

use crate::node::name;
use crate::state::State;
use crate::world::World;

pub(super) const STATES: &str = "At most one candidate's is_leader is true at any instant.";

/// Leadership begins only with a step, and between two steps it can only end: so a check after each step
/// covers every instant.
pub(super) fn stands(world: &World, state: &State) -> Result<(), String> {
    let mut leaders = state.leaders(world);
    match (leaders.next(), leaders.next()) {
        (Some(one), Some(other)) => Err(format!("{} and {} lead at once", name(one), name(other))),
        _ => Ok(()),
    }
}
