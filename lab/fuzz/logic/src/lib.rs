//! The fuzz targets, and the rules that they check.
//!
//! Each target is a function of bytes that panics if something is wrong. Three callers share them: libFuzzer
//! (`lab/fuzz/fuzz_targets`, one line each); the tests here, which run the committed corpora and a fixed number of
//! mutations of them; and the core's own random test, which draws random numbers instead of reading bytes.
//!
//! - [`campaign`]: one real campaign with random inputs; the invariants are checked after every step;
//! - `secrets`: stores by URL, and the `nats` tool's context files; no secret is ever shown;
//! - `selectors`: texts that look the same as a URL or a key never silently select two elections;
//! - `records`: records as messages, and servers' answers.

#![allow(clippy::panic, clippy::expect_used, reason = "a target panics where something is wrong")]

pub mod archive;
pub mod campaign;
pub mod choices;
pub mod corpus;
#[cfg(feature = "stores")]
pub mod records;
#[cfg(feature = "stores")]
pub mod secrets;
#[cfg(feature = "stores")]
pub mod selectors;
