//! One candidate with random inputs: answers that are repeated, late, out of order or invented, any act of an operator,
//! and a clock that jumps. The invariants are checked after every step. The fuzz target uses the same run and oracle,
//! but reads bytes instead of drawing random numbers.

use incumbent_fuzz::campaign::{Plan, Run};
use incumbent_fuzz::choices::Choices;

use crate::harness::in_short;

/// The number of seeds that are tried; `RANDOM_SEEDS` overrides it.
fn seeds() -> u64 {
    std::env::var("RANDOM_SEEDS").ok().and_then(|seeds| seeds.parse().ok()).unwrap_or(100)
}

/// A run with the usual settings.
fn run(seed: u64) -> Run<'static> {
    let mut choices = Choices::of_dice(seed);
    let plan = Plan::usual(&mut choices);
    go(seed, Run::begin(plan, choices).expect("settings that fit the store"))
}

fn go(seed: u64, mut run: Run<'static>) -> Run<'static> {
    let caught = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| run.to_the_end()));
    if let Err(cause) = caught {
        let recent = &run.trace()[run.trace().len().saturating_sub(60)..];
        let recent: Vec<_> = recent.iter().map(in_short).collect();
        println!("seed {seed}, after {recent:#?}");
        std::panic::resume_unwind(cause);
    }
    run
}

#[test]
fn whatever_the_inputs_of_a_candidate_the_invariants_hold() {
    let (mut terms, mut releases) = (0, 0);
    for seed in 0..seeds() {
        let run = run(seed);
        terms += run.terms();
        releases += run.releases();
    }
    assert!(terms > 200 && releases > 300, "the runs had too few events: {terms} terms, {releases} releases");
}

#[test]
fn the_same_seed_and_inputs_give_the_same_outputs() {
    for seed in 0..10 {
        assert_eq!(run(seed).trace(), run(seed).trace(), "I14: seed {seed}");
    }
}

#[test]
fn whatever_the_settings_and_wherever_the_clock_begins_what_must_hold_holds() {
    let (mut accepted, mut terms) = (0, 0);
    for seed in 0..seeds() * 4 {
        let mut choices = Choices::of_dice(seed);
        let plan = Plan::draw(&mut choices);
        let Some(run) = Run::begin(plan, choices) else { continue };
        accepted += 1;
        terms += go(seed, run).terms();
    }
    assert!(accepted > 100 && terms > 300, "the runs had too few events: {accepted} settings, {terms} terms");
}
