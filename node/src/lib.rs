//! The compiled part of the npm package `incumbent`: handles, and nothing that feels like JavaScript. That is
//! written in TypeScript, on top.
//!
//! A call returns at once, always: what takes time is an operation, what comes again and again a feed, and both
//! ring a [bell](bell::Bell) of the event loop that asked. No user code runs where a lease is renewed.

#![deny(unsafe_code)]
// What is public is so for JavaScript, and described by the type definitions made of it.
#![allow(unreachable_pub, missing_docs)]
// Nothing is registered with Node where this is built as a test, which `--all-targets` does.
#![cfg_attr(test, allow(dead_code))]

mod bell;
mod candidate;
mod feed;
mod log;
mod module;
mod operation;
mod outcome;
mod store;
mod term;
mod testing;
mod value;
