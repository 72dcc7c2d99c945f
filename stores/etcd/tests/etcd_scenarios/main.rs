//! Whole elections on real etcd servers, alone and together with other clients, with the faults of real systems.
//!
//! Each test names its fault, and asserts the promise of `docs/guide/what-can-go-wrong.md` for it. In each test a probe
//! constantly asks all candidates whether they lead.
#![cfg(unix)]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "helpers fail their test")]

#[allow(dead_code, reason = "the scenarios on NATS use the rest")]
#[path = "../../../scenarios/actor.rs"]
mod actor;
mod bench;
mod foreign;
#[allow(dead_code, reason = "the scenarios on NATS use the rest")]
#[path = "../../../scenarios/probe.rs"]
mod probe;
#[allow(dead_code, reason = "the scenarios on NATS use the rest")]
#[path = "../../../scenarios/process.rs"]
mod process;
#[path = "../../../scenarios/rows/mod.rs"]
mod rows;

mod access;
mod churn;
mod etcdctl;
mod go;
mod members;
mod network;
mod operator;
mod partition;
mod processes;
mod raft_terms;
mod server;
mod stranded;
