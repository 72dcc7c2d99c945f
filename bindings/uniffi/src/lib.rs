//! The raw bindings that the libraries for Kotlin and Swift wrap, by [uniffi](https://mozilla.github.io/uniffi-rs).
//!
//! Nothing is decided here: each object wraps an object of `incumbent-ffi`, and each value is declared once for every
//! language that uniffi knows. The libraries under `bindings/kotlin` and `bindings/swift` give them the form that their
//! users expect.
//!
//! - Whatever takes time is an object of [`pending`], with an answer to await and a cancel: a language's cancellation
//!   does not reach a future of Rust's by itself.
//! - Events, observations and health questions are pulled, one at a time: a callback into the language would run on the
//!   thread that renews leases.
//! - What is read at every turn of a loop is also a plain C function, in [`readings`].

pub mod candidate;
pub mod log;
pub mod pending;
pub mod readings;
pub mod store;
pub mod term;
pub mod testing;
pub mod value;

uniffi::setup_scaffolding!("incumbent");
