//! What users need to test their own code: an election that follows a script, a store with faults, a clock
//! that stands still.
//!
//! - [`ScriptedElection`] drives a [`Candidate`](crate::Candidate), the very type that real elections
//!   give, through wins and losses on demand, without a store.
//! - [`Faulty`] puts faults into any store: lost answers, delays, partitions.
//! - [`Clock::manual`](crate::Clock::manual) stands still until it is told to move; a store or a scripted
//!   election that counts on it is as exact as the test wants.

mod scripted;

pub use scripted::{Asked, ScriptedElection};

pub use crate::store::faulty::{Faults, Faulty};
