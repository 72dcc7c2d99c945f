//! I11.

use incumbent_core::campaign::Term;

use crate::node::{Node, bit};

pub(super) const STATES: &str =
    "Only the acknowledgement of an acquire makes a winner; a read or the watch alone never does.";

pub(super) fn won(node: &Node, term: Term) -> Result<(), String> {
    if node.acknowledged & bit(term.token.sequence.0) == 0 {
        return Err(format!("won {} without an acknowledgement", term.token));
    }
    Ok(())
}
