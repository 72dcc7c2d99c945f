//! The fuzz targets, and the rules that they check.
//!
//! Each target is a function of bytes that panics where something is wrong. Three callers share them:
//! libFuzzer (`tests/fuzz/fuzz_targets`, a line each), the tests here, which go through the committed corpora
//! and a fixed number of mutations of them, and the core's own random test, which draws random numbers where
//! the others read bytes.
//!
//! - [`campaign`]: one real campaign with random inputs; the invariants are checked after every step;
//! - `urls`: stores by URL; no secret is ever shown;
//! - `contexts`: the `nats` tool's context files, the same;
//! - `records`: records as messages, and servers' answers.

#![allow(clippy::panic, clippy::expect_used, reason = "a target panics where something is wrong")]

pub mod campaign;
pub mod choices;
#[cfg(feature = "stores")]
pub mod contexts;
pub mod corpus;
pub mod mutate;
#[cfg(feature = "stores")]
pub mod records;
#[cfg(feature = "stores")]
mod secret;
#[cfg(feature = "stores")]
pub mod urls;
