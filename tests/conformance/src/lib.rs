//! Elections as plain data, which every language's binding plays alike.
//!
//! - [`scenario`]: what is in the files of `scenarios/`; `scenario.schema.json` says it for other languages;
//! - [`stage`]: the hand that a runner has on a store and on the network, as a program of its own;
//! - [`runner`]: plays a scenario with candidates of the crate `incumbent`, or of whoever implements its `Troupe`.
//!
//! `README.md` says what every verb means, for whoever writes a runner in another language.
#![cfg(unix)]
#![deny(unsafe_code)]

pub mod runner;
pub mod scenario;
pub mod stage;
