//! `incumbent demo`: an election at work, with real faults, and a proof that there never were two leaders.
//!
//! ```text
//!   plan ── what the command line comes to
//!   run ── the loop: takes reports, injects faults, draws
//!     ├── schedule ── which fault comes when
//!     ├── fleet ── members: a process or a task each, which run a candidate
//!     │     candidate ── campaigns; a probe of the rig records when it led
//!     └── renderer ── the output: events, table, summary
//! ```

mod args;
mod candidate;
mod event;
mod fault;
mod fleet;
mod member;
mod plan;
mod protocol;
mod renderer;
mod run;
mod schedule;
mod summary;
mod table;

pub(crate) use args::Args;
pub(crate) use candidate::{Args as CandidateArgs, run as candidate};
pub(crate) use run::run;
