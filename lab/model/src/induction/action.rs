//! The actions of the worlds of a consumer group, and when they can happen.

use super::Group;
use crate::action::{Action as Any, of_candidate, of_term, of_time};
use crate::state::State;
use crate::store::ActionOf;
use crate::world::Fault;

/// One action. A candidate is named by its index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// The coordinator assigns the partition to a member.
    Assign(usize),
    /// The coordinator removes a member.
    Remove(usize),
    /// Another process takes the owner's static id, and the partition with it.
    Replace,
    /// The client of a removed member learns that it was removed. From then on its commits have no generation.
    Notice(usize),
    /// A client reports the loss of its membership, and joins again.
    Report(usize),
    /// The coordinator revokes the partition.
    Revoke,
    /// The leader's handler fails, and its work continues.
    Fail(usize),
    /// The topic is deleted and made again.
    Remake,
}

/// The fault that an action is, if it is one.
pub(super) fn costs(action: Action) -> Option<Fault> {
    Some(match action {
        Action::Assign(_) | Action::Notice(_) | Action::Report(_) => return None,
        Action::Remove(_) => Fault::Remove,
        Action::Replace => Fault::Replace,
        Action::Revoke => Fault::Rebalance,
        Action::Fail(_) => Fault::Fail,
        Action::Remake => Fault::Recreate,
    })
}

/// Lists the actions that may come next.
pub(super) fn enabled(state: &State<Group>, actions: &mut Vec<ActionOf<Group>>) {
    let (left, group) = (state.left, &state.store);
    let mut at_rest = true;
    for (place, node) in state.nodes.iter().enumerate() {
        if left.has(Fault::Remove) && group.members[place].is_some() {
            actions.push(Any::Own(Action::Remove(place)));
        }
        at_rest &= of_candidate(state, place, actions, |_, actions| {
            if left.has(Fault::Late) {
                actions.push(Any::Delay(place));
            }
        });
        if node.campaign.is_none() {
            continue;
        }
        let (owns, client) = (group.owner == Some(place), node.client);
        if left.has(Fault::Replace) && owns && state.nodes[1 - place].client.joined {
            actions.push(Any::Own(Action::Replace));
        }
        if client.joined && !is_known(state, place) && !node.is_paused() {
            actions.push(Any::Own(Action::Notice(place)));
        }
        if !client.joined && client.rejoins && !client.revoking && !node.is_paused() {
            actions.push(Any::Own(Action::Report(place)));
        }
        if left.has(Fault::Rebalance) && owns && is_known(state, place) && !client.revoking {
            actions.push(Any::Own(Action::Revoke));
        }
        of_term(state, place, actions);
        if left.has(Fault::Fail) && state.may_leave(place) {
            actions.push(Any::Own(Action::Fail(place)));
        }
    }
    if group.owner.is_none() {
        for place in (0..state.nodes.len()).filter(|place| is_known(state, *place)) {
            at_rest = false;
            actions.push(Any::Own(Action::Assign(place)));
        }
    }
    actions.extend((0..state.late.len()).map(Any::Land));
    if left.has(Fault::Recreate) {
        actions.push(Any::Own(Action::Remake));
    }
    of_time(state, at_rest, actions);
}

/// Returns true if the coordinator knows this candidate's client as the member that the client believes to be.
pub(super) fn is_known(state: &State<Group>, place: usize) -> bool {
    let client = state.nodes[place].client;
    client.joined && state.store.members[place] == Some(client.member)
}
