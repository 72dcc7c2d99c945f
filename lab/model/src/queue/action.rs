//! The actions of the worlds of a queue, and when they can happen.

use incumbent_core::queue::{Action as Put, LeaseId, Write};

use super::{Queue, Request};
use crate::action::{Action as Any, of_candidate, of_term, of_time};
use crate::state::State;
use crate::store::ActionOf;
use crate::world::Fault;

/// One action. A candidate is named by its index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// A former leader of the store answers a keep-alive.
    Stale(usize),
    /// A lease expires.
    Expire(LeaseId),
    /// Another member leads the store.
    Elect,
    /// The store revokes a live lease, because a former leader of the store proposed it.
    RevokeEarly(LeaseId),
    /// An operator deletes a place.
    DeletePlace(LeaseId),
    /// An operator revokes the lease that a place shows.
    RevokePlace(LeaseId),
    /// Another companion of the connection cannot be deleted, so the connection's companions move to another lease.
    Move(usize),
    /// From now on, the reads of a candidate are denied.
    Deny(usize),
}

/// The fault that an action is, if it is one.
pub(super) fn costs(action: Action) -> Option<Fault> {
    Some(match action {
        Action::Stale(_) => Fault::Stale,
        Action::Expire(_) => return None,
        Action::Elect => Fault::Elect,
        Action::RevokeEarly(_) => Fault::RevokeEarly,
        Action::DeletePlace(_) => Fault::Delete,
        Action::RevokePlace(_) => Fault::RevokeLease,
        Action::Move(_) => Fault::Move,
        Action::Deny(_) => Fault::Deny,
    })
}

/// Lists the actions that may come next.
pub(super) fn enabled(state: &State<Queue>, actions: &mut Vec<ActionOf<Queue>>) {
    let left = state.left;
    let mut at_rest = true;
    for (place, node) in state.nodes.iter().enumerate() {
        at_rest &= of_candidate(state, place, actions, |request, actions| {
            if left.has(Fault::Stale) && matches!(request, Request::KeepAlive(..)) {
                actions.push(Any::Own(Action::Stale(place)));
            }
            let creates_or_moves =
                |write: &Write| matches!(write.action, Put::Enter { .. } | Put::Move { .. });
            if left.has(Fault::Late) && matches!(request, Request::Write(write) if creates_or_moves(write)) {
                actions.push(Any::Delay(place));
            }
        });
        of_term(state, place, actions);
        if left.has(Fault::Move) && state.may_leave(place) {
            actions.push(Any::Own(Action::Move(place)));
        }
        if left.has(Fault::Deny) && node.campaign.is_some() && node.denied.is_none() {
            actions.push(Any::Own(Action::Deny(place)));
        }
        let last = state.nodes.len() - 1;
        if left.has(Fault::HandOver) && state.may_leave(place) && place < last {
            actions.push(Any::HandOver(place, last));
        }
    }
    actions.extend((0..state.late.len()).map(Any::Land));
    let etcd = &state.store.0;
    if left.has(Fault::Elect) {
        actions.push(Any::Own(Action::Elect));
    }
    for (lease, granted) in etcd.leases().filter(|(lease, _)| etcd.is_in_use(*lease)) {
        if granted.expires <= state.now {
            actions.push(Any::Own(Action::Expire(lease)));
        } else if left.has(Fault::RevokeEarly) && etcd.is_known_to_a_former_leader(granted) {
            actions.push(Any::Own(Action::RevokeEarly(lease)));
        }
    }
    for place in etcd.places() {
        if left.has(Fault::Delete) {
            actions.push(Any::Own(Action::DeletePlace(place)));
        }
        if left.has(Fault::RevokeLease) {
            actions.push(Any::Own(Action::RevokePlace(place)));
        }
    }
    of_time(state, at_rest, actions);
}
