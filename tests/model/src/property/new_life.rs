//! I12.

use incumbent_core::campaign::Term;

use super::Weight;
use crate::clock::LEASE;
use crate::node::Node;
use crate::state::State;
use crate::world::World;

pub(super) const STATES: &str =
    "Another life of the store ends the term, and nobody wins in one that is younger than a lease.";

pub(super) fn won(_: &World, state: &State, term: Term) -> Result<(), String> {
    let Some(made) = state.store.made.filter(|_| state.store.life == term.token.incarnation) else {
        return Ok(());
    };
    let age = state.now - made;
    if age < LEASE {
        return Err(format!("won {} in a life that is {age} s old", term.token));
    }
    Ok(())
}

pub(super) fn stands(node: &Node, weight: &Weight) -> Result<(), String> {
    match (weight.another, node.term) {
        (Some(life), Some(term)) if term.token.incarnation != life => {
            Err(format!("knows of life {} and leads on with {}", life.0, term.token))
        }
        _ => Ok(()),
    }
}
