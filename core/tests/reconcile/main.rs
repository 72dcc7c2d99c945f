//! The reconciler: the exact outputs for each input, one file per part of its rules.

#![allow(clippy::expect_used, clippy::panic, reason = "a test may panic; it says why")]
#![allow(unreachable_pub, reason = "the modules of a test are no library")]

mod beginning;
mod closing;
mod contract;
mod elector;
mod ending;
mod error;
mod harness;
mod promise;
