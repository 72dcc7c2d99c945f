//! The public API, on real Kafka brokers.

#![cfg(unix)]
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "helpers of tests panic as tests do"
)]

mod beside_goneli;
mod by_url;
mod clusters;
#[path = "../../../contract/every_store.rs"]
mod every_store;
mod faults;
mod groups;
mod neli;
mod permissions;
mod process;
mod reading;
mod secured;
mod support;
mod terms;
