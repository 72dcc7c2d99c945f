//! Seeds on an etcd. The promises of a place in a queue hold under all of their faults.

#![allow(clippy::panic, reason = "a test may panic; it says why")]

use incumbent_sim::{Choice, Kind, Script, Store, Tally, run, run_traced, shrink};

fn choice(seed: u64) -> Choice {
    Choice { store: Store::Etcd, ..Choice::of_seed(seed) }
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
    assert!(total.terms > 3_000, "{total}");
}

#[test]
fn with_default_settings_what_is_promised_holds() {
    for seed in 0..60 {
        holds(&Choice { plain: true, ..choice(seed) });
    }
}

#[test]
fn a_former_leader_of_the_store_that_answers_keep_alives_makes_no_second_leader() {
    all_hold(1_000..1_030, &[Kind::PausedLeader, Kind::Isolate, Kind::FailOver, Kind::Lag, Kind::Cut]);
}

#[test]
fn an_operator_that_deletes_revokes_and_overwrites_places_makes_no_second_leader() {
    all_hold(1_000..1_030, &[Kind::Delete, Kind::Revoke, Kind::Overwrite, Kind::Unleased, Kind::CutReplies]);
}

#[test]
fn a_store_that_revokes_live_leases_makes_no_second_leader() {
    all_hold(1_000..1_030, &[Kind::EarlyRevocation, Kind::CutReplies, Kind::Pause, Kind::Resign]);
    all_hold(
        1_030..1_060,
        &[Kind::EarlyRevocation, Kind::Crash, Kind::Isolate, Kind::Lag, Kind::TokenExpiry],
    );
}

#[test]
fn a_restored_cluster_that_comes_quickly_to_the_term_of_a_companion_is_beyond_the_assumptions() {
    let faults = vec![Kind::CutReplies, Kind::Pause, Kind::Restore, Kind::EarlyRevocation];
    let run = run_traced(&Choice { faults: Some(faults), ..choice(871_000_000_531) }, true, false);
    assert!(run.trace.contains("leads in term 2\n"), "no backup begins the terms again");
    assert!(run.outcome.violation.is_none(), "{:?}", run.outcome.violation);
}

#[test]
fn no_lease_is_revoked_before_its_time_in_the_first_term_of_the_stores_leader() {
    let mut revocations = 0;
    for seed in 0..20 {
        let trace =
            run_traced(&Choice { faults: Some(vec![Kind::EarlyRevocation]), ..choice(seed) }, true, false)
                .trace;
        let early = trace.find("is revoked before its time");
        let elected = trace.find("leads in term");
        assert!(early.is_none_or(|early| elected.is_some_and(|elected| elected < early)), "seed {seed}");
        revocations += u32::from(early.is_some());
    }
    assert!(revocations > 10, "{revocations} of 20 seeds have any");
}

#[test]
fn requests_that_are_late_or_lost_leave_nothing_behind() {
    all_hold(1_000..1_030, &[Kind::Delay, Kind::Loss, Kind::Resign, Kind::Close, Kind::Illness]);
}

#[test]
fn a_store_that_is_wiped_or_restored_leads_to_one_leader_again() {
    all_hold(1_000..1_030, &[Kind::Recreate, Kind::Restore, Kind::Crash, Kind::Delay, Kind::Resign]);
}

#[test]
fn foreign_candidates_lead_alternately_and_never_together_with_ours() {
    let mut total = Tally::default();
    for seed in 0..60 {
        total.add(&holds(&Choice { peers: 2, ..choice(seed) }));
    }
    assert!(total.terms > 600 && total.peer_terms > 150, "{total}");
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
        run(&Choice { faults: Some(vec![Kind::Freeze, Kind::Delete]), ..choice(seed) }).tally.overlaps
    });
    assert!(outcomes.sum::<u64>() > 0);
}

#[test]
fn a_first_read_of_the_queue_a_lease_after_entering_makes_no_second_leader() {
    let faults = [Kind::EarlyRevocation, Kind::PausedLeader, Kind::Delete, Kind::Delay];
    all_hold(9_706_971..9_706_972, &faults);
}
