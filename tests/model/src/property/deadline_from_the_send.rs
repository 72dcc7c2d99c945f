//! I3.

use crate::node::Node;
use crate::world::World;

pub(super) const STATES: &str = "No deadline is later than a lease, less the margin, after the send of a write that was really applied, nor \
     after the store was last asked which life it lives.";

pub(super) fn stands(world: &World, place: usize, node: &Node) -> Result<(), String> {
    let Some(lease) = node.campaign.as_ref().and_then(|campaign| campaign.lease()) else { return Ok(()) };
    let Some(sent) = node.proven else {
        return Err(format!("has a lease ({lease:?}) and no write of it was ever applied"));
    };
    // A watch shows the store's incarnation as well, and so do acknowledgements in some stores.
    let silent = !world.hears(place) && !world.acked;
    let sent = if silent { sent.min(node.shown) } else { sent };
    let latest = (sent + world.lease(place)).before(world.margin(place));
    if lease.deadline > latest {
        return Err(format!("leads until {:?}, and may no later than {latest:?}", lease.deadline));
    }
    Ok(())
}
