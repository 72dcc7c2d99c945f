//! I7.

use incumbent_core::store::{Action, Expect, Write};

use crate::node::{Node, bit};

pub(super) const STATES: &str = "Every delete carries a revision of the candidate's own.";

pub(super) fn sent(node: &Node, write: &Write) -> Result<(), String> {
    match (&write.action, write.expect) {
        (Action::Release { .. }, Expect::Revision(revision)) if node.own & bit(revision.0) != 0 => Ok(()),
        (Action::Release { .. }, expect) => Err(format!("deletes {expect:?}, which it never wrote")),
        _ => Ok(()),
    }
}
