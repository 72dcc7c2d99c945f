//! Our candidates and candidates on the official Go client share elections.
//!
//! The Go side consists of the programs of `lab/interop/go`. `cargo xtask tools` builds them; if they are missing,
//! every test here fails with a message about that.

#![allow(missing_docs, clippy::unwrap_used, clippy::panic, reason = "a test fails")]

mod candidate;
mod churn;
mod contender;
mod history;
mod thirty_seconds;
mod wire;
