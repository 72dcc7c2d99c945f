//! Everything that may happen next.

use incumbent_core::campaign::State as Stand;
use incumbent_core::induction::Campaign;

use super::state::{CANDIDATES, State};

/// One thing that happens. A candidate is named by its number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Action {
    /// A tick of the clock.
    Pass,
    /// A timer fires.
    Wake(usize),
    /// The first request of a candidate is served.
    Serve(usize),
    /// The request is lost.
    Lose(usize),
    /// It is served, and its answer is lost.
    LoseAnswer(usize),
    /// It arrives later.
    Delay(usize),
    /// A request that was delayed arrives.
    Land(usize),
    /// The coordinator assigns the partition to a member.
    Assign(usize),
    /// The coordinator removes a member.
    Remove(usize),
    /// The other process takes the owner's static id, and the partition with it.
    Replace,
    /// The client of a removed member learns of it; its commits have no generation from then on.
    Notice(usize),
    /// It reports the loss, and joins again.
    Report(usize),
    /// The coordinator revokes the partition.
    Revoke,
    /// The process is stopped.
    Pause(usize),
    /// It goes on.
    Resume(usize),
    /// The process ends.
    Crash(usize),
    /// The user resigns.
    Resign(usize),
    /// The leader's handler fails, and its work goes on.
    Fail(usize),
    /// The work of the term has ended.
    Drained(usize),
    /// The topic is deleted and made again.
    Remake,
}

/// Lists the actions that may come next.
pub(crate) fn enabled(state: &State, actions: &mut Vec<Action>) {
    if state.broken.is_some() || state.now > state.horizon {
        return;
    }
    let left = state.left;
    let mut at_rest = true;
    for (candidate, node) in state.nodes.iter().enumerate() {
        if left.remove > 0 && state.coordinator.members[candidate].is_some() {
            actions.push(Action::Remove(candidate));
        }
        let Some(campaign) = &node.campaign else { continue };
        if !node.requests.is_empty() {
            at_rest = false;
            actions.push(Action::Serve(candidate));
            if left.lose > 0 {
                actions.extend([Action::Lose(candidate), Action::LoseAnswer(candidate)]);
            }
            if left.late > 0 {
                actions.push(Action::Delay(candidate));
            }
        }
        let due = node.wakes.is_some_and(|at| at <= state.now);
        if !node.paused && due && node.requests.is_empty() {
            at_rest = false;
            actions.push(Action::Wake(candidate));
        }
        if left.pause > 0 && !node.paused && (due || !node.requests.is_empty()) {
            actions.push(Action::Pause(candidate));
        }
        if left.crash > 0 {
            actions.push(Action::Crash(candidate));
        }
        actions.extend(of_the_group(state, candidate, campaign));
    }
    let assignable = state.coordinator.owner.is_none();
    for candidate in (0..CANDIDATES).filter(|candidate| assignable && is_known(state, *candidate)) {
        at_rest = false;
        actions.push(Action::Assign(candidate));
    }
    actions.extend((0..state.late.len()).map(Action::Land));
    if left.remake > 0 {
        actions.push(Action::Remake);
    }
    if at_rest {
        actions.push(Action::Pass);
        let paused = (0..CANDIDATES).filter(|candidate| state.nodes[*candidate].paused);
        actions.extend(paused.map(Action::Resume));
    }
}

/// The coordinator has this candidate's client as the member that it takes itself for.
pub(crate) fn is_known(state: &State, candidate: usize) -> bool {
    let client = state.nodes[candidate].client;
    client.joined && state.coordinator.members[candidate] == Some(client.member)
}

fn of_the_group(state: &State, candidate: usize, campaign: &Campaign) -> Vec<Action> {
    let (left, node) = (state.left, &state.nodes[candidate]);
    let mut actions = Vec::new();
    let owns = state.coordinator.owner == Some(candidate);
    if left.replace > 0 && owns && state.nodes[1 - candidate].client.joined {
        actions.push(Action::Replace);
    }
    if node.client.joined && !is_known(state, candidate) && !node.paused {
        actions.push(Action::Notice(candidate));
    }
    if !node.client.joined && !node.client.out && !node.client.revoking && !node.paused {
        actions.push(Action::Report(candidate));
    }
    if left.revoke > 0 && owns && is_known(state, candidate) && !node.client.revoking {
        actions.push(Action::Revoke);
    }
    let stand = campaign.state();
    if (stand == Stand::Draining || node.failed) && !node.paused {
        actions.push(Action::Drained(candidate));
    }
    if left.fail > 0 && stand == Stand::Leading && !node.paused {
        actions.push(Action::Fail(candidate));
    }
    if left.resign > 0 && stand == Stand::Leading && !node.paused {
        actions.push(Action::Resign(candidate));
    }
    actions
}
