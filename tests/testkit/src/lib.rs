//! Real servers and real faults, for the project's own tests.
//!
//! - [`nats`]: one nats-server or a cluster of three, with JetStream in a temporary folder;
//! - [`etcd`]: one etcd member or a cluster of three;
//! - [`certificates`]: an authority, and certificates that it signed, for servers and clients with TLS;
//! - [`kafka`]: one Kafka broker or a cluster of three, and an operator's actions;
//! - [`redis`], [`postgres`], [`zookeeper`]: servers whose locks are compared with elections;
//! - [`proxy`]: a TCP proxy that cuts, holds and delays what passes through it;
//! - [`process`]: children that cannot outlive their test, and the signals that stop them; [`quota`]: limits a child to
//!   a share of a core;
//! - [`wait`]: waiting for a condition, with a limit, instead of sleeping;
//! - [`json`]: children that print JSON, a line at a time;
//! - [`go`]: candidates, a watcher and single writes on the official Go client, from `tests/interop/go`;
//! - [`tools`]: the paths of the servers' programs;
//! - [`figure`]: the figures that a benchmark prints, and [`drawn`]: the times that it draws.
//!
//! It knows neither the core nor the runtime, so it cannot share their mistakes. Everything but [`wait::until_async`]
//! blocks the calling thread. No function needs a tokio runtime of the caller's, and all may be called from inside one.
//! A failure fails the test: the functions panic with the reason, unless they return a `Result`.
//!
//! Unix only: pausing a process means `SIGSTOP`.
#![cfg(unix)]
#![allow(clippy::panic, reason = "a test kit fails the test")]

pub mod certificates;
pub mod drawn;
pub mod etcd;
pub mod figure;
pub mod go;
pub mod json;
pub mod kafka;
pub mod nats;
pub mod port;
pub mod postgres;
pub mod process;
pub mod proxy;
pub mod quota;
pub mod redis;
pub mod tools;
pub mod wait;
pub mod zookeeper;
