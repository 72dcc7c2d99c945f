//! The rules of a leader election, as pure state machines.
//!
//! Several processes want to do a job that exactly one of them may do at a time. Each becomes a
//! *candidate* in an *election*; one becomes the *leader* for a *term*; when it resigns, crashes,
//! hangs or is cut off, another takes over, and the two never overlap. This crate decides who
//! leads and when. The crate `incumbent` attaches it to real systems; most people want that one.
//!
//! # What it does not do
//!
//! No I/O, no clock, no threads, no global randomness, no `std`. A [`campaign::Campaign`] does
//! not connect, does not wait and does not know what time it is: its caller says so. That makes it
//! the same in a tokio task, in a WebAssembly host and in a simulator that runs a year in a minute,
//! and lets a test state the exact outputs for each input.
//!
//! # The contract, in one sentence
//!
//! Give [`handle`](campaign::Campaign::handle) what happened and when, then carry out what
//! [`poll`](campaign::Campaign::poll) returns until it is [`WakeAt`](campaign::Output::WakeAt),
//! which means: nothing more until an input, or that instant.
//!
//! ```
//! use core::time::Duration;
//! use incumbent_core::campaign::{Campaign, Event, Input, Output, Settings};
//! use incumbent_core::record::{Entry, Nonce};
//! use incumbent_core::store::{Capabilities, StoreInfo, Outcome};
//! use incumbent_core::{Incarnation, Instant, Revision};
//!
//! let store = Capabilities {
//!     own_lease: true,
//!     lease_step: Duration::from_millis(1),
//!     shortest: Duration::from_millis(100),
//!     longest: Duration::from_secs(3600),
//!     granularity: Duration::ZERO,
//!     expiry_pushed: true,
//!     incarnation_acked: true,
//!     fail_over: Duration::ZERO,
//! };
//! let now = Instant::from_nanos(0);
//! let info = StoreInfo {
//!     asked_at: now,
//!     incarnation: Incarnation(7),
//!     age: None,
//!     never_used: true,
//!     max_age: None,
//!     newest: None,
//! };
//! let mut settings = Settings::new("worker-7");
//! settings.splay = Some(Duration::ZERO);
//! let mut campaign = Campaign::new(settings, store, &info, Nonce(0xfeed), 42, now)?;
//!
//! // It wants to know who leads; nobody does.
//! campaign.handle(now, Input::Campaign)?;
//! let Output::Read(read) = campaign.poll() else { panic!() };
//! campaign.handle(now, Input::Read { read, result: Ok(Entry::Vacant) })?;
//!
//! // So it tries to take the seat, and the store applies the write.
//! let write = loop {
//!     match campaign.poll() {
//!         Output::Write(write) => break write,
//!         Output::WakeAt(_) => panic!(),
//!         _ => {}
//!     }
//! };
//! let outcome = Outcome::Applied { revision: Revision(1), incarnation: Some(Incarnation(7)) };
//! campaign.handle(now, Input::Wrote { attempt: write.attempt, outcome })?;
//!
//! // It leads, until its deadline or until it renews.
//! assert!(campaign.is_leader(now));
//! assert!(!campaign.is_leader(now + Duration::from_secs(14)));
//! # Ok::<(), Box<dyn core::error::Error>>(())
//! ```
//!
//! # Where to read on
//!
//! [`campaign`] has the states and why it is safe. [`reconcile`] keeps a user's handlers in line with it. [`store`] says what a store must be able to answer, and
//! what each answer proves. [`record`] is what is written down, byte by byte.

#![no_std]
#![cfg_attr(docsrs, feature(doc_cfg))]
#![forbid(unsafe_code)]

extern crate alloc;

pub mod campaign;
pub mod reconcile;
pub mod record;
pub mod store;
mod time;
mod token;

pub use time::Instant;
pub use token::{Incarnation, ParseTokenError, Revision, Token};

/// The example of the README, so that it runs.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
