//! `incumbent demo`: an election at work, with real faults, and a proof that there never were two leaders.
//!
//! ```text
//!   plan ── what the command line comes to
//!   run ── the loop around a trial of the rig: it shows events, and ends it at a signal
//!     └── renderer ── the output: events, table, summary
//! ```
//!
//! The candidates, the faults and the proof are the rig's.

mod args;
mod plan;
mod renderer;
mod run;
mod summary;
mod table;

pub(crate) use args::Args;
pub(crate) use run::{CandidateArgs, candidate, run};
