//! Leader election for components in Wasmtime.
//!
//! A component that takes part in an election imports a key-value store, a clock and random numbers from its host. This
//! crate provides all three, on any store that the crate [`incumbent`] opens: NATS JetStream, SQLite or memory.
//!
//! - [`Campaigner`] runs the campaign itself, in the component `incumbent-campaigner.wasm`, on tokio. It gives the
//!   program a [`Candidate`] as a handle.
//! - [`add_to_linker`] provides the imports to an application of your own that was composed with the campaigner.
//!
//! A guest cannot stall its host: every call to a store has a limit, and a guest that computes for too long is stopped
//! ([`Limits`]). The rules of an election are in the component; this crate has none.

#![forbid(unsafe_code)]

mod bucket;
mod campaigner;
mod candidate;
mod convert;
mod error;
mod host;
mod provide;
mod watch;

use incumbent::incumbent_core;

/// The worlds of `wit/`, generated for Wasmtime.
mod bindings {
    #![allow(missing_docs, unused_qualifications, clippy::all, reason = "generated")]

    wasmtime::component::bindgen!({
        path: "wit",
        world: "campaigner",
        imports: { default: async | trappable },
        exports: { default: async },
        with: {
            "incumbent:election/kv.bucket": crate::bucket::Bucket,
            "incumbent:election/kv.watch": crate::watch::Watch,
        },
    });
}

/// The types of `wit/`, under the names that `convert` expects.
mod wit {
    pub(crate) use crate::bindings::incumbent::election::{events, records, settings, stores, types};
}

pub use campaigner::Campaigner;
pub use candidate::Candidate;
pub use error::{Error, ErrorKind, Result};
pub use host::{Bounded, Computed, Host, Limits, interruptible};
/// What a campaign takes, and what it reports.
pub use incumbent_core::campaign::{Event, Settings};
pub use provide::{Provides, Provision, Stores, add_to_linker};

/// Compiles the programs of the guide and of the README.
#[cfg(doctest)]
mod pages {
    #[doc = include_str!("../../../docs/guide/wasm-hosts.md")]
    struct Guide;

    #[doc = include_str!("../README.md")]
    struct Readme;
}
