//! The types of `wit/` and the core's, each in the other's words.
//!
//! Compiled once for each world, whose types it finds in `super::wit`. Nothing here can fail: every value that a host
//! can hand in means something to the core, which refuses what is incoherent.

mod given;
mod told;

pub(super) use given::*;
pub(super) use told::*;
