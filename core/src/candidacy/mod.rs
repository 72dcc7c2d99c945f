//! A candidate, whatever its rule.
//!
//! A lease over a key ([`campaign`](crate::campaign)), a place in a queue ([`queue`](crate::queue)) and ownership in a
//! consumer group ([`induction`](crate::induction)) are three ways to ask for the lead and prove it. Everything else is
//! the same, and is here once:
//!
//! - [`Candidacy`]: the states, from the splay to the close. [`Rule`]: what a rule adds, and `face`: what it reads of
//!   the candidate to do so.
//! - [`Input`] and [`Output`]: what goes in and what comes out.
//! - [`GivingWay`]: a candidate that cannot prove its claim leaves it to others, and rests.
//! - `Reports`: its state, the leader that it knows and the faults of its store, each reported once.
//! - [`Obstacle`]: what a candidate waits for, reported once if no candidate has led for too long.
//! - `Turns`: the requests that wait for a place among those of the connection.

mod candidate;
mod face;
mod giving_way;
mod io;
mod reports;
mod rule;
mod rules;
mod steps;
mod turns;
mod vacancy;

pub use candidate::{Candidacy, Stage};
pub use giving_way::{GivingWay, Tried};
pub use io::{Input, Output};
pub(crate) use reports::Reports;
pub use rule::{Early, Ended, Rule};
pub(crate) use rules::Rules;
pub use steps::{Step, Steps};
pub(crate) use turns::Turns;
pub(crate) use vacancy::Vacancy;
pub use vacancy::{Obstacle, Waiting};

pub use crate::timers::{Kind as TimerKind, TIMERS};
