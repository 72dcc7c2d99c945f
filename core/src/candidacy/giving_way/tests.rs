//! The rules one by one, with a lease of twelve seconds: a third is 4 s, and an answer may take 1 s.

use core::time::Duration;

use super::{GivingWay, Step, Steps, Tried};
use crate::campaign::Warning;
use crate::store::{Fault, FaultKind};
use crate::time::Instant;

const LEASE: Duration = Duration::from_secs(12);
const WORST: Duration = Duration::from_secs(36);

fn at(secs: u64) -> Instant {
    Instant::ZERO + Duration::from_secs(secs)
}

/// Sends a step at each of these seconds, which fails at once, and answers what keeps the claim.
fn fails(giving_way: &mut GivingWay, seconds: impl IntoIterator<Item = u64>) {
    for second in seconds {
        giving_way.kept(LEASE, at(second));
        giving_way.failed(Step::Read, Tried::at(at(second)), LEASE, at(second));
    }
}

/// Lets the candidate claim at `from` and fail to prove it. It gives way twelve seconds later, and the claim is removed
/// at once.
fn rests_from(giving_way: &mut GivingWay, from: u64) {
    fails(giving_way, (from..=from + 12).step_by(2));
    assert!(giving_way.gives_way(LEASE));
    giving_way.withdraws(at(from + 12));
    giving_way.removed(LEASE, at(from + 12));
}

// ---- the lease ----

#[test]
fn a_lease_of_failed_steps_gives_way() {
    let mut giving_way = GivingWay::default();
    fails(&mut giving_way, [10, 12, 14, 16, 18, 20]);
    assert!(!giving_way.gives_way(LEASE));
    fails(&mut giving_way, [22]);
    assert!(giving_way.gives_way(LEASE));
}

#[test]
fn a_step_counts_from_when_it_was_sent() {
    let mut giving_way = GivingWay::default();
    for sent in (0..12).step_by(2) {
        giving_way.kept(LEASE, at(sent));
        giving_way.failed(Step::Read, Tried::at(at(sent)), LEASE, at(sent + 1));
    }
    assert!(!giving_way.gives_way(LEASE), "eleven seconds");
    giving_way.failed(Step::Read, Tried::at(at(11)), LEASE, at(12));
    assert!(giving_way.gives_way(LEASE));
}

#[test]
fn a_proof_begins_the_lease_again() {
    let mut giving_way = GivingWay::default();
    fails(&mut giving_way, (0..=10).step_by(2));
    giving_way.proved(at(11));
    fails(&mut giving_way, (11..=22).step_by(2));
    assert!(!giving_way.gives_way(LEASE));
    assert_eq!(giving_way.failing(), Steps::from_iter([Step::Read]));
}

#[test]
fn steps_of_several_kinds_that_fail_at_the_same_time_count_once() {
    let mut giving_way = GivingWay::default();
    for second in [0, 3, 6, 9] {
        fails(&mut giving_way, [second]);
        giving_way.failed(Step::Inspect, Tried::at(at(second)), LEASE, at(second));
    }
    assert!(!giving_way.gives_way(LEASE));
    assert_eq!(giving_way.failing(), Steps::from_iter([Step::Inspect, Step::Read]));
}

#[test]
fn the_time_in_our_own_queue_does_not_count() {
    let mut giving_way = GivingWay::default();
    for second in (0..=60).step_by(5) {
        giving_way.kept(LEASE, at(second));
        // The step is asked for one second after the previous step, and sent four seconds later.
        let tried = Tried { asked: at(second).before(Duration::from_secs(4)), sent: at(second) };
        giving_way.failed(Step::Read, tried, LEASE, at(second));
        assert_eq!(giving_way.gives_way(LEASE), second == 60);
    }
}

#[test]
fn the_time_in_which_the_process_did_not_run_does_not_count() {
    let mut giving_way = GivingWay::default();
    fails(&mut giving_way, [0, 2]);
    giving_way.failed(Step::Read, Tried::at(at(3)), LEASE, at(3000));
    giving_way.kept(LEASE, at(3000));
    fails(&mut giving_way, [3002, 3004, 3006, 3008]);
    assert!(!giving_way.gives_way(LEASE), "ten seconds");
    fails(&mut giving_way, [3010]);
    assert!(giving_way.gives_way(LEASE));
}

