//! Tools for users' tests: a scripted election, a store with faults, a manual clock.
//!
//! - [`ScriptedElection`] drives a [`Candidate`](crate::Candidate), the same type as in real elections,
//!   through wins and losses on demand, without a store.
//! - [`Faulty`] injects faults into any store: lost answers, delays, partitions.
//! - [`Clock::manual`](crate::Clock::manual) moves only when it is advanced; with it, a store or a scripted election is
//!   exact in time.

mod scripted;

pub use scripted::{Asked, ScriptedElection};

pub use crate::store::faulty::{Faults, Faulty};
