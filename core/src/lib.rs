#![no_std]
#![forbid(unsafe_code)]
#![doc = "placeholder"]

extern crate alloc;

pub mod campaign;
pub mod record;
pub mod store;
mod time;
mod token;

pub use time::Instant;
pub use token::{Incarnation, NotAToken, Revision, Token};