#[test]
fn a_process_that_stops_again_and_again_counts_nothing() {
    let mut giving_way = GivingWay::default();
    for second in (0..3000).step_by(100) {
        giving_way.kept(LEASE, at(second));
        giving_way.failed(
            Step::Read,
            Tried::at(at(second).before(Duration::from_secs(50))),
            LEASE,
            at(second),
        );
    }
    assert!(!giving_way.gives_way(LEASE));
}

#[test]
fn without_answers_that_keep_the_claim_nothing_counts_after_a_renewals_time() {
    let mut giving_way = GivingWay::default();
    for second in 0..600 {
        giving_way.failed(Step::Read, Tried::at(at(second)), LEASE, at(second));
    }
    assert!(!giving_way.gives_way(LEASE));
    // Five seconds have counted before, and these count for seven more.
    fails(&mut giving_way, 600..607);
    assert!(!giving_way.gives_way(LEASE));
    fails(&mut giving_way, [607]);
    assert!(giving_way.gives_way(LEASE));
}

#[test]
fn a_claim_that_is_over_is_not_counted_into_the_next() {
    let mut giving_way = GivingWay::default();
    fails(&mut giving_way, (0..=10).step_by(2));
    giving_way.claim_ended(at(10));
    fails(&mut giving_way, (12..=22).step_by(2));
    assert!(!giving_way.gives_way(LEASE));
}

#[test]
fn after_a_remedy_a_lease_counts_again_and_the_rest_is_for_both() {
    let mut giving_way = GivingWay::default();
    fails(&mut giving_way, (0..=12).step_by(2));
    giving_way.count_again(at(12));
    assert!(!giving_way.gives_way(LEASE));
    fails(&mut giving_way, (14..=24).step_by(2));
    assert!(giving_way.gives_way(LEASE));
    giving_way.withdraws(at(24));
    giving_way.removed(LEASE, at(24));
    assert_eq!(giving_way.rest_until(at(24)), Some(at(24 + 240)));
}

// ---- what is owed ----

/// Lets the candidate fail for `seconds` from `from`, while it keeps its claim, and then win.
fn wins_after(giving_way: &mut GivingWay, from: u64, seconds: u64) {
    fails(giving_way, from..=from + seconds);
    giving_way.won(LEASE, at(from + seconds));
}

#[test]
fn what_counted_before_a_win_counts_when_the_term_is_lost_soon() {
    let mut giving_way = GivingWay::default();
    wins_after(&mut giving_way, 0, 8);
    fails(&mut giving_way, 20..=24);
    assert!(!giving_way.gives_way(LEASE), "a term ends by itself");
    giving_way.lost(at(24));
    // The term of sixteen seconds leaves 6.4 s of the 8 s owed. Since then 4 s have counted.
    assert!(!giving_way.gives_way(LEASE));
    fails(&mut giving_way, [25, 26]);
    assert!(
        !giving_way.gives_way(LEASE),
        "the last second does not count yet: an outage may have begun in it"
    );
    fails(&mut giving_way, [27]);
    assert!(giving_way.gives_way(LEASE));
    giving_way.withdraws(at(27));
    giving_way.removed(LEASE, at(27));
    assert_eq!(giving_way.rest_until(at(27)), Some(at(27 + 134)), "ten times 6.4 s and 7 s");
}

#[test]
fn a_term_pays_a_tenth_of_its_time() {
    for (led, gives_way) in [(79, true), (80, false)] {
        let mut giving_way = GivingWay::default();
        wins_after(&mut giving_way, 0, 8);
        giving_way.proved(at(8 + led));
        giving_way.lost(at(8 + led));
        assert_eq!(giving_way.trouble.is_some(), gives_way, "{led} s");
    }
}

#[test]
fn what_is_owed_without_a_step_that_fails_gives_no_way() {
    let mut giving_way = GivingWay::default();
    wins_after(&mut giving_way, 0, 8);
    giving_way.lost(at(9));
    wins_after(&mut giving_way, 9, 3);
    giving_way.lost(at(13));
    wins_after(&mut giving_way, 13, 3);
    giving_way.lost(at(17));
    assert!(!giving_way.gives_way(LEASE));
    fails(&mut giving_way, [18]);
    assert!(giving_way.gives_way(LEASE));
}

