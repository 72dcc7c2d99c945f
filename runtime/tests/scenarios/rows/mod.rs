//! The rows of the fault table that stores have in common: one test a row, over the fixture of the suite that
//! includes it.
//!
//! That fixture is `crate::bench`. A `Bench` has a server, candidates on it and a proxy before it, waits until candidates
//! are known to each other, and deletes a candidate's claim as an operator does. The module says how long leases and
//! waits are on its store.

mod network;
mod processes;
mod store;
