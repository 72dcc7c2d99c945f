//! What the bindings of several languages share.
//!
//! A binding translates types, errors, cancellation and threads, and nothing else; this crate gives it
//! what is awkward to reach from a language that is not Rust, and knows no such language itself.
//!
//! ```text
//!   Python, Node, Swift          take(), wait(), tell(wake)
//! ──────▲───────────────────────────────────────────────────
//!       │ wakes: on the teller's own thread, or on that of the news if they only leave a message; or letters in
//!       │ the [Mailbox] of an event loop
//!   [Operation] one answer      [Feed] many, in order
//!       ▲                          ▲
//!   engine's tokio runtime      a queue of the runtime's, bounded
//! ──────┴──────────────────────────┴────────────────────────
//!   crate incumbent: Store, Candidate, Term, Observer
//! ```
//!
//! - The [engine] is made by the first call that needs it, never before, and once in every process: a forked
//!   child that opens a store of its own has an engine of its own.
//! - A handle that was made before a fork answers that it does not lead, and fails with
//!   [`Code::Forked`]; dropping it touches nothing of the parent's.
//! - Everything that takes time is an [`Operation`], everything that comes again and again a [`Feed`]. Both are
//!   asked without waiting ([`take`](Operation::take)), waited for on the caller's thread
//!   ([`wait`](Operation::wait)), or announced by a [`Wake`] or a letter in a [`Mailbox`].
//! - Every error has a [`Code`], one list for all languages.
//! - Settings come as plain [maps](settings), and are refused with the field's name and what it accepts.

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