#[test]
fn a_failure_that_a_term_survives_is_not_owed() {
    let mut giving_way = GivingWay::default();
    giving_way.won(LEASE, at(0));
    for second in [0, 10, 20] {
        fails(&mut giving_way, second..=second + 8);
        giving_way.proved(at(second + 9));
    }
    assert!(giving_way.trouble.is_none());
}

#[test]
fn an_outage_before_a_win_is_not_owed() {
    let mut giving_way = GivingWay::default();
    giving_way.kept(LEASE, at(0));
    for second in 0..30 {
        giving_way.failed(Step::Read, Tried::at(at(second)), LEASE, at(second));
    }
    giving_way.won(LEASE, at(30));
    assert!(giving_way.trouble.is_none());
}

#[test]
fn after_a_rest_that_ended_because_it_was_alone_twice_as_much_must_be_owed_before_the_next() {
    let mut giving_way = GivingWay::default();
    rests_from(&mut giving_way, 0);
    giving_way.others_claim(false, WORST, at(12));
    giving_way.others_claim(false, WORST, at(48));
    wins_after(&mut giving_way, 48, 8);
    giving_way.lost(at(56));
    fails(&mut giving_way, 56..=63);
    assert!(!giving_way.gives_way(LEASE), "fifteen seconds");
    giving_way.others_claim(true, WORST, at(63));
    assert!(giving_way.gives_way(LEASE), "it is not alone");
}

// ---- the rest ----

#[test]
fn the_rest_is_ten_times_what_was_blocked_with_the_removal() {
    let mut giving_way = GivingWay::default();
    fails(&mut giving_way, (0..=12).step_by(2));
    giving_way.withdraws(at(12));
    assert_eq!((giving_way.rests(at(13)), giving_way.rest_until(at(13))), (true, None));
    giving_way.removed(LEASE, at(15));
    assert_eq!(giving_way.rest_until(at(15)), Some(at(15 + 150)));
    assert!(giving_way.rests(at(164)));
    assert!(!giving_way.rests(at(165)));
}

#[test]
fn each_rest_in_a_row_is_twice_as_long_up_to_ten_minutes() {
    let mut giving_way = GivingWay::default();
    let mut now = 0;
    for rest in [120, 240, 480, 600, 600] {
        rests_from(&mut giving_way, now);
        assert_eq!(giving_way.rest_until(at(now + 12)), Some(at(now + 12 + rest)));
        now += 12 + rest;
    }
}

#[test]
fn a_rest_is_longer_than_ten_minutes_where_ten_times_the_last_blocking_is() {
    let mut giving_way = GivingWay::default();
    fails(&mut giving_way, (0..=12).step_by(2));
    giving_way.withdraws(at(12));
    giving_way.removed(LEASE, at(100));
    assert_eq!(giving_way.rest_until(at(100)), Some(at(1100)));
    rests_from(&mut giving_way, 1100);
    assert_eq!(giving_way.rest_until(at(1112)), Some(at(1112 + 240)));
}

#[test]
fn a_term_that_lasts_as_long_as_the_rest_before_it_ends_the_row() {
    for (led, rest) in [(119, 240), (120, 120)] {
        let mut giving_way = GivingWay::default();
        rests_from(&mut giving_way, 0);
        giving_way.won(LEASE, at(200));
        giving_way.lost(at(200 + led));
        rests_from(&mut giving_way, 400);
        assert_eq!(giving_way.rest_until(at(412)), Some(at(412 + rest)), "{led} s");
    }
}

#[test]
fn two_terms_do_not_add_up() {
    let mut giving_way = GivingWay::default();
    rests_from(&mut giving_way, 0);
    for won in [200, 300] {
        giving_way.won(LEASE, at(won));
        giving_way.lost(at(won + 90));
    }
    rests_from(&mut giving_way, 400);
    assert_eq!(giving_way.rest_until(at(412)), Some(at(412 + 240)));
}

