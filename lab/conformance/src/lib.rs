//! Elections as plain data, which the binding of every language plays in the same way.
//!
//! - [`scenario`]: the contents of `scenarios/`; `scenario.schema.json` describes them for other languages;
//! - [`harness`]: a program that makes faults in a store and in the network for a runner;
//! - [`runner`]: plays a scenario with candidates of the crate `incumbent`, or of another implementor of its
//!   `Implementation`.
//!
//! `README.md` explains every verb, for the authors of runners in other languages.
#![cfg(unix)]
#![deny(unsafe_code)]

pub mod harness;
pub mod runner;
pub mod scenario;
