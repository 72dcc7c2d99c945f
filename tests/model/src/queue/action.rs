//! Everything that may happen next.

use incumbent_core::campaign::State as Stand;
use incumbent_core::queue::{Action as Put, LeaseId};

use super::state::{Request, State};

/// One thing that happens. A candidate is named by its number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Action {
    /// A tick of the clock.
    Pass,
    /// A timer fires.
    Wake(usize),
    /// The store serves the first request of a candidate.
    Serve(usize),
    /// The request is lost.
    Lose(usize),
    /// The store serves it, and the answer is lost.
    LoseAnswer(usize),
    /// A former leader of the store answers a keep-alive.
    Stale(usize),
    /// A transaction gets no answer, and is applied later.
    Delay(usize),
    /// A transaction that was delayed is applied.
    Land(usize),
    /// A lease expires.
    Expire(LeaseId),
    /// Another member leads the store.
    Elect,
    /// The store revokes a live lease, as one that led it before proposes.
    RevokeEarly(LeaseId),
    /// An operator deletes a place.
    DeletePlace(LeaseId),
    /// An operator revokes the lease that a place shows.
    RevokePlace(LeaseId),
    /// The process is stopped.
    Pause(usize),
    /// It goes on.
    Resume(usize),
    /// The process ends.
    Crash(usize),
    /// The user resigns.
    Resign(usize),
    /// An operator asks the leader to hand over to the last candidate.
    HandOver(usize),
    /// The work of the term has ended.
    Drained(usize),
    /// Another companion of the connection cannot be deleted: its companions move to another lease.
    Move(usize),
    /// From now on, the reads of a candidate are denied.
    Deny(usize),
}

/// Lists the actions that may come next.
pub(crate) fn enabled(state: &State, actions: &mut Vec<Action>) {
    if state.broken.is_some() || state.now > state.horizon {
        return;
    }
    let left = state.left;
    let mut at_rest = true;
    for (candidate, node) in state.nodes.iter().enumerate() {
        if node.campaign.is_none() {
            continue;
        }
        if let Some(request) = node.requests.front() {
            at_rest = false;
            actions.push(Action::Serve(candidate));
            if left.lose > 0 {
                actions.extend([Action::Lose(candidate), Action::LoseAnswer(candidate)]);
            }
            if left.stale > 0 && matches!(request, Request::KeepAlive(..)) {
                actions.push(Action::Stale(candidate));
            }
            let creates_or_moves = matches!(
                request,
                Request::Write(write) if matches!(write.action, Put::Enter { .. } | Put::Move { .. })
            );
            if left.late > 0 && creates_or_moves {
                actions.push(Action::Delay(candidate));
            }
        }
        let due = node.wakes.is_some_and(|at| at <= state.now);
        if !node.paused && due && node.requests.is_empty() {
            at_rest = false;
            actions.push(Action::Wake(candidate));
        }
        // A stop between two ticks matters where it holds something up.
        if left.pause > 0 && !node.paused && (due || !node.requests.is_empty()) {
            actions.push(Action::Pause(candidate));
        }
        if left.crash > 0 {
            actions.push(Action::Crash(candidate));
        }
        let stand = node.campaign.as_ref().map(incumbent_core::queue::Campaign::state);
        if stand == Some(Stand::Draining) && !node.paused {
            actions.push(Action::Drained(candidate));
        }
        let leads = stand == Some(Stand::Leading);
        if left.resign > 0 && leads && !node.paused {
            actions.push(Action::Resign(candidate));
        }
        if left.moves > 0 && leads && !node.paused {
            actions.push(Action::Move(candidate));
        }
        if left.deny > 0 && node.denied.is_none() {
            actions.push(Action::Deny(candidate));
        }
        if left.hand_over > 0 && leads && !node.paused && candidate + 1 < state.nodes.len() {
            actions.push(Action::HandOver(candidate));
        }
    }
    actions.extend((0..state.late.len()).map(Action::Land));
    if left.elect > 0 {
        actions.push(Action::Elect);
    }
    for (lease, granted) in state.store.leases().filter(|(lease, _)| state.store.is_in_use(*lease)) {
        if granted.expires <= state.now {
            actions.push(Action::Expire(lease));
        } else if left.early > 0 && state.store.is_known_to_a_former_leader(granted) {
            actions.push(Action::RevokeEarly(lease));
        }
    }
    for place in state.store.places() {
        if left.delete > 0 {
            actions.push(Action::DeletePlace(place));
        }
        if left.revoke > 0 {
            actions.push(Action::RevokePlace(place));
        }
    }
    if at_rest {
        actions.push(Action::Pass);
        let paused = (0..state.nodes.len()).filter(|candidate| state.nodes[*candidate].paused);
        actions.extend(paused.map(Action::Resume));
    }
}
