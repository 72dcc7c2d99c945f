//! placeholder
pub mod clock;
mod error;
pub mod store;
#[cfg(feature = "testing")]
pub mod testing;

pub use error::{Error, ErrorKind, Result};
pub use incumbent_core as core;
