//! What the demo and its candidates tell each other, as lines of JSON where they are processes.

use std::path::PathBuf;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::failure::Failure;
use crate::lease::Pace;

/// Who to be, and in which election; the first line a candidate is given. It is not on the command
/// line, for the URL may hold credentials and every user of the machine can read that.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Part {
    pub(super) store: String,
    pub(super) key: String,
    pub(super) name: String,
    /// Where its witness writes.
    pub(super) record: PathBuf,
    pub(super) lease: Duration,
    pub(super) preset: Pace,
    pub(super) splay: bool,
}

/// What a candidate is asked to do. The end of the orders asks it to leave.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "order", rename_all = "snake_case")]
pub(super) enum Order {
    /// Leave the seat to this candidate.
    HandOver {
        /// Its name.
        to: String,
    },
    /// Leave the seat and the race.
    Close,
}

/// What a candidate tells. Instants are nanoseconds of the machine's clock, which all processes share.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(tag = "report", rename_all = "snake_case")]
pub(super) enum Report {
    /// The campaign entered another state.
    State { state: String },
    /// It leads.
    Won { token: String, at: u64 },
    /// It leads no more.
    Lost { token: String, reason: String },
    /// Something is not as it should be.
    Warning { message: String },
    /// An order could not be carried out.
    Refused { message: String },
    /// It cannot take part.
    Failed { failure: Failure },
}
