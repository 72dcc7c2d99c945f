//! Watches real candidates under faults, and proves whether two of them ever led at once.
//!
//! - [`probe`]: repeatedly asks candidates whether they lead, between two readings of the clock;
//! - [`record`]: the file that a probe's answers are written to, which survives the kill of its process;
//! - [`check`]: leaderships that overlap, and tokens that do not grow;
//! - [`history`]: the records of all processes together.
//!
//! It makes no faults and starts no processes: `incumbent demo` and the chaos suite do that.
#![deny(unsafe_code)]

pub mod check;
pub mod history;
pub mod probe;
pub mod record;
