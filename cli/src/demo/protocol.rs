//! Messages between the demo and its candidates, as lines of JSON where they are processes.

use std::path::PathBuf;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::failure::Failure;
use crate::lease::Pace;

/// The candidate's name and its election; the first line that it reads. It is not on the command line,
/// because the URL may hold credentials and every user of the machine can read a command line.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Setup {
    pub(super) store: String,
    pub(super) key: String,
    pub(super) name: String,
    /// The file that its probe records to.
    pub(super) record: PathBuf,
    pub(super) lease: Duration,
    pub(super) preset: Pace,
    pub(super) splay: bool,
}

/// An order to a candidate. The end of the orders asks it to leave.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "order", rename_all = "snake_case")]
pub(super) enum Order {
    /// Hand leadership over to this candidate.
    HandOver {
        /// Its name.
        to: String,
    },
    /// Resign and leave the election.
    Close,
}

/// A report from a candidate. Instants are nanoseconds of the machine's clock, shared by all processes.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(tag = "report", rename_all = "snake_case")]
pub(super) enum Report {
    /// The campaign entered another state.
    State { state: String },
    /// The candidate leads.
    Won { token: String, at: u64 },
    /// The candidate no longer leads.
    Lost { token: String, reason: String },
    /// The candidate reports a warning.
    Warning { message: String },
    /// An order could not be carried out.
    Refused { message: String },
    /// The candidate cannot take part.
    Failed { failure: Failure },
}
