//! The actions of a key's worlds, and when they can happen.

use super::Key;
use super::message::Body;
use super::world::Watch;
use crate::action::Action as Any;
use crate::clock::{LEASE, Tick};
use crate::state::State;
use crate::store::ActionOf;
use crate::world::{Fault, World};

/// One action. Numbers are indices of a candidate or of a message in flight.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// The record vanishes.
    Expire,
    /// A message arrives, and so does its answer at once.
    Arrive(usize),
    /// The message is lost.
    Lose(usize),
    /// A message arrives, but its answer is lost.
    LoseAnswer(usize),
    /// The message is late.
    Hold(usize),
    /// A message arrives, but its answer is late.
    HoldAnswer(usize),
    /// A message arrives, and a copy of it arrives later.
    Copy(usize),
    /// A write is answered, but the answer does not report its outcome.
    Unresolved(usize, Unresolved),
    /// A server that lags answers.
    Stale(usize),
    /// The next event of a candidate's watch arrives.
    Deliver(usize),
    /// A candidate's watch is silent for a while.
    Stall(usize),
    /// The campaign of a candidate that has entered begins.
    Begin(usize),
    Delete,
    Purge,
    Seize,
    Close(usize),
    Recreate,
    /// From now on, the inspections of a candidate are denied.
    Deny(usize),
}

/// The fault that an action is, if it is one.
pub(super) fn costs(action: Action) -> Option<Fault> {
    Some(match action {
        Action::Lose(_) | Action::LoseAnswer(_) => Fault::Lose,
        Action::Hold(_) | Action::HoldAnswer(_) | Action::Stall(_) => Fault::Late,
        Action::Copy(_) => Fault::Copy,
        Action::Unresolved(..) => Fault::Unresolved,
        Action::Stale(_) => Fault::Stale,
        Action::Delete => Fault::Delete,
        Action::Purge => Fault::Purge,
        Action::Seize => Fault::Seize,
        Action::Close(_) => Fault::Close,
        Action::Recreate => Fault::Recreate,
        Action::Deny(_) => Fault::Deny,
        Action::Expire | Action::Arrive(_) | Action::Deliver(_) | Action::Begin(_) => return None,
    })
}

/// An answer that does not report a write's outcome, and the true outcome.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unresolved {
    /// Not applied: another write is in flight.
    Busy,
    /// Not applied: no server accepted the write.
    NotSent,
    /// Unknown, and applied.
    Applied,
    /// Unknown, and applied later, if ever.
    Later,
}

impl Unresolved {
    const ALL: [Self; 4] = [Self::Busy, Self::NotSent, Self::Applied, Self::Later];
}

/// All actions that can happen next, the most ordinary first.
pub(super) fn enabled(world: &World<Key>, state: &State<Key>, actions: &mut Vec<ActionOf<Key>>) {
    messages(world, state, actions);
    for (place, node) in state.nodes.iter().enumerate() {
        if node.early.is_some() {
            actions.push(Any::Own(Action::Begin(place)));
        }
        if node.campaign.is_none() || node.is_paused() {
            continue;
        }
        if !node.watched.is_empty() {
            actions.push(Any::Own(Action::Deliver(place)));
            if state.left.has(Fault::Late) && node.stalled.is_none() && world.watch == Watch::Loose {
                actions.push(Any::Own(Action::Stall(place)));
            }
        }
        if node.wakes <= state.now {
            actions.push(Any::Wake(place));
        }
        if node.working {
            actions.push(Any::Drained(place));
        }
    }
    let over = state.store.bucket.expiry(world).is_some_and(|(first, _)| first <= state.now);
    if over || state.store.bucket.erasing().is_some_and(|until| until >= state.now) {
        actions.push(Any::Own(Action::Expire));
    }
    faults(state, actions);
    if let Some(next) = next_tick(world, state) {
        actions.push(Any::Pass(next));
    }
}

