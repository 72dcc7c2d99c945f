//! The lease campaign over a key-value store.

mod backoff;
mod event;
mod io;
mod settings;
mod timers;

pub use backoff::Backoff;
pub use event::{Event, Leader, Lease, Reason, State, Term, Trouble};
pub use io::{Input, Misuse, Output, ReadId, Wake};
pub use settings::{Preset, Refused, Settings, WinDelay};
pub use timers::Timer;
