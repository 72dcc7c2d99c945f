//! `incumbent demo`: an election at work, with real faults, and a proof that there never were two leaders.
//!
//! ```text
//!   plan ── what the command line comes to
//!   show ── the loop: takes reports, does what the director says, draws
//!     ├── director ── which fault comes when
//!     ├── fleet ── actors: a process or a task each, which play a candidate
//!     │     candidate ── campaigns; its witness writes down when it led
//!     ├── history ── what the witnesses prove: overlaps, tokens, vacancies
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
mod history;
mod plan;
mod protocol;
mod record;
mod show;
mod story;
mod summary;
mod table;
mod witness;

pub(crate) use args::Args;
pub(crate) use candidate::{Args as CandidateArgs, run as candidate};
pub(crate) use show::run;
