//! The real election rules, `incumbent_core`, in small worlds that are explored to the end.
//!
//! A simulator meets the cases that its random numbers choose; a model checker meets all of them. Each [`World`] has
//! two or three candidates, one election on a store, a clock that advances in steps of a second, and a budget of
//! faults: messages lost, late or doubled, crashes, deletions, pauses. [`check`] runs the candidates through every
//! order of everything that can happen within those bounds, and checks each state that it reaches: do two lead, does a
//! token decrease, and would a candidate lead if there were no further faults?
//!
//! A [`Store`] comes with its rule: a lease over a [`Key`], a place in a [`Queue`], or induction over a consumer
//! [`Group`].
//!
//! ```
//! let world = incumbent_model::worlds().into_iter().find(|world| world.name() == "quiet").unwrap();
//! let findings = incumbent_model::check(&world);
//! assert!(findings.violation.is_none() && findings.unique > 10);
//! ```
//!
//! # What it does not do
//!
//! It proves nothing about larger worlds. Each campaign draws its own sequence of random numbers as usual: the
//! exploration covers all inputs, not all draws.

#![forbid(unsafe_code)]

mod action;
mod check;
mod clock;
mod induction;
mod key;
mod node;
mod path;
mod property;
mod queue;
mod state;
mod step;
mod store;
mod world;

pub use check::{Findings, Violation, check, check_up_to};
pub use induction::{Group, InductionPart, induction_worlds, late_release};
pub use key::{Key, worlds};
pub use property::Property;
pub use queue::{Queue, QueuePart, queue_worlds};
pub use store::Store;
pub use world::World;