#[test]
fn a_late_failure_or_proof_changes_no_rest() {
    let mut giving_way = GivingWay::default();
    rests_from(&mut giving_way, 0);
    fails(&mut giving_way, [13, 14]);
    giving_way.proved(at(15));
    giving_way.claim_ended(at(15));
    assert_eq!((giving_way.rest_until(at(15)), giving_way.gives_way(LEASE)), (Some(at(132)), false));
}

#[test]
fn a_candidate_that_is_well_keeps_one_pointer_and_no_memory() {
    let mut giving_way = GivingWay::default();
    assert_eq!(size_of::<GivingWay>(), size_of::<usize>());
    fails(&mut giving_way, [0]);
    giving_way.proved(at(1));
    assert!(giving_way.trouble.is_none());
    rests_from(&mut giving_way, 2);
    giving_way.won(LEASE, at(200));
    giving_way.proved(at(319));
    assert!(giving_way.trouble.is_some());
    giving_way.proved(at(320));
    assert!(giving_way.trouble.is_none());
}

// ---- the probe ----

#[test]
fn a_probe_repeats_what_failed_every_third_of_a_lease() {
    let mut giving_way = GivingWay::default();
    giving_way.failed(Step::Inspect, Tried::at(at(0)), LEASE, at(0));
    rests_from(&mut giving_way, 0);
    assert_eq!(giving_way.wakes_at(at(12)), Some(at(16)));
    assert_eq!(giving_way.probe(LEASE, at(15)), Steps::default());
    assert_eq!(giving_way.probe(LEASE, at(16)), Steps::from_iter([Step::Read, Step::Inspect]));
    assert_eq!(giving_way.wakes_at(at(16)), Some(at(20)));
}

#[test]
fn a_lease_of_nothing_is_probed_every_tenth_of_a_second() {
    let mut giving_way = GivingWay::default();
    rests_from(&mut giving_way, 0);
    giving_way.probe(Duration::ZERO, at(16));
    assert_eq!(giving_way.wakes_at(at(16)), Some(at(16) + Duration::from_millis(100)));
}

#[test]
fn a_step_that_succeeded_since_is_not_probed() {
    let mut giving_way = GivingWay::default();
    giving_way.failed(Step::Commit, Tried::at(at(0)), LEASE, at(0));
    giving_way.succeeded(Step::Commit, at(1));
    rests_from(&mut giving_way, 1);
    assert_eq!(giving_way.probe(LEASE, at(20)), Steps::from_iter([Step::Read]));
}

#[test]
fn the_rest_ends_when_all_steps_of_one_probe_succeed() {
    let mut giving_way = GivingWay::default();
    giving_way.failed(Step::Inspect, Tried::at(at(0)), LEASE, at(0));
    rests_from(&mut giving_way, 0);
    giving_way.probe(LEASE, at(16));
    giving_way.probed(Step::Read, at(16), true, at(16));
    giving_way.probed(Step::Inspect, at(16), false, at(16));
    giving_way.probe(LEASE, at(20));
    giving_way.probed(Step::Inspect, at(20), true, at(20));
    assert!(giving_way.rests(at(20)), "the read succeeded, but in another probe");
    giving_way.probed(Step::Read, at(19), true, at(20));
    assert!(giving_way.rests(at(20)), "sent for another probe");
    giving_way.probed(Step::Read, at(20), true, at(21));
    assert_eq!((giving_way.rests(at(21)), giving_way.wakes_at(at(21))), (false, None));
}

#[test]
fn a_rest_ends_early_once_in_a_row() {
    let mut giving_way = GivingWay::default();
    rests_from(&mut giving_way, 0);
    giving_way.probe(LEASE, at(16));
    giving_way.probed(Step::Read, at(16), true, at(16));
    rests_from(&mut giving_way, 16);
    assert_eq!(
        (giving_way.rest_until(at(28)), giving_way.wakes_at(at(28))),
        (Some(at(28 + 240)), Some(at(32)))
    );
    assert_eq!(giving_way.probe(LEASE, at(32)), Steps::default());
    // A term of 240 s ends the series.
    giving_way.won(LEASE, at(300));
    giving_way.lost(at(540));
    rests_from(&mut giving_way, 600);
    assert_eq!(giving_way.probe(LEASE, at(616)), Steps::from_iter([Step::Read]));
}

