//! Makes components of core modules, composes them, and lists their imports and exports.
//!
//! A crate apart from `xtask`, because its dependencies are large and `xtask` has to build in seconds.

mod look;
mod make;

pub use look::{Names, is_of_world};
pub use make::{componentise, plug};
