//! The part that the bindings of all languages share.
//!
//! A binding only translates types, errors, cancellation and threads. This crate provides what is awkward to do outside
//! of Rust, and depends on no other language.
//!
//! ```text
//!   Python, Node, Swift          take(), ready().wait(), ready().wake(…)
//! ──────▲───────────────────────────────────────────────────
//!       │ wakes: on the wake thread, or on the notifying thread if they only leave a message; or messages in
//!       │ the [Mailbox] of an event loop
//!   [Operation] one answer      [Feed] many, in order
//!       ▲                          ▲
//!   engine's tokio runtime      a queue of the runtime's, bounded
//! ──────┴──────────────────────────┴────────────────────────
//!   crate incumbent: Store, Candidate, Term, Observer
//! ```
//!
//! - The [engine] is created by the first call that needs it, once in each process. A forked child that opens a store
//!   gets an engine of its own.
//! - A handle that was made before a fork reports that it does not lead, and fails with [`ErrorKind::Forked`]. Dropping
//!   it touches nothing of the parent's.
//! - Whatever takes time is an [`Operation`], and a stream of items a [`Feed`]. A caller polls them without waiting
//!   ([`take`](Operation::take)), waits on its own thread ([`Ready::wait`]), or is notified by a [`Wake`] or a message
//!   in a [`Mailbox`].
//! - Values are the runtime's own, such as [`Event`] and [`Leader`]; only a binding translates them.
//! - Wakes are called on one thread, the wake thread.
//! - Every error has a [`Code`], from one list for all languages.
//! - Settings are plain [maps](settings). An error about one gives the field's name and what the field accepts.

#![deny(unsafe_code)]

mod candidate;
pub mod engine;
mod error;
mod feed;
pub mod log;
mod mailbox;
mod operation;
mod ready;
pub mod settings;
mod store;
mod term;
pub mod testing;
mod wake_thread;

pub use candidate::{Candidate, Leave, Question};
pub use engine::{retire, shut_down};
pub use error::{Code, Error, Result};
pub use feed::{Feed, NextItem};
pub use incumbent::store::{BUILT_IN, CandidateInfo, Difference, InitReport};
pub use incumbent::{
    ElectionInfo, ErrorKind, Event, Leader, LoopProbe, Observation, Reason, State, Token, Warning,
};
pub use mailbox::Mailbox;
pub use operation::Operation;
pub use ready::Ready;
pub use store::{Store, init};
pub use term::{Hold, Term};
pub use wake_thread::{Wake, loop_probe};