#[test]
fn where_a_commit_failed_nothing_is_probed_and_the_rest_lasts() {
    let mut giving_way = GivingWay::default();
    giving_way.failed(Step::Commit, Tried::at(at(0)), LEASE, at(0));
    rests_from(&mut giving_way, 0);
    assert_eq!(giving_way.probe(LEASE, at(16)), Steps::default());
    assert_eq!(giving_way.wakes_at(at(16)), Some(at(20)));
}

// ---- alone ----

#[test]
fn if_no_other_candidate_claims_for_the_worst_fail_over_the_rest_ends() {
    let mut giving_way = GivingWay::default();
    rests_from(&mut giving_way, 0);
    giving_way.others_claim(false, WORST, at(12));
    giving_way.others_claim(false, WORST, at(47));
    giving_way.probe(LEASE, at(47));
    assert_eq!((giving_way.rests(at(47)), giving_way.wakes_at(at(47))), (true, Some(at(48))));
    giving_way.others_claim(false, WORST, at(48));
    assert!(!giving_way.rests(at(48)));
    // A rest that ended because no other candidate claimed does not make the next rest longer.
    rests_from(&mut giving_way, 48);
    assert_eq!(giving_way.rest_until(at(60)), Some(at(60 + 120)));
}

#[test]
fn a_claim_of_another_begins_the_worst_fail_over_again() {
    let mut giving_way = GivingWay::default();
    rests_from(&mut giving_way, 0);
    giving_way.others_claim(false, WORST, at(12));
    giving_way.others_claim(true, WORST, at(40));
    giving_way.others_claim(false, WORST, at(48));
    assert!(giving_way.rests(at(83)));
    giving_way.others_claim(false, WORST, at(84));
    assert!(!giving_way.rests(at(84)));
}

#[test]
fn where_nothing_was_observed_the_rest_lasts() {
    let mut giving_way = GivingWay::default();
    rests_from(&mut giving_way, 0);
    assert!(giving_way.rests(at(131)));
    assert!(!giving_way.rests(at(132)));
}

#[test]
fn without_trouble_nothing_rests_and_nothing_wakes() {
    let mut giving_way = GivingWay::default();
    giving_way.kept(LEASE, at(1));
    giving_way.withdraws(at(1));
    giving_way.removed(LEASE, at(1));
    giving_way.others_claim(false, WORST, at(1));
    giving_way.probed(Step::Read, at(1), true, at(1));
    assert_eq!((giving_way.rests(at(1)), giving_way.wakes_at(at(1))), (false, None));
    assert_eq!(giving_way.probe(LEASE, at(1)), Steps::default());
}

// ---- the warning ----

#[test]
fn who_gave_way_warns_of_what_failed_and_how_long_it_rests() {
    let fault = Fault { kind: FaultKind::Denied, detail: "no permission".into() };
    let mut giving_way = GivingWay::default();
    giving_way.failed(Step::Inspect, Tried::at(at(0)), LEASE, at(0));
    giving_way.answered_with(&fault, at(0));
    fails(&mut giving_way, (0..=12).step_by(2));
    giving_way.withdraws(at(12));
    let failing = Steps::from_iter([Step::Inspect, Step::Read]);
    let expected = Warning::GaveWay { failing, fault: Some(fault), rest: Duration::from_secs(150) };
    assert_eq!(giving_way.removed(LEASE, at(15)), Some(expected));
    assert_eq!(giving_way.removed(LEASE, at(15)), None, "once");
}

#[test]
fn a_fault_before_the_last_proof_is_not_the_cause() {
    let fault = Fault { kind: FaultKind::Denied, detail: "no permission".into() };
    let mut giving_way = GivingWay::default();
    giving_way.failed(Step::Inspect, Tried::at(at(0)), LEASE, at(0));
    giving_way.answered_with(&fault, at(0));
    giving_way.proved(at(1));
    fails(&mut giving_way, (2..=14).step_by(2));
    giving_way.withdraws(at(14));
    let expected = Warning::GaveWay {
        failing: Steps::from_iter([Step::Read]),
        fault: None,
        rest: Duration::from_secs(120),
    };
    assert_eq!(giving_way.removed(LEASE, at(14)), Some(expected));
}
