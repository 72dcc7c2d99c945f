//! `incumbent demo`: an election at work, with real faults, and a proof that there never were two leaders.
//!
//! ```text
//!   plan ── what the command line comes to
//!   show ── the loop: takes reports, does what the director says, draws
//!     ├── director ── which fault comes when
//!     ├── fleet ── actors: a process or a task each, which play a candidate
//!     │     candidate ── campaigns; a probe of the rig records when it led
//!     └── audience ── what is seen of it: story, table, summary
//! ```

mod actor;
mod args;
mod audience;
mod candidate;
mod cast;
mod director;
mod fault;
mod fleet;
mod plan;
mod protocol;
mod show;
mod story;
mod summary;
mod table;

pub(crate) use args::Args;
pub(crate) use candidate::{Args as CandidateArgs, run as candidate};
pub(crate) use show::run;
