//! World `campaigner`: the whole campaign, on what the host provides.
//!
//! ```text
//!   election ─── what is exported; one cell a campaign
//!      │
//!   campaign ── entering: until the store has answered for the first time
//!      │    └── racing: the core, its questions in a row, one answered a step
//!      │
//!   store, watching, clock ── what is imported
//! ```
//!
//! # Calls that block
//!
//! Every function of the host's may keep the instance waiting until its time limit, and nothing else runs meanwhile.
//! So a step makes one such call at most, its limit never passes the deadline of a leader, and writes go before
//! everything else: a renewal waits for one call that is under way, and for no more. The clock is read before a call, by
//! the core when it hands the write out, so what the wait costs is taken from the lease and never added to it.

mod candidate;
mod clock;
mod entering;
mod racing;
mod stage;
mod store;
mod watching;

#[allow(missing_docs, unsafe_code, unused_qualifications, clippy::all, reason = "generated")]
mod bindings {
    wit_bindgen::generate!({ world: "campaigner", path: "../../wit" });
}

/// The types of the world, as `map` knows them.
mod wit {
    pub(super) use super::bindings::incumbent::election::{events, records, settings, stores, types};
}

#[path = "../map/mod.rs"]
mod map;

struct Campaigner;

impl bindings::exports::incumbent::election::elections::Guest for Campaigner {
    type Candidate = candidate::Candidate;
}

bindings::export!(Campaigner with_types_in bindings);
