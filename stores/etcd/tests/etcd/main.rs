//! The public API, on real etcd servers.

#![cfg(unix)]
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "helpers of tests panic as tests do"
)]

mod by_url;
#[path = "../../../contract/every_store.rs"]
mod every_store;
mod faults;
mod leaving;
mod operator;
mod prefixes;
mod queries;
mod settings;
mod support;
mod terms;
