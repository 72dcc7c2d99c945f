//! Leader election as WebAssembly components: the guest for the worlds in `wit/`.
//!
//! One module for each world, behind a feature of the same name, so that a component has exactly one world:
//!
//! - `engine`: [`incumbent_core::campaign::Campaign`] itself. It imports nothing.
//! - `campaigner`: [`incumbent_core::session::Session`] with one campaign, driven on a store, a clock and random
//!   numbers that the host provides.
//!
//! It holds no rule of an election. `convert`, which both worlds share with the host's crate, converts between the
//! types of `wit/` and the core's.
//!
//! `cargo xtask package component` builds both and writes them to `target/components`.

#![allow(clippy::duplicate_mod, reason = "`convert` once for each world, whose types are its own")]

#[cfg(feature = "campaigner")]
mod campaigner;
#[cfg(feature = "engine")]
mod engine;
