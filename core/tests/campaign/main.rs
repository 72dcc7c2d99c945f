//! The campaign, one candidate at a time: the exact outputs for each input, one file an event.

#![allow(clippy::expect_used, clippy::panic, reason = "a test may panic; it says why")]
#![allow(unreachable_pub, reason = "the modules of a test are no library")]

mod answers;
mod candidacy;
mod contract;
mod hand_over;
mod harness;
mod health;
mod incarnation;
mod leaving;
mod orphans;
mod random;
mod reads;
mod settings_refused;
mod splay;
mod staleness;
mod time;
mod trouble;
mod watch;
mod win_delay;
