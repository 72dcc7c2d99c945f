//! I8.

use incumbent_core::store::{Action, Write};

use crate::node::Node;

pub(super) const STATES: &str =
    "A candidate that sends its release was told Lost, no longer leads, and its work has ended.";

pub(super) fn sent(node: &Node, write: &Write) -> Result<(), String> {
    let lease = node.campaign.as_ref().and_then(|campaign| campaign.lease());
    match (&write.action, node.term, lease) {
        (Action::Release { .. }, Some(term), _) => Err(format!("releases in its term {}", term.token)),
        (Action::Release { .. }, None, Some(lease)) => Err(format!("releases and leads: {lease:?}")),
        (Action::Release { .. }, None, None) if node.draining => {
            Err("releases while its work goes on".into())
        }
        _ => Ok(()),
    }
}
