//! I8.

use incumbent_core::store::{Action, Write};

use crate::node::Node;

pub(super) const STATES: &str = "Whoever sends its release has been told Lost and no longer leads.";

pub(super) fn sent(node: &Node, write: &Write) -> Result<(), String> {
    let lease = node.campaign.as_ref().and_then(|campaign| campaign.lease());
    match (&write.action, node.term, lease) {
        (Action::Release { .. }, Some(term), _) => Err(format!("releases in its term {}", term.token)),
        (Action::Release { .. }, None, Some(lease)) => Err(format!("releases and leads: {lease:?}")),
        _ => Ok(()),
    }
}
