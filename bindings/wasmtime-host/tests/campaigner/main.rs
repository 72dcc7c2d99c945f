//! The component of world `campaigner`, in this crate's host and in hostile ones.

#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used, reason = "a test may panic; it says why")]

#[path = "../shared/compiled.rs"]
mod compiled;
mod elections;
mod hostile;
mod limits;
#[path = "../../examples/worker/src/settings.rs"]
mod settings;
mod support;

/// The types of the world, under the names that the settings expect.
mod wit {
    pub(crate) use super::bindings::incumbent::election::{events, records, settings, stores, types};
}

/// The world as bindings of another host.
mod bindings {
    #![allow(unused_qualifications, clippy::all, reason = "generated")]
    wasmtime::component::bindgen!({
        path: "wit",
        world: "campaigner",
        with: {
            "incumbent:election/kv.bucket": crate::support::Nothing,
            "incumbent:election/kv.watch": crate::support::Nothing,
        },
    });
}
