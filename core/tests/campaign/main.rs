//! The campaign, one candidate at a time: the exact outputs for each input, one file an event.

#![allow(clippy::expect_used, clippy::panic, reason = "a test may panic; it says why")]

mod answers;
mod harness;
