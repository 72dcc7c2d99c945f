//! Plays scenarios with candidates of the crate `incumbent`.
//!
//! It drives candidates through the public API and nothing else; what befalls the store and the network is
//! the [stage](crate::stage)'s doing. Where that has no hand (the runner's own memory, a file that has no
//! network) the runner uses the faulty store of `incumbent::testing`.

mod actor;
mod expect;
mod failure;
mod hand;
mod play;
mod rules;
mod stage;
mod time;
mod watcher;
mod witness;

pub use failure::Failure;
pub use hand::offers;
pub use play::{Setup, play};
