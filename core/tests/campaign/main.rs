//! The campaign, one candidate at a time: the exact outputs for each input, one file an event.

// Items of a test's modules are `pub` for their siblings.
#![allow(unreachable_pub)]

mod answers;
mod harness;
mod reads;
mod splay;
mod time;
mod watch;
