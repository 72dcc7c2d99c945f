//! The seam between the driver of `incumbent` and the stores.
//!
//! A store is a crate. Its settings implement [`Settings`], which opens it. A store whose candidates write one record in
//! turn implements [`Adapter`], and [`RecordLink`] makes a link of it; one with a rule of its own implements
//! [`Link`](link::Link). What stores share is here: errors, the clock, the detection of forks, the parts of URLs, the
//! operator's requests.
//!
//! Programs use the crate `incumbent`, which has what they need of this one.

#![deny(unsafe_code)]
#![cfg_attr(docsrs, feature(doc_cfg))]

mod adapter;
pub mod authority;
mod boxed;
pub mod clock;
pub mod credentials;
mod error;
mod examination;
pub mod fork;
mod init;
pub mod link;
pub mod local;
pub mod notifier;
mod permissions;
pub mod query;
mod record_link;
#[rustfmt::skip]
pub mod refusals;
pub mod registry;
pub mod request;
pub mod selectors;
pub mod settings;
pub mod shown;
pub mod threads;

pub use adapter::{Adapter, EntryInfo, StoreAdmin, WatchEvent, Watched};
pub use clock::Clock;
pub use error::{Error, ErrorKind, Result};
pub use examination::{Basis, Examination, Finding, Setting, Severity};
pub use incumbent_core::text;
pub use init::{Difference, InitOptions, InitReport};
pub use permissions::{Permissions, Role};
pub use query::duration;
pub use record_link::RecordLink;
pub use registry::{CandidateInfo, Registry};
pub use request::{AcceptReset, HandOver};
pub use settings::Settings;
