//! Candidates: when they try to acquire, how long they wait after a failure, and who goes first.

use std::sync::Arc;

use incumbent_core::Incarnation;
use incumbent_core::campaign::{Backoff, Input, Settings, Timer};
use incumbent_core::record::Entry;
use incumbent_core::store::{Capabilities, FaultKind, Outcome, StoreInfo};

use crate::harness::*;

/// A candidate that has lost `races` races, and sees the last winner's record.
fn after_lost_races(races: u64, seed: u64) -> (Bench, u64) {
    let mut bench = Bench::seeded(settings(), bucket(), seed);
    bench.begin(deleted(5));
    let mut revision = 5;
    for attempt in 1..=races {
        bench.refused(attempt, revision + 1);
        bench.watched(theirs(revision + 1));
        bench.pass(secs(2));
        revision += 2;
        bench.watched(deleted(revision));
        bench.pass(secs(2));
    }
    bench.refused(races + 1, revision + 1);
    bench.watched(theirs(revision + 1));
    bench.pass(secs(2));
    (bench, revision + 1)
}

#[test]
fn a_candidate_that_never_lost_a_race_does_not_wait() {
    let mut bench = Bench::candidate(theirs(10));
    assert_eq!(bench.watched(deleted(11))[0], "acquire 1 over 11");
}

#[test]
fn the_wait_before_a_race_grows_with_the_races_lost_and_is_bounded() {
    for (races, longest) in [(0, ms(2)), (2, ms(8)), (12, secs(1))] {
        let waits: Vec<_> = (0..20)
            .map(|seed| {
                let (mut bench, revision) = after_lost_races(races, seed);
                assert_eq!(bench.watched(deleted(revision + 1)), ["leader vacant"]);
                let (timer, wait) = bench.wake().expect("the jitter's end");
                assert_eq!(timer, Timer::Acquire);
                wait
            })
            .collect();
        assert!(waits.iter().all(|wait| *wait <= longest), "{races}: {waits:?}");
        assert!(waits.iter().any(|wait| *wait > longest / 2), "{races}: {waits:?}");
    }
}

#[test]
fn a_race_is_lost_also_where_the_watch_delivers_the_winner_before_the_refusal_comes() {
    let mut bench = Bench::candidate(deleted(5));
    bench.watched(theirs(6));
    assert_eq!(bench.refused(1, 6), ["state WAITING"]);
    bench.sleep(ms(5));
    assert_eq!(bench.watched(deleted(7)), ["leader vacant"]);
    let (timer, wait) = bench.wake().expect("the jitter's end");
    assert!(timer == Timer::Acquire && !wait.is_zero() && wait <= ms(2), "{timer:?} {wait:?}");
}

#[test]
fn a_refusal_that_an_earlier_attempt_of_ours_explains_is_no_race_lost() {
    let wait = |seed| {
        let mut bench = Bench::seeded(settings(), bucket(), seed);
        bench.begin(deleted(5));
        bench.wrote(1, Outcome::Unknown);
        assert_eq!(bench.pass(ms(120))[0], "acquire 2 over 5");
        bench.watched(mine(6, 1));
        assert_eq!(bench.refused(2, 6), ["acquire 3 over 6"]);
        bench.watched(theirs(8));
        bench.refused(3, 8);
        bench.watched(deleted(9));
        bench.wake().expect("the jitter's end")
    };
    let waits: Vec<_> = (0..20).map(wait).collect();
    assert!(waits.iter().all(|(timer, wait)| *timer == Timer::Acquire && *wait <= ms(2)), "{waits:?}");
}

#[test]
fn a_race_won_makes_up_for_one_lost() {
    let (mut bench, revision) = after_lost_races(0, 7);
    bench.watched(deleted(revision + 1));
    bench.next();
    bench.applied(2, revision + 2);
    let outputs = bench.watched(deleted(revision + 3));
    assert_eq!(outputs[0], format!("acquire 3 over {}", revision + 3), "{outputs:?}");
}

#[test]
fn the_wait_before_a_race_is_drawn_once_whatever_else_arrives_meanwhile() {
    let (mut bench, revision) = after_lost_races(12, 7);
    bench.watched(deleted(revision + 1));
    let (timer, wait) = bench.wake().expect("the jitter's end");
    for part in 1..4 {
        bench.sleep(wait / 4);
        bench.inspected();
        bench.watched(deleted(revision + 1));
        assert_eq!(bench.wake(), Some((timer, wait - wait / 4 * part)));
    }
}

#[test]
fn the_users_back_off_is_asked_after_a_candidates_failure() {
    let backoff = Backoff::Custom(Arc::new(|failures| secs(10 * u64::from(failures))));
    let mut bench = Bench::with(Settings { backoff, ..settings() }, bucket());
    bench.begin(deleted(5));
    bench.wrote(1, Outcome::NotSent);
    assert_eq!(bench.wake(), Some((Timer::Acquire, secs(10))));
    assert_eq!(bench.pass(secs(10)), ["acquire 2 over 5", "state ACQUIRING"]);
    bench.wrote(2, Outcome::Failed(fault(FaultKind::Broken)));
    assert_eq!(bench.wake(), Some((Timer::Acquire, secs(20))));
}

