//! World `campaigner`: the whole campaign, on a store, clock and random numbers of the host.
//!
//! ```text
//!   candidate ─── the exports: one cell for each candidate
//!      │
//!   driver ────── a session of the core with one campaign, and the requests that it asked for
//!      │          (incumbent-core decides everything)
//!   imports ───── the host's store, clock and random numbers
//! ```
//!
//! # Calls that block
//!
//! Each function of the host may block the instance up to its time limit, and nothing else runs meanwhile. So a step
//! makes at most one such call. Its limit never passes the deadline of a leader, and writes go first: a renewal waits
//! for at most one call that has begun. The session reads the clock when it emits the write, before the call, so the
//! wait shortens the lease and never extends it.

mod candidate;
mod driver;
mod imports;
#[rustfmt::skip]
mod refusals;

#[allow(missing_docs, unsafe_code, unused_qualifications, clippy::all, reason = "generated")]
mod bindings {
    wit_bindgen::generate!({ world: "campaigner", path: "../../wit" });
}

/// The types of the world, under the names that `convert` expects.
mod wit {
    pub(super) use super::bindings::incumbent::election::{events, records, settings, stores, types};
}

use ::incumbent_core;

#[path = "../../../wasmtime-host/src/convert.rs"]
mod convert;

struct Campaigner;

impl bindings::exports::incumbent::election::elections::Guest for Campaigner {
    type Candidate = candidate::Candidate;
}

bindings::export!(Campaigner with_types_in bindings);
