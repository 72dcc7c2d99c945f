//! Many seeds, some of them chosen. The promises hold under all of their faults.

#![allow(clippy::panic, reason = "a test may panic; it says why")]

use incumbent_sim::{Choice, Handled, Kind, Script, Tally, run, run_handlers, run_traced, shrink};

/// Runs a choice. A failure prints the command that repeats it.
fn holds(choice: &Choice) {
    if let Some(violation) = run(choice).violation {
        let (shrunk, shorter) = shrink(choice, &violation);
        panic!("{violation}\n{}\nwith fewer faults:\n{shorter}\n{}", Script::of(choice), Script::of(&shrunk));
    }
}

fn all_hold(seeds: std::ops::Range<u64>, faults: Option<&[Kind]>) {
    for seed in seeds {
        holds(&Choice { faults: faults.map(<[Kind]>::to_vec), ..Choice::of_seed(seed) });
    }
}

/// Runs a seed that once failed, in the world in which it failed.
fn still_holds(seed: u64, faults: Option<&[Kind]>) {
    holds(&Choice { faults: faults.map(<[Kind]>::to_vec), plain: true, ..Choice::of_seed(seed) });
}

#[test]
fn whatever_goes_wrong_what_is_promised_holds() {
    all_hold(0..600, None);
}

#[test]
fn with_default_settings_what_is_promised_holds() {
    for seed in 0..200 {
        holds(&Choice { plain: true, ..Choice::of_seed(seed) });
    }
}

#[test]
fn with_many_candidates_what_is_promised_holds() {
    for seed in 0..10 {
        holds(&Choice { candidates: 15, ..Choice::of_seed(seed) });
    }
}

#[test]
fn a_network_that_loses_and_delays_and_doubles_never_makes_two_leaders() {
    all_hold(1_000..1_040, Some(&[Kind::Loss, Kind::Delay, Kind::Duplication, Kind::SilentWatch]));
}

#[test]
fn partitions_never_make_two_leaders() {
    all_hold(1_000..1_040, Some(&[Kind::Cut, Kind::CutRequests, Kind::CutReplies, Kind::Queue]));
}

#[test]
fn candidates_that_stop_and_crash_never_make_two_leaders() {
    all_hold(1_000..1_040, Some(&[Kind::Pause, Kind::Suspend, Kind::Crash, Kind::Starve, Kind::Drift]));
}

#[test]
fn leaving_and_failing_candidates_never_make_two_leaders() {
    all_hold(1_000..1_040, Some(&[Kind::Resign, Kind::Illness, Kind::Handler, Kind::Close, Kind::Loss]));
}

#[test]
fn servers_that_fail_over_and_lag_never_make_two_leaders() {
    all_hold(
        1_000..1_040,
        Some(&[Kind::FailOver, Kind::Isolate, Kind::Quorum, Kind::SlowCommit, Kind::Skew]),
    );
}

#[test]
fn an_operator_that_deletes_and_overwrites_and_makes_the_store_again_never_makes_two_leaders() {
    all_hold(1_000..1_040, Some(&[Kind::Delete, Kind::Overwrite, Kind::Recreate, Kind::Loss, Kind::Erase]));
}

#[test]
fn what_vanishes_before_its_time_is_survived_by_the_candidates_that_were_watching() {
    all_hold(1_000..1_040, Some(&[Kind::Purge, Kind::LowerAge, Kind::ClockStep]));
}

#[test]
fn a_store_that_goes_back_is_noticed_by_the_candidates_that_remember() {
    all_hold(1_000..1_040, Some(&[Kind::LostWrites, Kind::Restore]));
}

#[test]
fn clocks_beyond_their_setting_leave_the_order_of_tokens() {
    all_hold(1_000..1_040, Some(&[Kind::BadDrift, Kind::Freeze]));
}

#[test]
fn a_late_acknowledgement_makes_no_leader_of_a_record_that_was_released() {
    use Kind::{Delay, Illness, Isolate, Loss, Resign};
    still_holds(942, Some(&[Delay, Illness, Resign, Isolate, Loss]));
}

#[test]
fn an_acquire_long_under_way_waits_for_a_holder_observed_meanwhile() {
    use Kind::{Delay, Full, LostWrites, Overwrite, Purge};
    still_holds(94, Some(&[Delay, Purge, LostWrites, Full, Overwrite]));
}

