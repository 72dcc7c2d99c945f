//! Several candidates on a simulated store, network and clocks, under faults drawn from a seed.
//!
//! After every step: at most one candidate's `is_leader` is true, tokens grow from term to term,
//! and `Won` and `Lost` alternate. When the faults are over, somebody leads.

#![allow(clippy::expect_used, reason = "a test may panic; it says why")]

mod store;
mod world;

use std::time::Duration;

use world::{Faults, World};

/// How many seeds a test runs; `FLEET_SEEDS` sets another number.
fn seeds() -> u64 {
    std::env::var("FLEET_SEEDS").ok().and_then(|seeds| seeds.parse().ok()).unwrap_or(60)
}

fn run(seed: u64, faults: Faults) {
    let mut world = World::new(seed, faults);
    world.run_for(Duration::from_secs(300));
    world.heal();
    world.run_for(Duration::from_secs(120));
    assert!(
        world.leader().is_some(),
        "seed {seed}: nobody leads two minutes after the last fault\n{}",
        world.trace()
    );
}

fn run_all(faults: Faults) {
    for seed in 0..seeds() {
        run(seed, faults);
    }
}

#[test]
fn a_network_that_loses_and_delays_never_makes_two_leaders() {
    run_all(Faults { loss: true, delay: true, ..Faults::default() });
}

#[test]
fn candidates_that_stop_and_crash_never_make_two_leaders() {
    run_all(Faults { pauses: true, crashes: true, ..Faults::default() });
}

#[test]
fn partitions_never_make_two_leaders() {
    run_all(Faults { partitions: true, loss: true, ..Faults::default() });
}

#[test]
fn an_operator_that_deletes_and_overwrites_never_makes_two_leaders() {
    run_all(Faults { deletions: true, overwrites: true, loss: true, ..Faults::default() });
}

#[test]
fn a_store_that_is_made_anew_never_makes_two_leaders() {
    run_all(Faults { recreations: true, delay: true, ..Faults::default() });
}

#[test]
fn leaving_and_failing_candidates_never_make_two_leaders() {
    run_all(Faults { resignations: true, loss: true, delay: true, ..Faults::default() });
}

#[test]
fn everything_at_once_never_makes_two_leaders() {
    run_all(Faults::all());
}

#[test]
fn everything_at_once_with_markers_never_makes_two_leaders() {
    run_all(Faults { markers: true, ..Faults::all() });
}

#[test]
fn everything_at_once_with_incarnations_in_acknowledgements_never_makes_two_leaders() {
    run_all(Faults { acked: true, ..Faults::all() });
}
