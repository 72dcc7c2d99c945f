//! The part that the bindings of all languages share.
//!
//! A binding only translates types, errors, cancellation and threads. This crate provides what is awkward to do outside
//! of Rust, and depends on no other language.
//!
//! ```text
//!   Python, Node, Swift          take(), wait(), tell(wake)
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
//! - A handle that was made before a fork reports that it does not lead, and fails with [`Code::Forked`]. Dropping it
//!   touches nothing of the parent's.
//! - Whatever takes time is an [`Operation`], and a stream of items a [`Feed`]. A caller polls them without waiting
//!   ([`take`](Operation::take)), waits on its own thread ([`wait`](Operation::wait)), or is notified by a [`Wake`] or
//!   a message in a [`Mailbox`].
//! - Wakes are called on one thread, the wake thread.
//! - Every error has a [`Code`], from one list for all languages.
//! - Settings are plain [maps](settings). An error about one gives the field's name and what the field accepts.

#![deny(unsafe_code)]

mod bell;
mod candidate;
pub mod engine;
mod error;
mod event;
mod exit;
mod feed;
mod health;
mod here;
pub mod log;
mod mailbox;
mod observer;
mod operation;
pub mod settings;
mod store;
mod teller;
mod term;
pub mod testing;

pub use candidate::Candidate;
pub use error::{Code, Error, Result};
pub use event::{Event, EventKind, Leader, Warning};
pub use exit::shut_down;
pub use feed::{Feed, Taken};
pub use health::Question;
pub use incumbent::{Pulse, Reason, State, Token};
pub use mailbox::Mailbox;
pub use observer::Observed;
pub use operation::Operation;
pub use store::{ElectionInfo, Store};
pub use teller::{Wake, pulse};
pub use term::{Hold, Term};
