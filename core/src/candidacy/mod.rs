//! The parts of a candidate that do not depend on its rule.
//!
//! A lease over a key ([`campaign`](crate::campaign)), a place in a queue ([`queue`](crate::queue)) and ownership in a
//! consumer group ([`induction`](crate::induction)) ask for the lead in three ways. What holds for every candidate is
//! decided here once:
//!
//! - [`GivingWay`]: a candidate that cannot prove its claim leaves it to others, and rests.
//! - [`Obstacle`]: what a candidate waits for, said once where no candidate has led for too long.
//! - `Turns`: the requests that wait for a place among those of the connection.

mod giving_way;
mod turns;
mod vacancy;

pub use giving_way::{GivingWay, Step, Steps, Tried};
pub(crate) use turns::Turns;
pub(crate) use vacancy::Vacancy;
pub use vacancy::{Obstacle, Waiting};
