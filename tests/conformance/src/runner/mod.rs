//! Plays scenarios with candidates in this process: those of the crate `incumbent`, or of another [`Troupe`].
//!
//! It drives candidates through the public API and nothing else; what befalls the store and the network is
//! the [stage](crate::stage)'s doing. Where that has no hand (the runner's own memory, a file that has no
//! network) the runner uses the faulty store of `incumbent::testing`.

mod actor;
mod expect;
mod failure;
mod hand;
mod library;
mod play;
mod rules;
mod stage;
mod suite;
mod time;
mod troupe;
mod watcher;
mod witness;

pub use failure::Failure;
pub use hand::offers;
pub use library::Library;
pub use play::{Setup, play};
pub use suite::run;
pub use troupe::{Call, Opened, Pending, Player, Refused, Told, Troupe};
