//! Leader election as WebAssembly components: the guest for the worlds in `wit/`.
//!
//! One module a world, each behind a feature of its name, so that a component has one world and no more:
//!
//! - `engine`: [`incumbent_core::campaign::Campaign`] as it is. It imports nothing.
//! - `campaigner`: the same, driven on a store, a clock and random numbers that the host provides.
//!
//! No rule of an election is here. `map`, which both worlds share, says the types of `wit/` in the core's words and
//! the other way round; `campaigner` is the loop around the core.
//!
//! `cargo xtask package component` builds both and writes them to `target/components`.

#![allow(clippy::duplicate_mod, reason = "`map` once for each world, whose types are its own")]

#[cfg(feature = "campaigner")]
mod campaigner;
#[cfg(feature = "engine")]
mod engine;
