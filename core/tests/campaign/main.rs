//! The campaign, one candidate at a time: the exact outputs for each input, one file an event.

mod answers;
mod harness;
