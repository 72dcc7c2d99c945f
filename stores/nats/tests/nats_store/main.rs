//! The NATS adapter against real servers.
#![cfg(unix)]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "helpers fail their test")]

mod candidates;
mod cluster;
mod credentials;
mod faults;
mod init;
mod inspection;
mod opening;
mod records;
mod routes;
mod support;
mod tls;
mod versions;
mod watching;
mod writes;
