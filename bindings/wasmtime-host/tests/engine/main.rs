//! The component of world `engine`, driven by a host.

#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used, reason = "a test may panic; it says why")]

#[path = "../shared/compiled.rs"]
mod compiled;
mod misuse;
mod replay;
mod support;

use incumbent::incumbent_core;

/// The world as bindings of this host.
mod bindings {
    #![allow(unused_qualifications, clippy::all, reason = "generated")]
    wasmtime::component::bindgen!({ path: "wit", world: "engine" });
}

/// The types of the world, under the names that the conversions and the settings expect.
mod wit {
    pub(crate) use super::bindings::exports::incumbent::election::{
        candidates, events, records, settings, stores, types,
    };
}

#[path = "../../src/convert.rs"]
mod convert;
#[path = "../../../wasm-guest/src/engine/machine.rs"]
mod machine;
#[path = "../../examples/worker/src/settings.rs"]
mod settings;
