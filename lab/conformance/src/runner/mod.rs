//! Plays scenarios with candidates in this process: those of the crate `incumbent`, or of another [`Implementation`].
//!
//! The runner drives candidates only through the public API. The [harness](crate::harness) makes the faults in the
//! store and the network. For a store that the harness cannot disturb (the runner's own memory, or a file without a
//! network), the runner makes the faults with the faulty store of `incumbent::testing`.

mod expect;
mod fixture;
mod harness;
mod implementation;
mod leader_check;
mod library;
mod participant;
mod play;
mod rules;
mod suite;
mod time;

pub use fixture::offers;
pub use implementation::{Call, CandidateHandle, Implementation, OpenStore, Pending, Refused, Reported};
pub use library::Library;
pub use play::{Setup, play};
pub use suite::{Failure, run};
