//! The component of world `engine`, driven by a host.

#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used, reason = "a test may panic; it says why")]

mod misuse;
mod replay;
mod support;

/// The world as bindings of this host, under the names that the crate's own conversion expects.
mod bindings {
    #![allow(unused_qualifications, clippy::all, reason = "generated")]
    wasmtime::component::bindgen!({ path: "wit", world: "engine" });

    pub(crate) mod incumbent {
        pub(crate) use super::exports::incumbent::*;
    }
}

#[allow(dead_code, reason = "the crate needs more of it")]
#[path = "../../src/translate/given.rs"]
mod given;
#[allow(dead_code, reason = "the crate needs more of it")]
#[path = "../../src/translate/told.rs"]
mod told;
#[allow(dead_code, reason = "the crate needs more of it")]
#[path = "../../src/translate/wishes.rs"]
mod wishes;

#[allow(dead_code, unreachable_pub, reason = "the crate's own, which it exports")]
#[path = "../../src/error.rs"]
mod error;

use error::{Error, ErrorKind};
