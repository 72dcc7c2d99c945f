//! Plays scenarios with candidates in this process: those of the crate `incumbent`, or of another [`Implementation`].
//!
//! It drives candidates through the public API and nothing else; the [stage](crate::stage) makes the faults
//! in the store and the network. Where the stage has no access (the runner's own memory, a file without a
//! network) the runner uses the faulty store of `incumbent::testing`.

mod actor;
mod expect;
mod failure;
mod fixture;
mod implementation;
mod library;
mod play;
mod rules;
mod stage;
mod suite;
mod time;
mod watcher;
mod witness;

pub use failure::Failure;
pub use fixture::offers;
pub use implementation::{Call, Implementation, Opened, Pending, Player, Refused, Reported};
pub use library::Library;
pub use play::{Setup, play};
pub use suite::run;
