//! What is fuzzed, and what must hold.
//!
//! Each target is a function of bytes that panics where something is wrong. Three callers share them:
//! libFuzzer (`tests/fuzz/fuzz_targets`, a line each), the tests here, which go through the committed corpora
//! and a number of mutations of them that is the same every time, and the core's own random test, which
//! throws dice where the others read bytes.
//!
//! - [`campaign`]: one real campaign that is told nonsense; what must hold, holds after every step;
//! - `urls`: stores by URL; no secret is ever shown;
//! - `contexts`: the `nats` tool's context files, the same;
//! - `records`: records as messages, and what servers answer.

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
