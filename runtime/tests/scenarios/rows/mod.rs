//! The rows of the fault table that stores have in common: one test a row, over the fixture of the suite that
//! includes it.
//!
//! That fixture is `crate::bench`. A `Bench` has a server, candidates on it and a proxy before it, waits until candidates
//! are known to each other, stops their processes, and deletes a leader's claim as an operator does. The module says how
//! long leases and waits are on its store. On a file that processes share, only the rows about [`processes`] apply.

mod network;
mod processes;
mod store;
