//! The invariants of a lease over a key that a single step can break.

use incumbent_core::campaign::{Reason, Term};
use incumbent_core::store::{Action, Expect, Write};

use super::Key;
use super::foreign_above_ours::Proof;
use crate::clock::LEASE;
use crate::node::Node;
use crate::state::State;
use crate::step::bit;
use crate::world::World;

/// I3.
pub(super) fn deadline_from_the_send(
    world: &World<Key>,
    place: usize,
    node: &Node<Key>,
) -> Result<(), String> {
    let Some(lease) = node.campaign.as_ref().and_then(|campaign| campaign.lease()) else { return Ok(()) };
    let Some(sent) = node.proven else {
        return Err(format!("has a lease ({lease:?}), but no write of it was ever applied"));
    };
    // A watch also shows the store's incarnation, and in some stores acknowledgements do too. Without both, only
    // inspections show it.
    let silent = !world.is_watching(place) && !world.acked;
    let sent = if silent { sent.min(node.shown) } else { sent };
    let latest = (sent + world.lease(place)).before(world.margin(place));
    if lease.deadline > latest {
        return Err(format!("leads until {:?}, but may lead only until {latest:?}", lease.deadline));
    }
    Ok(())
}

/// I7.
pub(super) fn deletes_are_compared(node: &Node<Key>, write: &Write) -> Result<(), String> {
    match (&write.action, write.expect) {
        (Action::Release { .. }, Expect::Revision(revision)) if node.own & bit(revision.0) != 0 => Ok(()),
        (Action::Release { .. }, expect) => Err(format!("deletes {expect:?}, which it never wrote")),
        _ => Ok(()),
    }
}

/// I8.
pub(super) fn released_is_over(node: &Node<Key>, write: &Write) -> Result<(), String> {
    let lease = node.campaign.as_ref().and_then(|campaign| campaign.lease());
    match (&write.action, node.term, lease) {
        (Action::Release { .. }, Some(term), _) => Err(format!("releases in its term {}", term.token)),
        (Action::Release { .. }, None, Some(lease)) => Err(format!("releases and leads: {lease:?}")),
        (Action::Release { .. }, None, None) if node.working => {
            Err("releases while its work continues".into())
        }
        _ => Ok(()),
    }
}

/// I11.
pub(super) fn only_an_acknowledgement_wins(node: &Node<Key>, term: Term) -> Result<(), String> {
    if node.acknowledged & bit(term.token.sequence.0) == 0 {
        return Err(format!("won {} without an acknowledgement", term.token));
    }
    Ok(())
}

/// I12, for a win.
pub(super) fn incarnation_is_old_enough(state: &State<Key>, term: Term) -> Result<(), String> {
    let Some(made) =
        state.store.bucket.made.filter(|_| state.store.bucket.incarnation == term.token.incarnation)
    else {
        return Ok(());
    };
    let age = state.now - made;
    if age < LEASE {
        return Err(format!("won {} in an incarnation that is {age} s old", term.token));
    }
    Ok(())
}

/// I12, after an input.
pub(super) fn another_incarnation_ends_the_term(node: &Node<Key>, proof: &Proof) -> Result<(), String> {
    match (proof.another, node.term) {
        (Some(incarnation), Some(term)) if term.token.incarnation != incarnation => {
            Err(format!("knows of incarnation {} but keeps leading with {}", incarnation.0, term.token))
        }
        _ => Ok(()),
    }
}

/// Checks that a leader survives faults 17 to 21.
pub(super) fn keeps_its_term(world: &World<Key>, term: Term, reason: Reason) -> Result<(), String> {
    if world.keeps {
        Err(format!("lost {} ({reason}) although so little went wrong", term.token))
    } else {
        Ok(())
    }
}