#[test]
fn the_users_back_off_is_not_asked_by_a_leader() {
    let mut bench =
        Bench::leader_with(Settings { backoff: Backoff::Fixed(secs(600)), ..settings() }, bucket());
    bench.pass(secs(10));
    bench.inspected();
    bench.wrote(2, Outcome::NotSent);
    assert_eq!(bench.pass(ms(120)), ["inspect", "renew 3 over 10"]);
}

#[test]
fn the_users_back_off_does_not_keep_an_unanswered_acquire_from_being_looked_into() {
    let mut bench = Bench::with(Settings { backoff: Backoff::Fixed(secs(600)), ..settings() }, bucket());
    bench.begin(deleted(5));
    assert_eq!(bench.pass(secs(2)), ["reconnect", "state WAITING"]);
    assert_eq!(bench.pass(ms(120)), ["acquire 2 over 5", "state ACQUIRING"]);
    assert_eq!(bench.refused(2, 10), ["read 2", "state WAITING"]);
    assert_eq!(bench.read(2, mine(10, 1)), ["acquire 3 over 10", "leader me", "state ACQUIRING"]);
}

#[test]
fn the_users_back_off_does_not_keep_a_record_of_ours_in_the_way_that_is_observed_after_the_failure() {
    let store = Capabilities { incarnation_acked: true, ..bucket() };
    let mut bench = Bench::with(Settings { backoff: Backoff::Fixed(secs(600)), ..settings() }, store);
    bench.begin(expired(50));
    // The store was recreated. Compared with observations of the old store, the answer to the read is stale.
    let applied = bench.wrote(1, acknowledged(2, Some(Incarnation(2_000))));
    assert_eq!(applied, ["inspect", "read 2", "state WAITING"]);
    assert_eq!(bench.read(2, mine(2, 1)), ["reconnect"]);
    bench.inspected_as(|info| StoreInfo { incarnation: Incarnation(2_000), ..info });
    assert_eq!(bench.watched(mine(2, 1)), ["leader me"]);
    assert_eq!(bench.wake(), Some((Timer::Acquire, secs(1))));
    assert_eq!(bench.pass(secs(1)), ["acquire 2 over 2", "state ACQUIRING"]);
}

#[test]
fn others_hold_back_for_a_named_successor() {
    let mut bench = Bench::candidate(theirs(10));
    assert_eq!(bench.watched(handed_over(11, "other")), ["leader vacant"]);
    assert_eq!(bench.wake(), Some((Timer::Acquire, secs(1))));
    bench.pass(ms(400));
    bench.watched(handed_over(11, "other"));
    assert_eq!(bench.wake(), Some((Timer::Acquire, ms(600))), "from when it was first seen");
    assert_eq!(bench.pass(ms(600)), ["acquire 1 over 11", "state ACQUIRING"]);
}

#[test]
fn others_hold_back_for_a_tenth_of_a_short_lease() {
    let mut bench = Bench::with_info(
        Settings { preset: incumbent_core::campaign::Preset::Standard, ..settings() },
        bucket(),
        StoreInfo { max_age: Some(secs(5)), ..store_info(incumbent_core::Instant::ZERO) },
    )
    .expect("settings that fit");
    bench.give(Input::Campaign);
    bench.read(1, handed_over(11, "other"));
    assert_eq!(bench.wake(), Some((Timer::Acquire, ms(500))));
}

#[test]
fn a_named_successor_campaigns_at_once_however_many_races_it_lost() {
    let (mut bench, revision) = after_lost_races(12, 7);
    let outputs = bench.watched(handed_over(revision + 1, "me"));
    assert!(outputs[0].ends_with(&format!("over {}", revision + 1)), "{outputs:?}");
}

#[test]
fn a_candidate_that_resigned_lets_other_candidates_go_first() {
    let mut bench = Bench::leader();
    bench.give(Input::Resign);
    bench.give(Input::Drained);
    assert_eq!(bench.applied(2, 11), ["leader vacant", "state WAITING"]);
    assert_eq!(bench.wake(), Some((Timer::Acquire, secs(1))));
}

#[test]
fn what_a_candidate_observes_while_its_acquire_is_on_its_way_waits_for_the_answer() {
    let mut bench = Bench::candidate(deleted(5));
    assert_eq!(bench.watched(deleted(7)), NOTHING);
    assert_eq!(bench.refused(1, 7), ["acquire 2 over 7"], "known already: nothing is read");
}

#[test]
fn a_second_call_to_campaign_does_nothing() {
    let mut bench = Bench::candidate(theirs(10));
    assert_eq!(bench.give(Input::Campaign), NOTHING);
    let mut bench = Bench::leader();
    assert_eq!(bench.give(Input::Campaign), NOTHING);
}

#[test]
fn a_candidate_that_resigns_stays_one() {
    let mut bench = Bench::candidate(theirs(10));
    assert_eq!(bench.give(Input::Resign), NOTHING);
    assert_eq!(bench.give(Input::HandOver("other".into())), NOTHING);
    assert_eq!(bench.give(Input::Drained), NOTHING);
    assert_eq!(bench.give(Input::HandlerFailed), NOTHING);
    assert_eq!(bench.watched(deleted(11))[0], "acquire 1 over 11");
}

#[test]
fn an_absent_key_is_expected_to_be_absent() {
    let mut bench = Bench::candidate(theirs(10));
    bench.pass(T + ms(250));
    assert_eq!(bench.read(2, Entry::Vacant)[0], "acquire 1 over absent");
}
