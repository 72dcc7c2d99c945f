//! The inputs of a campaign, and its outputs.

use alloc::string::String;
use core::fmt;

use super::event::Event;
use super::timers::Wake;
use crate::record::{Attempt, Entry};
use crate::store::{Fault, Outcome, StoreInfo, Write};
use crate::time::Instant;

/// An event outside of the campaign.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Input {
    /// Time has passed.
    Tick,
    /// Enter the race. Does nothing for a campaign that is in it.
    Campaign,
    /// Give the leadership up, where this candidate has it, and stay in the race behind the other candidates.
    Resign,
    /// Hand the leadership over to the candidate of this name, where this candidate has it, and stay in the race behind it.
    HandOver(String),
    /// Give the leadership up and leave the race, for good.
    Close,
    /// The candidate's own health check. An unhealthy candidate does not campaign.
    Health(bool),
    /// The work of the term has ended: of one that is draining, or of one that was lost while it was to leave, or
    /// because its handler failed. Nothing is released before.
    Drained,
    /// The user's handler failed and wants the term to end. It is lost at once; the release waits for
    /// [`Drained`](Self::Drained).
    HandlerFailed,
    /// An operator accepts that tokens may start again after a reset of the store. It changes nothing for a campaign whose
    /// next token would be above every token observed, so a request may reach every candidate of an election.
    Accept,
    /// The store answered a request. The answer counts whenever it comes.
    Answered(Answer),
    /// The store was inspected.
    Inspected(Result<StoreInfo, Fault>),
    /// The watch delivered a change of the key, or the entry that it began with.
    ///
    /// A revision means nothing without the incarnation of the store it belongs to. So a watch sees one incarnation only,
    /// and a caller that has an inspection of another incarnation begins a new watch before it hands that inspection in,
    /// and hands in nothing of the old watch from then on.
    Watched(Entry),
    /// Every entry that is [watched](Self::Watched) from now on is of a new watch.
    Watching {
        /// When that watch stood, or later.
        since: Instant,
    },
    /// The connection to the store is a new one.
    Reconnected,
}

/// The number of a read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct ReadId(pub u64);

/// The operations that a campaign asks for, in order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Output {
    /// Ask the store, and answer with [`Input::Answered`].
    Ask(Request),
    /// Inspect the store, and answer with [`Input::Inspected`].
    Inspect {
        /// An answer asked for at this instant or later will do.
        since: Instant,
    },
    /// Open a new connection, to another server where there are several, and answer with [`Input::Reconnected`]. Asked for again
    /// while that is under way, it is the same connection: one answer is enough.
    Reconnect,
    /// Report this to the user.
    Event(Event),
    /// Nothing more until an input, or until this wake-up.
    WakeAt(Option<Wake>),
}

/// What a campaign wants of the store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Request {
    /// Send this write, and answer with [`Answer::Wrote`].
    Write(Write),
    /// Read the key from the store's leader, and answer with [`Answer::Read`].
    Read(ReadId),
}

/// The answer to a [`Request`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// A write was answered.
    Wrote {
        /// The write's number.
        attempt: Attempt,
        /// Its outcome.
        outcome: Outcome,
    },
    /// A read was answered.
    Read {
        /// The read's number.
        read: ReadId,
        /// The entry of the key.
        result: Result<Entry, Fault>,
    },
}

impl From<Answer> for Input {
    fn from(answer: Answer) -> Self {
        Self::Answered(answer)
    }
}

/// The caller broke the contract. The campaign's state is unchanged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Misuse {
    /// An answer to a write that was never asked for.
    UnknownAttempt(Attempt),
    /// An answer to a read that was never asked for.
    UnknownRead(ReadId),
    /// A successor whose name no candidate can have; see [`Settings::name`](super::Settings::name).
    NotAName,
}

impl fmt::Display for Misuse {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::UnknownAttempt(attempt) => {
                write!(f, "no write with number {} was ever asked for", attempt.0)
            }
            Self::UnknownRead(read) => write!(f, "no read with number {} was ever asked for", read.0),
            Self::NotAName => f.write_str(
                "no candidate can have the successor's name: it must be 1 to 255 bytes long, \
                 free of control characters and outer spaces",
            ),
        }
    }
}

impl core::error::Error for Misuse {}
