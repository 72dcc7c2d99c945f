//! placeholder
pub mod clock;
mod error;
pub mod store;

pub use error::{Error, ErrorKind, Result};
pub use incumbent_core as core;
