//! The inputs and outputs of every candidate, whatever its rule.

use alloc::string::String;
use core::convert::Infallible;

use crate::campaign::Event;
use crate::session::Command;
use crate::store::{Fault, StoreInfo};
use crate::time::Instant;
use crate::timers::Wake;

/// Something that happened outside a candidate. `A` is the type of the store's answers under its rule, `S` of what a
/// watch shows, and `N` of anything else that a rule takes.
///
/// An input that means nothing to a rule changes nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Input<A, S, N = Infallible> {
    /// Time has passed.
    Tick,
    /// Enter the race. Does nothing for a candidate that is already in it.
    Campaign,
    /// Give up the leadership, if this candidate has it, and stay in the race.
    Resign,
    /// Hand the leadership, if this candidate has it, to the candidate with this name, and stay in the race behind it.
    /// A consumer group ignores the name: it chooses its owner itself.
    HandOver(String),
    /// Give up the leadership and leave the race for good.
    Close,
    /// The candidate's own health check. An unhealthy candidate does not campaign.
    Health(bool),
    /// The work of a term has ended. The term is draining, or was lost while it was draining or because its handler
    /// failed. Nothing is released before this input.
    Drained,
    /// The user's handler failed and wants the term to end. The term is lost at once; the release waits for
    /// [`Drained`](Self::Drained).
    HandlerFailed,
    /// An operator accepts that tokens may start again after a reset of the store. It changes nothing for a candidate
    /// whose next token would exceed every observed token, so a request may be sent to every candidate of an election.
    Accept,
    /// The store answered a request. The answer counts whenever it arrives.
    Answered(A),
    /// The store was inspected.
    Inspected(Result<StoreInfo, Fault>),
    /// The watch delivered a change of the election, or its initial content.
    ///
    /// A revision means nothing without the incarnation of its store, so a watch must see one incarnation only. If an
    /// inspection shows another incarnation, the caller begins a new watch before it hands in that inspection, and
    /// hands in nothing more from the old watch.
    Watched(S),
    /// Everything [watched](Self::Watched) from now on comes from a new watch. Anything that happened before is
    /// unknown.
    Watching {
        /// The time at which the new watch was ready, or later.
        since: Instant,
    },
    /// The connection to the store was replaced.
    Reconnected,
    /// A notice from the connection that only this rule's candidates need.
    Told(N),
}

/// What a candidate wants done, in order. `Q` is the type of its rule's requests, `T` of its timers, and `M` of
/// anything else that a rule emits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Output<Q, T, M = Infallible> {
    /// Ask the store, which answers with [`Input::Answered`].
    Ask(Q),
    /// Inspect the store, and answer with [`Input::Inspected`].
    Inspect {
        /// An answer to a request sent at this instant or later will do.
        since: Instant,
    },
    /// Open a new connection, to another server if there are several, and answer with [`Input::Reconnected`]. If asked
    /// again while that is under way, one answer is enough.
    Reconnect,
    /// A notice to the connection that only this rule's candidates send.
    Tell(M),
    /// Report this to the user.
    Event(Event),
    /// Do nothing more until an input, or until this wake-up.
    WakeAt(Option<Wake<T>>),
}

impl<Q, T, M> Output<Q, T, M> {
    /// The event that it reports.
    pub fn event(&self) -> Option<&Event> {
        match self {
            Self::Event(event) => Some(event),
            _ => None,
        }
    }
}

impl<A, S, N> From<Command> for Input<A, S, N> {
    fn from(command: Command) -> Self {
        match command {
            Command::Resign => Self::Resign,
            Command::HandOver(successor) => Self::HandOver(successor),
            Command::Close => Self::Close,
            Command::Health(healthy) => Self::Health(healthy),
            Command::Drained => Self::Drained,
            Command::HandlerFailed => Self::HandlerFailed,
            Command::Accept => Self::Accept,
        }
    }
}
