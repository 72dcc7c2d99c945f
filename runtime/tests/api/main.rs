//! The public API, on stores in memory.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "helpers of tests panic as tests do"
)]

mod candidates;
mod drain;
mod events;
mod faults;
mod handlers;
mod health;
mod lead;
mod many;
mod notices;
mod observe;
mod operator;
mod scripted;
mod start;
mod support;
mod terms;
