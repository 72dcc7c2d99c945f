//! Elections in a NATS JetStream key-value bucket.
//!
//! The client's key-value helpers are not used, because they lose essentials of an election: they answer "exists" for
//! the caller's own write whose acknowledgement was lost, drop a record's lease over a tombstone, and read from a
//! replica that may lag. Instead every write is published with the sequence it expects, and every answer is classified
//! by the server's own error code:
//!
//! | answer | outcome |
//! |---|---|
//! | acknowledgement | `Applied` |
//! | 10071, wrong last sequence | `Refused`, with the key's last sequence |
//! | 10164, a write in flight | `Busy` |
//! | 503, no connection, 10167 | `NotSent` |
//! | bucket full or gone, lease times refused, a permission missing | `Failed` |
//! | a broken connection, a duplicate, anything else | `Unknown` |
//!
//! A record is a message under `$KV.BUCKET.KEY`: the value is the candidate's name, everything else
//! travels in headers. A release is a `KV-Operation: PURGE` without a rollup.

mod adapter;
mod admin;
mod candidates;
/// Settings of a NATS store: the URL, NATS contexts, credentials and the names that a bucket can hold.
mod config {
    pub(super) mod authority;
    pub(super) mod context;
    pub(super) mod credentials;
    pub(super) mod names;
    pub(super) mod settings;
    pub(super) mod url;
}
mod connection;
mod doctor;
#[rustfmt::skip]
mod refusals;
#[cfg(feature = "fuzzing")]
#[doc(hidden)]
pub mod fuzzing;
mod store;
mod watching;
/// Requests, answers and messages in JetStream's formats, and their meaning.
mod wire {
    pub(super) mod api;
    pub(super) mod bucket;
    pub(super) mod follow;
    pub(super) mod message;
    pub(super) mod outcome;
    pub(super) mod stream;
}

pub use self::adapter::Nats;
pub use self::admin::init::init;
pub use self::admin::permissions::{Permissions, Role, permissions};
pub use self::admin::safety::Flaw;
pub use self::admin::survey::{ClockDifference, Holder, Survey, survey};
pub use self::config::settings::NatsSettings;
pub use self::connection::event::{Action, ConnectionEvent};
pub use incumbent_store::{Difference, InitOptions, InitReport};