fn messages(world: &World<Key>, state: &State<Key>, actions: &mut Vec<ActionOf<Key>>) {
    let left = &state.left;
    for (place, message) in state.store.net.iter().enumerate() {
        // If the same message is in flight twice, it is enough to explore one of them.
        if place > 0 && state.store.net[place - 1].digest() == message.digest() {
            continue;
        }
        let answer = message.body.is_answer();
        if answer && state.nodes[message.node].is_paused() {
            continue;
        }
        actions.push(Any::Own(Action::Arrive(place)));
        if matches!(message.body, Body::Inspect(_)) && !world.inspections_fail {
            continue;
        }
        if left.has(Fault::Lose) {
            actions.push(Any::Own(Action::Lose(place)));
            if !answer {
                actions.push(Any::Own(Action::LoseAnswer(place)));
            }
        }
        let fresh = message.held.is_none();
        if left.has(Fault::Late) && fresh && !world.only_watches {
            actions.push(Any::Own(Action::Hold(place)));
            if !answer {
                actions.push(Any::Own(Action::HoldAnswer(place)));
            }
        }
        if left.has(Fault::Copy) && fresh {
            actions.push(Any::Own(Action::Copy(place)));
        }
        if left.has(Fault::Unresolved) && fresh && matches!(message.body, Body::Write(..)) {
            actions.extend(Unresolved::ALL.map(|unresolved| Any::Own(Action::Unresolved(place, unresolved))));
        }
        let may_lag = matches!(message.body, Body::Write(..) | Body::Read(_));
        if left.has(Fault::Stale) && may_lag && state.store.bucket.before().is_some() {
            actions.push(Any::Own(Action::Stale(place)));
        }
    }
}

/// The faults of messages, and starts. In a world with only these faults, nothing but messages happens between two
/// timers.
const WITH_MESSAGES: [Fault; 6] =
    [Fault::Lose, Fault::Late, Fault::Copy, Fault::Unresolved, Fault::Stale, Fault::Start];

/// Actions that no message causes.
fn faults(state: &State<Key>, actions: &mut Vec<ActionOf<Key>>) {
    let left = &state.left;
    for (place, node) in state.nodes.iter().enumerate() {
        if node.campaign.is_none() {
            if left.has(Fault::Start) && node.early.is_none() {
                actions.push(Any::Enter(place));
            }
            continue;
        }
        if left.has(Fault::Crash) {
            actions.push(Any::Crash(place));
        }
        if node.is_paused() {
            actions.push(Any::Resume(place));
            continue;
        }
        if left.has(Fault::Pause) {
            actions.push(Any::Pause(place));
        }
        if left.has(Fault::Resign) && node.term.is_some() {
            actions.push(Any::Resign(place));
        }
        if left.has(Fault::HandOver) && node.term.is_some() {
            actions.push(Any::HandOver(place, (place + 1) % state.nodes.len()));
        }
        if left.has(Fault::Close) && !node.closing {
            actions.push(Any::Own(Action::Close(place)));
        }
        if left.has(Fault::Deny) {
            actions.push(Any::Own(Action::Deny(place)));
        }
    }
    if left.has(Fault::Delete) {
        actions.push(Any::Own(Action::Delete));
    }
    // A purge needs every candidate to have been shown the record, because a candidate that was not would know nothing
    // of the leader.
    let all_saw_it = || state.nodes.iter().all(|node| node.is_present() && node.watched.is_empty());
    if left.has(Fault::Purge) && state.store.bucket.is_live() && all_saw_it() {
        actions.push(Any::Own(Action::Purge));
    }
    if left.has(Fault::Seize) {
        actions.push(Any::Own(Action::Seize));
    }
    if left.has(Fault::Recreate) {
        actions.push(Any::Own(Action::Recreate));
    }
}

/// The end of the next step of time, which is the tick at which something may happen. `None` while an action must
/// happen first.
fn next_tick(world: &World<Key>, state: &State<Key>) -> Option<Tick> {
    let now = state.now;
    let is_fault_free = state.ends == Tick::MAX;
    let mut next = if is_fault_free { now + LEASE } else { state.ends };
    // A message may have to arrive before that tick. A message that may arrive at any time limits the step to one tick.
    for message in &state.store.net {
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
            if is_fault_free {
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
    if state.store.bucket.erasing().is_some() {
        next = next.min(now + 1);
    }
    if let Some((first, last)) = state.store.bucket.expiry(world) {
        if last <= now {
            return None;
        }
        next = next.min(first.max(now + 1));
    }
    let starts = state.left.has(Fault::Start) && state.nodes.iter().any(|node| node.campaign.is_none());
    if starts || state.left.has_more_than(&WITH_MESSAGES) {
        next = next.min((now / world.stride + 1) * world.stride);
    }
    Some(next)
}
