//! The invariants that one step can break, each with its statement.

use incumbent_core::campaign::{Reason, State as CampaignState, Term};
use incumbent_core::store::{Action, Expect, Write};
use incumbent_core::{Instant, Token};

use super::Proof;
use crate::clock::LEASE;
use crate::node::{Node, bit, name};
use crate::state::State;
use crate::world::World;

/// The statement of each, under its number.
pub(super) mod states {
    pub(crate) const I1: &str = "At most one candidate's is_leader is true at any instant.";
    pub(crate) const I2: &str =
        "A leader's win was reported, the end of its term was not, and it is before its deadline.";
    pub(crate) const I3: &str = "No deadline is later than a lease, less the margin, after the send of a write that was really applied, nor \
         after the question that last showed the store's incarnation.";
    pub(crate) const I4: &str = "Every term's token is larger than that of every term reported before.";
    pub(crate) const I5: &str = "Won and Lost alternate, and each Won gets its own Lost, also on close.";
    pub(crate) const I7: &str = "Every delete carries a revision of the candidate's own.";
    pub(crate) const I8: &str =
        "A candidate that sends its release has reported Lost, no longer leads, and its work has ended.";
    pub(crate) const I11: &str =
        "Only the acknowledgement of an acquire makes a winner; a read or the watch alone never does.";
    pub(crate) const I12: &str = "Another incarnation of the store ends the term, and no candidate wins in one that is younger than a lease.";
    pub(crate) const KEEPS: &str = "Where little goes wrong, no candidate loses a term to it.";
}

/// I1. Leadership begins only with a step, and between two steps it can only end: so a check after each step covers every
/// instant.
pub(super) fn one_leader(world: &World, state: &State) -> Result<(), String> {
    let mut leaders = state.leaders(world);
    match (leaders.next(), leaders.next()) {
        (Some(one), Some(other)) => Err(format!("{} and {} lead at once", name(one), name(other))),
        _ => Ok(()),
    }
}

/// I2.
pub(super) fn reported_and_in_time(node: &Node, now: Instant) -> Result<(), String> {
    let Some(campaign) = &node.campaign else { return Ok(()) };
    let Some(lease) = campaign.lease() else { return Ok(()) };
    match node.term {
        None => Err(format!("has a lease ({lease:?}) and reported no term")),
        Some(term) if term.token != lease.token => {
            Err(format!("reported {} and has a lease of {}", term.token, lease.token))
        }
        Some(_) if campaign.is_leader(now) != (now < lease.deadline) => {
            Err(format!("answers otherwise than its deadline ({:?}) at {now:?}", lease.deadline))
        }
        Some(_) => Ok(()),
    }
}

/// I3.
pub(super) fn deadline_from_the_send(world: &World, place: usize, node: &Node) -> Result<(), String> {
    let Some(lease) = node.campaign.as_ref().and_then(|campaign| campaign.lease()) else { return Ok(()) };
    let Some(sent) = node.proven else {
        return Err(format!("has a lease ({lease:?}) and no write of it was ever applied"));
    };
    // A watch shows the store's incarnation as well, and so do acknowledgements in some stores.
    let silent = !world.is_watching(place) && !world.acked;
    let sent = if silent { sent.min(node.shown) } else { sent };
    let latest = (sent + world.lease(place)).before(world.margin(place));
    if lease.deadline > latest {
        return Err(format!("leads until {:?}, and may no later than {latest:?}", lease.deadline));
    }
    Ok(())
}

/// I4.
pub(super) fn tokens_grow(reported: Option<Token>, term: Term) -> Result<(), String> {
    match reported {
        Some(reported) if term.token <= reported => Err(format!("won {} after {reported}", term.token)),
        _ => Ok(()),
    }
}

/// I5, of a win.
pub(super) fn won_alternates(node: &Node, term: Term) -> Result<(), String> {
    match node.term {
        None => Ok(()),
        Some(before) => Err(format!("won {} and never reported the end of {}", term.token, before.token)),
    }
}

/// I5, of a loss.
pub(super) fn lost_alternates(node: &Node, term: Term, reason: Reason) -> Result<(), String> {
    match node.term {
        Some(reported) if reported.token == term.token => Ok(()),
        reported => Err(format!("lost {} ({reason}), and had reported {reported:?}", term.token)),
    }
}

/// I5, after an input.
pub(super) fn term_has_its_state(node: &Node) -> Result<(), String> {
    let Some((campaign, term)) = node.campaign.as_ref().zip(node.term) else { return Ok(()) };
    let state = campaign.state();
    match state {
        CampaignState::Leading | CampaignState::Draining => Ok(()),
        _ => Err(format!("is {} and never reported the end of {}", state.code(), term.token)),
    }
}

/// I7.
pub(super) fn deletes_are_compared(node: &Node, write: &Write) -> Result<(), String> {
    match (&write.action, write.expect) {
        (Action::Release { .. }, Expect::Revision(revision)) if node.own & bit(revision.0) != 0 => Ok(()),
        (Action::Release { .. }, expect) => Err(format!("deletes {expect:?}, which it never wrote")),
        _ => Ok(()),
    }
}

/// I8.
pub(super) fn released_is_over(node: &Node, write: &Write) -> Result<(), String> {
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

/// I11.
pub(super) fn only_an_acknowledgement_wins(node: &Node, term: Term) -> Result<(), String> {
    if node.acknowledged & bit(term.token.sequence.0) == 0 {
        return Err(format!("won {} without an acknowledgement", term.token));
    }
    Ok(())
}

/// I12, of a win.
pub(super) fn incarnation_is_old_enough(_: &World, state: &State, term: Term) -> Result<(), String> {
    let Some(made) = state.store.made.filter(|_| state.store.incarnation == term.token.incarnation) else {
        return Ok(());
    };
    let age = state.now - made;
    if age < LEASE {
        return Err(format!("won {} in an incarnation that is {age} s old", term.token));
    }
    Ok(())
}

/// I12, after an input.
pub(super) fn another_incarnation_ends_the_term(node: &Node, proof: &Proof) -> Result<(), String> {
    match (proof.another, node.term) {
        (Some(incarnation), Some(term)) if term.token.incarnation != incarnation => {
            Err(format!("knows of incarnation {} and leads on with {}", incarnation.0, term.token))
        }
        _ => Ok(()),
    }
}

/// Faults 17 to 21: a leader survives them.
pub(super) fn keeps_its_term(world: &World, term: Term, reason: Reason) -> Result<(), String> {
    if world.keeps { Err(format!("lost {} ({reason}) to so little", term.token)) } else { Ok(()) }
}
