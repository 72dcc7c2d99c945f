//! Runs the real rules of an election, with many candidates, on a simulated store, network and clocks, under
//! faults drawn from a seed, and checks after every step that what is promised holds.
//!
//! It has no rules of its own: what runs is [`incumbent_core::campaign::Campaign`]. Everything that happens
//! follows from a [`Choice`], so the same choice gives the same run, byte for byte, on every machine; a run that
//! fails is replayed from its seed and [shrunk](shrink()) to the faults that matter.
//!
//! A run has a stormy phase, in which faults of the kinds that the seed has switched on come and go, and a calm
//! one, in which there are none and somebody has to lead before long. The invariants are in `oracle`, one a file.
//!
//! # What it does not do
//!
//! No real servers, sockets or threads, and no code of the runtime: its part between campaign and store is
//! modelled in `world`. What is simulated of the store is one key of one bucket.

mod clock;
mod dice;
mod kind;
mod moment;
mod oracle;
mod plan;
mod promise;
mod queue;
mod report;
mod shrink;
mod store;
mod tape;
mod timeline;
mod world;

pub use kind::{Kind, Promise};
pub use oracle::Violation;
pub use plan::Choice;
pub use report::Tally;
pub use shrink::shrink;
pub use tape::Recorded;

use plan::Plan;
use world::World;

/// What came of a run.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// What happened, counted.
    pub tally: Tally,
    /// The first invariant that did not hold.
    pub violation: Option<Violation>,
}

/// Makes a run.
pub fn run(choice: &Choice) -> Outcome {
    let mut world = World::new(Plan::new(choice), false, false);
    world.run();
    Outcome { tally: world.audience.tally, violation: world.audience.violation }
}

/// Makes a run and writes down everything that happens in it.
pub fn trace(choice: &Choice) -> (Outcome, String) {
    let mut world = World::new(Plan::new(choice), true, false);
    world.run();
    (
        Outcome { tally: world.audience.tally, violation: world.audience.violation },
        world.trace.unwrap_or_default(),
    )
}

/// Makes a run, and records what went into its campaigns and what came out.
pub fn record(choice: &Choice) -> (Outcome, Vec<Recorded>) {
    let mut world = World::new(Plan::new(choice), false, false);
    world.tape = Some(Vec::new());
    world.run();
    (
        Outcome { tally: world.audience.tally, violation: world.audience.violation },
        world.tape.unwrap_or_default(),
    )
}

/// Makes a run and draws it, as an SVG picture.
pub fn timeline(choice: &Choice) -> (Outcome, String) {
    let mut world = World::new(Plan::new(choice), false, true);
    world.run();
    let picture = world.audience.timeline.take().map(|timeline| timeline.draw(world.now)).unwrap_or_default();
    (Outcome { tally: world.audience.tally, violation: world.audience.violation }, picture)
}

/// A run in words: its world, its script, and what to type to see it again.
pub fn describe(choice: &Choice) -> String {
    use std::fmt::Write as _;
    let plan = Plan::new(choice);
    let mut text = String::new();
    let yes = |set: bool, what: &'static str| if set { what } else { "" };
    // Writing to a string does not fail.
    let _ = writeln!(
        text,
        "seed {}: {} candidates, lease {:?}, maximum age {:?}, {} server(s){}{}{}{}",
        choice.seed,
        choice.candidates,
        plan.lease,
        plan.max_age,
        plan.replicas,
        yes(plan.own_lease, ", own leases"),
        yes(plan.markers, ", markers"),
        yes(plan.acked, ", incarnations acknowledged"),
        yes(plan.never_used, ", name never used"),
    );
    for fault in &plan.script {
        let _ = writeln!(
            text,
            "  {:>3}  {:>9.3} s  {:<14} for {:?}",
            fault.place,
            fault.from.as_secs_f64(),
            fault.kind.name(),
            fault.lasts
        );
    }
    let _ = writeln!(text, "again: {}", plan.command());
    text
}
