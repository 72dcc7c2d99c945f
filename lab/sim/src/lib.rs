//! Runs the real rules of an election, with many candidates, on a simulated store, network and clocks, under faults
//! drawn from a seed, and checks the promises after every step.
//!
//! It has no rules of its own: it runs [`incumbent_core::session::Session`]. Everything that happens follows from a
//! [`Choice`], so the same choice gives the same run, byte for byte, on every machine. A run that fails is replayed
//! from its seed and [shrunk](shrink()) to the faults that matter. `cargo sim` on the command line is this crate.
//!
//! A run has a phase with faults of the seed's kinds, which come and go, and then a quiet one without faults, in which
//! a candidate must lead before long. The invariants are in `oracle`, one per file.
//!
//! # What it does not do
//!
//! No real servers, sockets or threads, and no code of the runtime: `world` carries out what a session asks, as the
//! runtime's driver does. The simulated store is one key of a bucket, one election's queue in an etcd, or a Kafka
//! consumer group with its topic: `nats`, `etcd` and `kafka`.

mod clock;
mod command;
mod dice;
mod etcd;
mod fleet;
mod handlers;
mod happened;
pub mod hunt;
mod kafka;
mod kind;
mod many;
mod nats;
mod observation;
mod oracle;
mod overload;
mod plan;
mod promise;
mod queue;
mod recording;
mod report;
mod scenario;
mod script;
mod setting;
mod shrink;
mod timeline;
mod world;

pub use fleet::{Demand, Elections, FailOver, Fleet};
pub use handlers::{Handled, run_handlers};
pub use kind::{Kind, Promise, Store};
pub use many::{Seeds, Summary, run_seeds};
pub use oracle::{Violation, own_check};
pub use overload::{Course, Overload};
pub use plan::Choice;
pub use promise::Excuse;
pub use recording::{Recorded, record};
pub use report::Tally;
pub use scenario::{Candidate, PlannedFault, Scenario};
pub use script::{Script, ScriptedFault};
pub use shrink::shrink;

use plan::Plan;

/// The outcome of a run.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// The run's counts.
    pub tally: Tally,
    /// The first invariant that did not hold.
    pub violation: Option<Violation>,
}

/// Makes a run.
pub fn run(choice: &Choice) -> Outcome {
    run_traced(choice, false, false).outcome
}

/// A run with its trace and picture.
#[derive(Clone, Debug)]
pub struct TracedRun {
    /// The outcome of the run.
    pub outcome: Outcome,
    /// All events, one per line; empty if not asked for.
    pub trace: String,
    /// An SVG picture; empty if not asked for.
    pub picture: String,
}

/// Makes a run and records its events as a trace or a picture.
pub fn run_traced(choice: &Choice, trace: bool, picture: bool) -> TracedRun {
    let plan = Plan::new(choice);
    match choice.store {
        Store::Nats => world::run_traced::<nats::Nats>(plan, trace, picture),
        Store::Etcd => world::run_traced::<etcd::Etcd>(plan, trace, picture),
        Store::Kafka => world::run_traced::<kafka::Kafka>(plan, trace, picture),
    }
}
