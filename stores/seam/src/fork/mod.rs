//! Detects whether this process created a handle, or was forked from the process that did.
//!
//! A child inherits the memory of its parent: the deadline of a leader, the record of a campaign. It inherits neither
//! the threads that renew the lease nor the right to use it.

mod guard;
mod own;

pub use guard::ForkGuard;
pub use own::Own;
