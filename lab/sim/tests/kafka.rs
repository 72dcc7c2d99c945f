//! Seeds on Kafka. The promises of induction over a consumer group hold under all of their faults.

#![allow(clippy::panic, reason = "a test may panic; it says why")]

use incumbent_sim::{Choice, Kind, Script, Store, Tally, run, run_traced, shrink};

fn choice(seed: u64) -> Choice {
    Choice { store: Store::Kafka, ..Choice::of_seed(seed) }
}

/// Runs a choice. A failure prints the command that repeats it.
fn holds(choice: &Choice) -> Tally {
    let outcome = run(choice);
    if let Some(violation) = outcome.violation {
        let (shrunk, shorter) = shrink(choice, &violation);
        panic!("{violation}\n{}\nwith fewer faults:\n{shorter}\n{}", Script::of(choice), Script::of(&shrunk));
    }
    outcome.tally
}

fn all_hold(seeds: std::ops::Range<u64>, faults: &[Kind]) {
    for seed in seeds {
        holds(&Choice { faults: Some(faults.to_vec()), ..choice(seed) });
    }
}

#[test]
fn whatever_goes_wrong_what_is_promised_holds() {
    let mut total = Tally::default();
    for seed in 0..200 {
        total.add(&holds(&choice(seed)));
    }
    assert!(total.terms > 1_000, "{total}");
}

#[test]
fn with_default_settings_what_is_promised_holds() {
    for seed in 0..60 {
        holds(&Choice { plain: true, ..choice(seed) });
    }
}

#[test]
fn members_that_are_removed_at_once_make_no_second_leader() {
    all_hold(1_000..1_030, &[Kind::Removal, Kind::Replacement, Kind::Pause, Kind::CutGroup, Kind::Delay]);
}

#[test]
fn a_group_without_members_makes_no_second_leader() {
    all_hold(
        1_000..1_030,
        &[Kind::EmptyGroup, Kind::HeldPoll, Kind::CutGroup, Kind::Coordinator, Kind::Pause],
    );
}

#[test]
fn rebalances_that_move_the_partition_make_no_second_leader() {
    all_hold(1_000..1_030, &[Kind::Rebalance, Kind::HeldPoll, Kind::CutReplies, Kind::Resign, Kind::Crash]);
}

#[test]
fn records_that_are_late_or_lost_make_no_second_leader() {
    all_hold(1_000..1_030, &[Kind::Delay, Kind::Loss, Kind::Resign, Kind::CutLog, Kind::Removal]);
}

#[test]
fn a_topic_that_is_made_again_leads_to_one_leader_again() {
    all_hold(1_000..1_030, &[Kind::Recreate, Kind::Crash, Kind::Delay, Kind::Resign, Kind::SlowConsumer]);
}

#[test]
fn members_that_use_goneli_lead_in_turn_and_make_no_second_leader_of_ours() {
    let mut total = Tally::default();
    for seed in 0..40 {
        total.add(&holds(&Choice { peers: 2, ..choice(seed) }));
    }
    assert!(total.terms > 100 && total.peer_terms > 100, "{total}");
}

#[test]
fn the_same_seed_gives_the_same_trace() {
    for seed in [3, 8] {
        let trace = || run_traced(&choice(seed), true, false).trace;
        let (first, again) = (trace(), trace());
        assert!(first.len() > 10_000, "the trace shows what happens");
        assert!(first == again, "seed {seed}");
    }
}

#[test]
fn without_a_promise_two_do_lead_at_once() {
    // The oracle can fail. It reports two leaders while a stopped clock excuses them.
    let outcomes = (0..60).map(|seed| {
        run(&Choice { faults: Some(vec![Kind::Freeze, Kind::Removal]), ..choice(seed) }).tally.overlaps
    });
    assert!(outcomes.sum::<u64>() > 0);
}
