//! Leader election as WebAssembly components: the guest for the worlds in `wit/`.
//!
//! One module for each world, behind a feature of the same name, so that a component has exactly one world:
//!
//! - `engine`: [`incumbent_core::campaign::Campaign`] itself. It imports nothing.
//! - `campaigner`: the same, driven on a store, a clock and random numbers that the host provides.
//!
//! No rule of an election is here. `map`, which both worlds share, converts between the types of `wit/` and the core's;
//! `campaigner` is the loop around the core.
//!
//! `cargo xtask package component` builds both and writes them to `target/components`.

#![allow(clippy::duplicate_mod, reason = "`map` once for each world, whose types are its own")]

#[cfg(feature = "campaigner")]
mod campaigner;
#[cfg(feature = "engine")]
mod engine;
