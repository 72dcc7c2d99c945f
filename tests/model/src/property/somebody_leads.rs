//! I15.

use crate::clock::Tick;
use crate::state::State;
use crate::world::World;

pub(super) const STATES: &str =
    "From every state, if nothing more goes wrong, somebody leads within the worst fail-over.";

/// The time without a leader from here, without further faults; an error where that is too long.
pub(crate) fn vacancy(world: &World, state: &State) -> Result<Tick, String> {
    let mut calm = crate::calm::from(world, state);
    let begin = calm.now;
    while calm.leaders(world).next().is_none() {
        if calm.now - begin > world.fail_over || !crate::calm::step(world, &mut calm) {
            return Err(format!("nobody leads for {} s, and there are no faults", calm.now - begin));
        }
    }
    Ok(calm.now - begin)
}
