//! Leader election on the infrastructure you already run.
//!
//! At most one candidate of an election leads at any time. A leader holds a lease that it renews, knows by the clock
//! until when it leads, and stops by then, whatever happens to the network, to the store or to its own process. Every
//! term has a [fencing token](Token) by which a resource can refuse an earlier leader.
//!
//! ```
//! use incumbent::{CampaignOptions, Store};
//!
//! # #[tokio::main(flavor = "current_thread")] async fn main() -> incumbent::Result<()> {
//! let store = Store::open("memory:").await?;
//! let candidate = store.campaign("jobs", CampaignOptions::new()).await?;
//!
//! candidate
//!     .lead(async |term| {
//!         println!("leading with token {}", term.token());
//!         // … work that is dropped the moment the term ends …
//! #       candidate.close().await
//!     })
//!     .await?;
//! # store.close().await }
//! ```
//!
//! - [`Store`] is a system that arbitrates between candidates, opened by URL.
//! - [`Candidate`] takes part in an election: check [whether it leads](Candidate::is_leader), wait for a
//!   [`Term`], do [work that lasts as long as a term](Candidate::lead), read its
//!   [events](Candidate::events) or [attach handlers](Candidate::attach).
//! - [`Observer`] watches an election without taking part.
//!
//! The rules of an election are in [`core`], which does no I/O and reads no clock; this crate provides a store, a clock
//! and a thread.

#![deny(unsafe_code)]
#![cfg_attr(docsrs, feature(doc_cfg))]

mod candidate;
mod candidate_state;
mod driver;
mod event;
#[cfg(all(feature = "fuzzing", feature = "nats"))]
#[doc(hidden)]
pub mod fuzzing {
    pub use incumbent_nats::fuzzing::{
        answer, candidate_answers, candidates, context, decode, encode, stream,
    };
}
mod handlers;
mod health;
mod lazy_token;
mod lead;
mod leave;
mod observation;
mod observe;
mod open;
mod options;
mod queue;
pub mod store;
mod term;
#[cfg(feature = "testing")]
pub mod testing;

pub use candidate::Candidate;
pub use event::{Event, Events};
pub use handlers::Handlers;
#[doc(hidden)]
pub use handlers::message as panic_message;
pub use health::LoopProbe;
pub use incumbent_core;
pub use incumbent_core::campaign::{Forecast, Leader, Preset, Reason, State, Warning, WinDelay};
pub use incumbent_core::candidacy::{Obstacle, Step, Steps};
pub use incumbent_core::text;
pub use incumbent_core::{Instant, Token};
pub use incumbent_store::notifier::WriteEvent;
pub use incumbent_store::{Clock, Error, ErrorKind, Result, clock, fork};
pub use lead::WorkResult;
pub use leave::LeaveRequest;
pub use observation::Observation;
pub use observe::Observer;
pub use open::{ElectionInfo, Store, StoreBuilder};
pub use options::CampaignOptions;
#[doc(hidden)]
pub use options::host;
pub use term::{Term, TermEnded, TermView};

/// Runs the examples of the README.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
