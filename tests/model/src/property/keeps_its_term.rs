//! Faults 17 to 21: a leader survives them.

use incumbent_core::campaign::{Reason, Term};

use crate::world::World;

pub(super) const STATES: &str = "Where little goes wrong, nobody loses a term to it.";

pub(super) fn lost(world: &World, term: Term, reason: Reason) -> Result<(), String> {
    if world.keeps { Err(format!("lost {} ({reason}) to so little", term.token)) } else { Ok(()) }
}
