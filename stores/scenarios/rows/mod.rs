//! The rows of the fault table that stores have in common: one test per row, over the fixture of the suite that
//! includes it.
//!
//! That fixture is `crate::bench`. A `Bench` has a server, candidates on it and a proxy in front of it, waits until
//! candidates know each other, stops their processes, and deletes a leader's claim like an operator. The module defines
//! how long leases and waits are on its store. On a file that processes share, only the rows about [`processes`] apply.

mod network;
mod processes;
mod store;

use crate::actor::{Actor, Won};
use crate::bench::Bench;
use crate::probe::Probe;

/// Waits until `a` leads and another candidate waits. Returns both candidates, the win, and a probe of both.
async fn with_another(bench: &Bench, a: Actor) -> (Actor, Actor, Won, Probe) {
    let first = a.won(1).await;
    let b = bench.join("b").await;
    b.observes("a").await;
    bench.await_joined(&["a", "b"]);
    let probe = Probe::of(&[&a, &b]);
    (a, b, first, probe)
}
