//! Runs real candidates under faults, and proves whether two of them ever led at once.
//!
//! - [`candidate`]: one candidate, as a process or a task, which takes orders and reports;
//! - [`fleet`]: all candidates as seen from outside: started, ordered, stopped, killed;
//! - [`schedule`]: which fault comes when;
//! - [`trial`]: a fleet in one election under scheduled faults;
//! - [`probe`]: repeatedly asks candidates whether they lead, between two readings of the clock;
//! - [`record`]: the file for a probe's answers, which survives the kill of its process;
//! - [`history`]: the records of all processes together;
//! - [`check`]: leaderships that overlap, and tokens that do not grow.
#![deny(unsafe_code)]

pub mod candidate;
pub mod check;
pub mod fleet;
pub mod history;
pub mod probe;
pub mod record;
pub mod schedule;
pub mod trial;
