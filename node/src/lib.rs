//! The compiled part of the npm package `incumbent`: handles only. The TypeScript code on top of it provides the idioms
//! of the language.
//!
//! Every call returns at once: whatever takes time is an operation, and a stream of items a feed. Both notify
//! the calling event loop through its [`Notifier`](notifier::Notifier). No application code runs where a lease is
//! renewed.

#![deny(unsafe_code)]
// Public items are public for JavaScript; the generated type definitions describe them.
#![allow(unreachable_pub, missing_docs)]
// A build as a test, as with `--all-targets`, registers nothing with Node.
#![cfg_attr(test, allow(dead_code))]

mod candidate;
mod feed;
mod log;
mod module;
mod notifier;
mod operation;
mod store;
mod term;
mod testing;
mod value;
