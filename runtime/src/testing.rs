//! For tests of programs that hold elections.

pub use crate::store::faulty::{Faults, Faulty};
