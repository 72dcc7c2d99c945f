//! Conversion between the types of `wit/` and the core's.
//!
//! Compiled once for each world; its types are in `super::wit`. Nothing here can fail: the core accepts every value
//! that a host can pass in, and itself refuses incoherent ones.

mod given;
mod told;

pub(super) use given::*;
pub(super) use told::*;
