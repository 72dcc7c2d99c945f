//! I5.

use incumbent_core::campaign::{Reason, State, Term};

use crate::node::Node;

pub(super) const STATES: &str = "Won and Lost alternate, and each Won gets its own Lost, also on close.";

pub(super) fn won(node: &Node, term: Term) -> Result<(), String> {
    match node.term {
        None => Ok(()),
        Some(before) => Err(format!("won {} and was never told the end of {}", term.token, before.token)),
    }
}

pub(super) fn lost(node: &Node, term: Term, reason: Reason) -> Result<(), String> {
    match node.term {
        Some(told) if told.token == term.token => Ok(()),
        told => Err(format!("lost {} ({reason}), and was told {told:?}", term.token)),
    }
}

pub(super) fn stands(node: &Node) -> Result<(), String> {
    let Some((campaign, term)) = node.campaign.as_ref().zip(node.term) else { return Ok(()) };
    let state = campaign.state();
    match state {
        State::Leading | State::Draining => Ok(()),
        _ => Err(format!("is {} and was never told the end of {}", state.code(), term.token)),
    }
}
