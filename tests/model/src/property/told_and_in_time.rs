//! I2.

use incumbent_core::Instant;

use crate::node::Node;

pub(super) const STATES: &str = "Who leads was told so, was not told the end, and is before the deadline.";

pub(super) fn stands(node: &Node, now: Instant) -> Result<(), String> {
    let Some(campaign) = &node.campaign else { return Ok(()) };
    let Some(lease) = campaign.lease() else { return Ok(()) };
    match node.term {
        None => Err(format!("has a lease ({lease:?}) and was not told a term")),
        Some(term) if term.token != lease.token => {
            Err(format!("was told {} and has a lease of {}", term.token, lease.token))
        }
        Some(_) if campaign.is_leader(now) != (now < lease.deadline) => {
            Err(format!("answers otherwise than its deadline ({:?}) at {now:?}", lease.deadline))
        }
        Some(_) => Ok(()),
    }
}
