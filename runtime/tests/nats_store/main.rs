//! The NATS adapter against real servers.
#![cfg(all(unix, feature = "nats"))]

mod credentials;
mod faults;
mod init;
mod inspection;
mod opening;
mod records;
mod support;
mod versions;
mod watching;
mod writes;
