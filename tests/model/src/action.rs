//! The actions that can happen next.

use crate::clock::Tick;
use crate::message::Body;
use crate::state::State;
use crate::world::{Watch, World};

/// One action. Numbers are indices: of a candidate, or of a message among those under way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Action {
    /// Time passes, until this tick.
    Pass(Tick),
    /// A candidate's timer fires.
    Wake(usize),
    /// The record vanishes.
    Expire,
    /// A message arrives, and its answer at once.
    Arrive(usize),
    /// It is lost.
    Lose(usize),
    /// It arrives, and its answer is lost.
    LoseAnswer(usize),
    /// It is late.
    Hold(usize),
    /// It arrives, and its answer is late.
    HoldAnswer(usize),
    /// It arrives, and once more later.
    Copy(usize),
    /// A write is answered, and the answer does not report its outcome.
    Unresolved(usize, Unresolved),
    /// A server that lags answers.
    Stale(usize),
    /// The next event of a candidate's watch arrives.
    Deliver(usize),
    /// A candidate's watch is silent for a while.
    Stall(usize),
    /// A candidate's work is done.
    Drained(usize),
    Crash(usize),
    Start(usize),
    /// The campaign of a candidate that has entered begins.
    Begin(usize),
    Pause(usize),
    Resume(usize),
    Delete,
    Purge,
    Seize,
    Resign(usize),
    HandOver(usize),
    Close(usize),
    Recreate,
    /// From now on, the inspections of a candidate are denied.
    Deny(usize),
}

/// An answer that does not report the outcome of a write, and the outcome.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unresolved {
    /// Not applied: another write is in flight.
    Busy,
    /// Not applied: no server took it.
    NotSent,
    /// Unknown, and applied.
    Applied,
    /// Unknown, and applied later, if at all.
    Later,
}

impl Unresolved {
    const ALL: [Self; 4] = [Self::Busy, Self::NotSent, Self::Applied, Self::Later];
}

/// All actions that can happen next, most ordinary ones first.
pub(crate) fn enabled(world: &World, state: &State, actions: &mut Vec<Action>) {
    if state.broken.is_some() || (state.now >= world.horizon && !state.fault_free) {
        return;
    }
    messages(world, state, actions);
    for (place, node) in state.nodes.iter().enumerate() {
        if node.early.is_some() {
            actions.push(Action::Begin(place));
        }
        if node.campaign.is_none() || node.is_paused() {
            continue;
        }
        if !node.watched.is_empty() {
            actions.push(Action::Deliver(place));
            if state.left.hold > 0 && node.stalled.is_none() && world.watch == Watch::Loose {
                actions.push(Action::Stall(place));
            }
        }
        if node.wakes <= state.now {
            actions.push(Action::Wake(place));
        }
        if node.draining {
            actions.push(Action::Drained(place));
        }
    }
    let over = state.store.expiry(world).is_some_and(|(first, _)| first <= state.now);
    if over || state.store.erasing().is_some_and(|until| until >= state.now) {
        actions.push(Action::Expire);
    }
    faults(state, actions);
    if let Some(next) = next_tick(world, state) {
        actions.push(Action::Pass(next));
    }
}

