//! Whole elections on real NATS servers, with the faults of real systems.
//!
//! Each test names its fault, and asserts the promise of `docs/guide/what-can-go-wrong.md` for it. In each test a probe
//! constantly asks all candidates whether they lead. [`wire`] has no fault: it counts messages.
#![cfg(unix)]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "helpers fail their test")]

#[path = "../../../scenarios/actor.rs"]
mod actor;
mod bench;
#[path = "../../../scenarios/probe.rs"]
mod probe;
#[path = "../../../scenarios/process.rs"]
mod process;
#[path = "../../../scenarios/rows/mod.rs"]
mod rows;

mod bucket;
mod churn;
mod cluster;
mod limits;
mod network;
mod operator;
mod orphans;
mod permissions;
mod processes;
mod wire;