#[test]
fn a_lowered_maximum_age_makes_no_new_incarnation_look_old() {
    still_holds(32_528, None);
}

/// Runs seeds that once failed among seeds with any settings.
fn any_settings_hold(seeds: impl IntoIterator<Item = u64>, faults: Option<&[Kind]>) {
    for seed in seeds {
        holds(&Choice { faults: faults.map(<[Kind]>::to_vec), ..Choice::of_seed(seed) });
    }
}

#[test]
fn what_a_watch_showed_before_the_campaign_began_is_waited_for_after_a_purge() {
    use Kind::{Close, Cut, Purge, Quorum, RaiseAge};
    any_settings_hold([60_026_122], None);
    any_settings_hold(
        [72_000_213, 72_000_218, 72_000_437, 72_000_512],
        Some(&[Purge, RaiseAge, Close, Quorum, Cut]),
    );
}

#[test]
fn a_token_that_was_shown_in_a_stale_record_is_not_won_again() {
    any_settings_hold([60_081_487, 60_169_005], None);
}

#[test]
fn a_late_acknowledgement_that_shows_a_store_that_went_back_ends_the_term() {
    any_settings_hold([55_501_873, 60_001_039, 60_100_745, 60_180_902], None);
}

#[test]
fn a_second_copy_of_an_acknowledgement_does_not_move_the_time_of_the_first() {
    use Kind::{Delay, Duplication, FailOver, Queue, Resign};
    any_settings_hold([9_701_099], Some(&[Delay, Duplication, Queue, Resign, FailOver]));
}

#[test]
fn a_leader_that_was_never_observed_may_have_a_longer_lease_than_ours() {
    use Kind::{Close, Crash, Cut, Loss, Recreate};
    all_hold(1_824..1_825, Some(&[Recreate, Loss, Cut, Close, Crash]));
    holds(&Choice {
        candidates: 3,
        faults: Some(vec![Recreate, Loss, Cut, Close]),
        ..Choice::of_seed(1_782)
    });
}

#[test]
fn the_same_seed_gives_the_same_trace() {
    for seed in [3, 8] {
        let choice = Choice::of_seed(seed);
        let (first, again) = (run_traced(&choice, true, false).trace, run_traced(&choice, true, false).trace);
        assert!(first.len() > 10_000, "the trace shows what happens");
        assert!(first == again, "seed {seed}");
    }
}

#[test]
fn without_a_promise_two_do_lead_at_once() {
    // The oracle can fail. A clock that stops while its machine is paused breaks the promise, and the oracle reports
    // this if the clock is not excused.
    let outcomes = (0..60).map(|seed| {
        run(&Choice { faults: Some(vec![Kind::Freeze]), ..Choice::of_seed(seed) }).tally.overlaps
    });
    assert!(outcomes.sum::<u64>() > 0);
}

#[test]
fn with_candidates_of_the_go_library_at_most_one_leads_and_both_kinds_win() {
    let mut total = Tally::default();
    for seed in 0..150 {
        let choice = Choice { candidates: 3, peers: 3, ..Choice::of_seed(seed) };
        holds(&choice);
        total.add(&run(&choice).tally);
    }
    assert!(total.terms > 1_000 && total.peer_terms > 100, "{total}");
}

#[test]
fn whatever_handlers_do_what_is_promised_holds() {
    let mut all = Handled::default();
    for seed in 0..3000 {
        let handled = run_handlers(seed);
        assert_eq!(handled.violation, None);
        all.begun += handled.begun;
        all.failed += handled.failed;
        all.stopped += handled.stopped;
        all.overdue += handled.overdue;
        all.together += handled.together;
        all.gave_up += handled.gave_up;
        all.dropped += handled.dropped;
    }
    // The runs are not empty, because all of these events happen.
    let counts = [all.begun, all.failed, all.stopped, all.overdue, all.together, all.gave_up, all.dropped];
    assert!(counts.iter().all(|count| *count > 500), "{all:?}");
}

#[test]
fn a_seed_gives_handlers_the_same_run_again() {
    for seed in 0..20 {
        assert_eq!(run_handlers(seed), run_handlers(seed));
    }
    assert_ne!(run_handlers(1).digest, run_handlers(2).digest);
}