fn messages(world: &World, state: &State, actions: &mut Vec<Action>) {
    let left = &state.left;
    for (place, message) in state.net.iter().enumerate() {
        // The same message twice: one of them is enough.
        if place > 0 && state.net[place - 1].digest() == message.digest() {
            continue;
        }
        let answer = message.body.is_answer();
        if answer && state.nodes[message.node].is_paused() {
            continue;
        }
        actions.push(Action::Arrive(place));
        if matches!(message.body, Body::Inspect(_)) && !world.inspections_fail {
            continue;
        }
        if left.lose > 0 {
            actions.push(Action::Lose(place));
            if !answer {
                actions.push(Action::LoseAnswer(place));
            }
        }
        let fresh = message.held.is_none();
        if left.hold > 0 && fresh && !world.only_watches {
            actions.push(Action::Hold(place));
            if !answer {
                actions.push(Action::HoldAnswer(place));
            }
        }
        if left.copy > 0 && fresh {
            actions.push(Action::Copy(place));
        }
        if left.unresolved > 0 && fresh && matches!(message.body, Body::Write(..)) {
            actions.extend(Unresolved::ALL.map(|unresolved| Action::Unresolved(place, unresolved)));
        }
        let may_lag = matches!(message.body, Body::Write(..) | Body::Read(_));
        if left.stale > 0 && may_lag && state.store.before().is_some() {
            actions.push(Action::Stale(place));
        }
    }
}

/// Actions that no message causes.
fn faults(state: &State, actions: &mut Vec<Action>) {
    let left = &state.left;
    for (place, node) in state.nodes.iter().enumerate() {
        if node.campaign.is_none() {
            if left.start > 0 && node.early.is_none() {
                actions.push(Action::Start(place));
            }
            continue;
        }
        if left.crash > 0 {
            actions.push(Action::Crash(place));
        }
        if node.is_paused() {
            actions.push(Action::Resume(place));
            continue;
        }
        if left.pause > 0 {
            actions.push(Action::Pause(place));
        }
        if left.resign > 0 && node.term.is_some() {
            actions.push(Action::Resign(place));
        }
        if left.hand_over > 0 && node.term.is_some() {
            actions.push(Action::HandOver(place));
        }
        if left.close > 0 && !node.closing {
            actions.push(Action::Close(place));
        }
        if left.deny > 0 {
            actions.push(Action::Deny(place));
        }
    }
    if left.delete > 0 {
        actions.push(Action::Delete);
    }
    // Not while a candidate was not shown the record: it would know nothing of the leader.
    let all_saw_it = || state.nodes.iter().all(|node| node.is_present() && node.watched.is_empty());
    if left.purge > 0 && state.store.is_live() && all_saw_it() {
        actions.push(Action::Purge);
    }
    if left.seize > 0 {
        actions.push(Action::Seize);
    }
    if left.recreate > 0 {
        actions.push(Action::Recreate);
    }
}

/// The end of the next step of time: the tick at which something may happen. `None` while an action must happen first.
fn next_tick(world: &World, state: &State) -> Option<Tick> {
    let now = state.now;
    let mut next = if state.fault_free { now + crate::clock::LEASE } else { world.horizon };
    // A message may have to arrive before that time; one that may arrive at any time limits the step to a tick.
    for message in &state.net {
        let waits = message.body.is_answer() && state.nodes[message.node].is_paused();
        match message.held {
            _ if waits => {}
            None => return None,
            Some(until) if until <= now => return None,
            Some(_) => next = next.min(now + 1),
        }
    }
    for node in &state.nodes {
        if node.early.is_some() {
            if state.fault_free {
                return None;
            }
            next = next.min((now / world.stride + 1) * world.stride);
        }
        if let Some(until) = node.paused {
            if until <= now {
                return None;
            }
            next = next.min(now + 1);
        } else if node.campaign.is_some() {
            if node.wakes <= now {
                return None;
            }
            next = next.min(node.wakes);
            if !node.watched.is_empty() {
                if node.stalled.is_none_or(|until| until <= now) {
                    return None;
                }
                next = next.min(now + 1);
            }
        }
    }
    if state.store.erasing().is_some() {
        next = next.min(now + 1);
    }
    if let Some((first, last)) = state.store.expiry(world) {
        if last <= now {
            return None;
        }
        next = next.min(first.max(now + 1));
    }
    let starts = state.left.start > 0 && state.nodes.iter().any(|node| node.campaign.is_none());
    if starts || state.left.has_faults() {
        next = next.min((now / world.stride + 1) * world.stride);
    }
    Some(next)
}
