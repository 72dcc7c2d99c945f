//! One connection with several campaigns: the exact outputs for each input.

#![allow(clippy::expect_used, clippy::panic, reason = "a test may panic; it says why")]
#![allow(unreachable_pub, reason = "the modules of a test are no library")]

mod connection;
mod entering;
mod harness;
mod induction;
mod queue;
mod reports;
mod requests;
mod shown_early;
mod turns;
mod vacancies;
mod watching;
