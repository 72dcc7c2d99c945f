//! Makes components of core modules, plugs one into another, and looks into them.
//!
//! Kept apart from the project's chores, which build in seconds, because of what it depends on.

mod look;
mod make;

pub use look::{Names, is_of_world};
pub use make::{componentise, plug};
