//! The inputs of a campaign, and its outputs.

use core::fmt;

use super::timers::Timer;
use crate::candidacy;
use crate::record::{Attempt, Entry};
use crate::store::{Fault, Outcome, Write};

/// What happens to a campaign.
pub type Input = candidacy::Input<Answer, Entry>;

/// What a campaign asks for, in order.
pub type Output = candidacy::Output<Request, Timer>;

/// The number of a read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct ReadId(pub u64);

/// A request of a campaign to the store.
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
        /// The write's outcome.
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
    /// An answer to a write that was never requested.
    UnknownAttempt(Attempt),
    /// An answer to a read that was never requested.
    UnknownRead(ReadId),
    /// The successor's name is not a valid candidate name; see [`Settings::name`](super::Settings::name).
    NotAName,
}

impl fmt::Display for Misuse {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::UnknownAttempt(attempt) => {
                write!(f, "no write with number {} was ever requested", attempt.0)
            }
            Self::UnknownRead(read) => write!(f, "no read with number {} was ever requested", read.0),
            Self::NotAName => f.write_str(
                "the successor's name is invalid: it must be 1 to 255 bytes long, \
                 free of control characters and surrounding spaces",
            ),
        }
    }
}

impl core::error::Error for Misuse {}
