//! The win delay: how long a new holder waits before its win is reported.

use incumbent_core::campaign::{Answer, Backoff, Input, Output, ReadId, Request, Settings, Timer, WinDelay};
use incumbent_core::record::Entry;
use incumbent_core::store::{Action, Capabilities, Outcome, StoreInfo, Write};
use incumbent_core::{Incarnation, Instant, Revision};
use std::time::Duration;

use crate::harness::*;

/// Keeps the lease by renewals until the win is reported. Returns the time from `since` to the win, and the token's
/// sequence.
fn reported_after(bench: &mut Bench, since: Instant) -> (Duration, String) {
    reported_after_from(bench, since, 1)
}

/// Like [`reported_after`], for an acquire with the number `attempt`.
fn reported_after_from(bench: &mut Bench, since: Instant, mut attempt: u64) -> (Duration, String) {
    let mut revision = 9 + attempt;
    loop {
        let mut outputs = bench.applied(attempt, revision);
        bench.sleep(Duration::from_nanos(1));
        outputs.extend(bench.inspected());
        loop {
            if let Some(won) = outputs.iter().find(|output| output.starts_with("won")) {
                return (bench.now.since(since), won.clone());
            }
            if outputs.iter().any(|output| output.starts_with("renew")) {
                break;
            }
            outputs = bench.next();
        }
        attempt += 1;
        revision += 1;
    }
}

const SOON: Duration = Duration::from_nanos(2);

#[test]
fn over_an_absence_never_preceded_by_a_record_the_win_is_reported_at_once() {
    let mut bench = Bench::candidate(Entry::Vacant);
    let start = bench.now;
    assert!(reported_after(&mut bench, start).0 <= SOON);
    let mut bench = Bench::candidate(expired(5));
    assert!(reported_after(&mut bench, start).0 <= SOON);
}

#[test]
fn cautious_waits_a_lease_over_an_absence_never_preceded_by_a_record() {
    for entry in [Entry::Vacant, expired(5)] {
        let mut bench = Bench::with(Settings { win_delay: WinDelay::Cautious, ..settings() }, bucket());
        bench.begin(entry);
        let start = bench.now;
        assert_eq!(reported_after(&mut bench, start), (T, "won 10".into()));
    }
}

#[test]
fn cautious_adds_nothing_where_a_record_was_observed() {
    let mut bench = Bench::with(Settings { win_delay: WinDelay::Cautious, ..settings() }, bucket());
    bench.begin(theirs(4));
    bench.pass(T);
    bench.watched(expired(5));
    let start = bench.now;
    assert!(reported_after(&mut bench, start).0 <= SOON);
}

/// Until the store applies the acquire, the key may hold the record of a leader that this candidate never observed.
#[test]
fn a_delay_of_the_settings_counts_from_when_the_acquire_was_acknowledged() {
    for (win_delay, delay) in [(WinDelay::Fixed(T * 3 / 4), T * 3 / 4), (WinDelay::Cautious, T)] {
        let mut bench = Bench::with(Settings { win_delay, ..settings() }, bucket());
        bench.begin(Entry::Vacant);
        bench.sleep(ms(700));
        let acknowledged = bench.now;
        assert_eq!(reported_after(&mut bench, acknowledged), (delay, "won 10".into()));
    }
}

#[test]
fn a_delay_of_the_settings_counts_from_the_watch_where_that_shows_the_acquire_first() {
    let mut bench = Bench::with(Settings { win_delay: WinDelay::Cautious, ..settings() }, bucket());
    bench.begin(Entry::Vacant);
    bench.sleep(ms(300));
    bench.watched(mine(10, 1));
    let shown = bench.now;
    bench.sleep(ms(400));
    assert_eq!(reported_after(&mut bench, shown), (T, "won 10".into()));
}

#[test]
fn a_retake_waits_the_delay_of_the_settings_from_when_the_orphan_was_first_observed() {
    let mut bench = Bench::with(Settings { win_delay: WinDelay::Cautious, ..settings() }, bucket());
    bench.begin(Entry::Vacant);
    bench.pass(secs(2));
    bench.wrote(1, Outcome::Unknown);
    bench.pass(secs(1));
    bench.watched(mine(10, 1));
    let shown = bench.now;
    assert_eq!(reported_after_from(&mut bench, shown, 2), (T, "won 11".into()));
}

#[test]
fn what_a_vanished_orphan_waited_for_is_still_owed() {
    let mut bench = Bench::with(Settings { win_delay: WinDelay::Cautious, ..settings() }, bucket());
    bench.begin(Entry::Vacant);
    bench.sleep(ms(300));
    bench.watched(mine(10, 1));
    let shown = bench.now;
    bench.watched(Entry::Vacant);
    bench.wrote(1, Outcome::NotSent);
    assert_eq!(bench.pass(secs(1)), ["acquire 2 over absent", "state ACQUIRING"]);
    assert_eq!(reported_after_from(&mut bench, shown, 2), (T, "won 11".into()));
}

#[test]
fn fixed_is_never_shorter_than_automatic() {
    let mut bench = Bench::with(Settings { win_delay: WinDelay::Fixed(secs(1)), ..settings() }, bucket());
    bench.begin(deleted(5));
    let start = bench.now;
    assert_eq!(reported_after(&mut bench, start).0, T);
}

#[test]
fn over_a_release_of_this_incarnation_it_waits_what_is_written_there_whatever_was_observed_before() {
    let mut bench = Bench::candidate(theirs(4));
    bench.pass(secs(1));
    bench.watched(released(5, secs(0)));
    let start = bench.now;
    assert!(reported_after(&mut bench, start).0 <= SOON);

    let mut bench = Bench::candidate(theirs(4));
    bench.pass(secs(1));
    bench.watched(released(5, secs(12)));
    let start = bench.now;
    assert_eq!(reported_after(&mut bench, start).0, secs(12));
}

#[test]
fn the_wait_of_a_release_counts_from_its_first_observation_and_not_from_the_acquire() {
    let mut bench = Bench::candidate(theirs(4));
    bench.watched(handed_over_owing(5, "other", secs(12)));
    let seen = bench.now;
    bench.pass(secs(1));
    assert_eq!(reported_after(&mut bench, seen).0, secs(12));
}

fn handed_over_owing(revision: u64, successor: &str, owed: Duration) -> Entry {
    match handed_over(revision, successor) {
        Entry::Released(release) => Entry::Released(incumbent_core::record::Release { owed, ..release }),
        other => other,
    }
}

#[test]
fn what_our_own_release_owed_is_owed_by_ourselves_as_well() {
    let mut bench = Bench::holder();
    let start = bench.now;
    bench.give(Input::Resign);
    bench.applied(2, 11);
    assert_eq!(bench.next(), ["acquire 3 over 11", "state ACQUIRING"]);
    assert_eq!(reported_after_from(&mut bench, start, 3).0, T);
}

#[test]
fn over_a_release_of_another_incarnation_it_waits_a_lease() {
    let release = match released(5, secs(0)) {
        Entry::Released(release) => {
            Entry::Released(incumbent_core::record::Release { incarnation: Incarnation(1), ..release })
        }
        other => other,
    };
    let mut bench = Bench::candidate(release);
    let start = bench.now;
    assert_eq!(reported_after(&mut bench, start).0, T);
}

#[test]
fn over_an_expiry_it_waits_until_the_last_records_lease_is_over_by_its_own_clock() {
    for gone in [Entry::Vacant, expired(5)] {
        let mut bench = Bench::candidate(theirs(4));
        let seen = bench.now;
        bench.pass(secs(25));
        bench.give(Input::Health(true));
        match &gone {
            Entry::Vacant => {
                bench.pass(T + ms(250) - secs(25));
                bench.read(2, Entry::Vacant);
                assert_eq!(reported_after(&mut bench, seen).0, T + ms(250) + Duration::from_nanos(1));
            }
            marker => {
                bench.watched(marker.clone());
                assert_eq!(reported_after(&mut bench, seen).0, T);
            }
        }
    }
}

#[test]
fn an_early_expiry_by_a_servers_clock_does_not_shorten_the_wait() {
    let mut bench = Bench::candidate(theirs(4));
    let seen = bench.now;
    bench.pass(secs(20));
    bench.watched(expired(5));
    assert_eq!(reported_after(&mut bench, seen).0, T);
}

#[test]
fn a_watching_candidate_waits_the_holders_lease_though_the_stores_maximum_age_was_lowered() {
    let mut bench = Bench::candidate(theirs(4));
    let seen = bench.now;
    bench.inspected_as(|info| StoreInfo { max_age: Some(secs(10)), ..info });
    bench.pass(secs(9));
    bench.watched(Entry::Vacant);
    let mut outputs = bench.applied(1, 10);
    outputs.extend(bench.inspected_as(|info| StoreInfo { max_age: Some(secs(10)), ..info }));
    let mut attempt = 1;
    while !outputs.iter().any(|output| output.starts_with("won")) {
        outputs = bench.next();
        if outputs.iter().any(|output| output.starts_with("renew")) {
            attempt += 1;
            bench.inspected_as(|info| StoreInfo { max_age: Some(secs(10)), ..info });
            outputs = bench.applied(attempt, 9 + attempt);
        }
    }
    assert_eq!(bench.now.since(seen), T);
}

#[test]
fn after_a_filtered_purge_a_watching_candidate_waits_the_holders_lease() {
    let mut bench = Bench::candidate(theirs(4));
    let seen = bench.now;
    bench.pass(secs(2));
    assert_eq!(bench.watched(Entry::Vacant)[0], "acquire 1 over absent");
    assert_eq!(reported_after(&mut bench, seen).0, T);
}

#[test]
fn over_a_foreign_tombstone_it_waits_a_lease_from_its_first_observation_and_for_a_renewal() {
    let mut bench = Bench::candidate(theirs(4));
    bench.pass(secs(20));
    bench.watched(deleted(5));
    let start = bench.now;
    assert_eq!(reported_after(&mut bench, start), (T, "won 10".into()));
}

#[test]
fn over_a_foreign_tombstone_no_win_is_reported_without_a_renewal_later_than_the_acquire() {
    let mut bench = Bench::with(settings(), bucket());
    bench.begin(deleted(5));
    let tombstone_seen = bench.now;
    bench.pass(secs(1));
    bench.wrote(1, Outcome::NotSent);
    bench.give(Input::Health(false));
    bench.pass(T);
    assert!(bench.now.since(tombstone_seen) > T);
    assert_eq!(bench.give(Input::Health(true)), ["acquire 2 over 5", "state ACQUIRING"]);
    bench.applied(2, 10);
    bench.sleep(ms(1));
    assert_eq!(bench.inspected(), NOTHING, "a lease has passed, but no renewal has been acknowledged");
    assert_eq!(bench.next(), ["inspect", "renew 3 over 10"]);
    bench.inspected();
    assert_eq!(bench.applied(3, 11), ["won 10", "state LEADING"]);
}

#[test]
fn the_holders_lease_counts_over_a_tombstone_where_it_is_the_longer() {
    let mut bench = Bench::candidate(with_lease(theirs(4), secs(50)));
    bench.watched(deleted(5));
    let start = bench.now;
    assert_eq!(reported_after(&mut bench, start).0, secs(50));
}

#[test]
fn a_raised_maximum_age_counts_for_a_tombstone_that_was_observed_before_it_was_known() {
    let mut bench = Bench::candidate(deleted(5));
    let start = bench.now;
    bench.applied(1, 10);
    bench.inspected_as(|info| StoreInfo { max_age: Some(T * 2), ..info });
    while !bench.next().iter().any(|output| output.starts_with("renew")) {}
    assert_eq!(reported_after_from(&mut bench, start, 2).0, T * 2);
}

#[test]
fn a_raised_maximum_age_counts_for_an_acquire_that_is_on_its_way() {
    let mut bench = Bench::candidate(deleted(5));
    let start = bench.now;
    bench.inspected_as(|info| StoreInfo { max_age: Some(T * 2), ..info });
    assert_eq!(reported_after(&mut bench, start).0, T * 2);
}

#[test]
fn a_tombstone_after_an_absence_counts_from_its_own_first_observation() {
    let mut bench = Bench::with(Settings { backoff: Backoff::Fixed(secs(20)), ..settings() }, bucket());
    bench.begin(Entry::Vacant);
    bench.wrote(1, Outcome::NotSent);
    bench.pass(secs(15));
    assert_eq!(bench.watched(deleted(7)), NOTHING, "a leader that this candidate never observed was deleted");
    let seen = bench.now;
    bench.pass(secs(5));
    assert_eq!(reported_after_from(&mut bench, seen, 2).0, T);
}

#[test]
fn a_young_store_makes_every_candidate_wait_until_it_is_a_lease_and_a_skew_old() {
    let young = StoreInfo { age: Some(secs(11)), ..store_info(Instant::ZERO) };
    let mut bench = Bench::with_info(settings(), bucket(), young).expect("settings that fit");
    let start = bench.now;
    bench.begin(Entry::Vacant);
    assert_eq!(reported_after(&mut bench, start).0, T + secs(1) - secs(11));
}

#[test]
fn a_store_that_does_not_know_its_age_is_a_lease_old_when_it_was_watched_for_one() {
    let ageless = StoreInfo { age: None, ..store_info(Instant::ZERO) };
    let mut bench = Bench::with_info(settings(), bucket(), ageless).expect("settings that fit");
    let start = bench.now;
    bench.begin(Entry::Vacant);
    assert_eq!(reported_after(&mut bench, start).0, T);
}

#[test]
fn a_store_whose_name_was_never_used_makes_no_candidate_wait() {
    let new = StoreInfo { age: Some(secs(0)), never_used: true, ..store_info(Instant::ZERO) };
    let mut bench = Bench::with_info(settings(), bucket(), new).expect("settings that fit");
    let start = bench.now;
    bench.begin(Entry::Vacant);
    assert!(reported_after(&mut bench, start).0 <= SOON);
}

#[test]
fn no_win_is_reported_before_the_store_is_known_to_be_the_same_after_the_acquire() {
    let mut bench = Bench::candidate(Entry::Vacant);
    bench.sleep(ms(5));
    let asked_before = bench.now.before(ms(1));
    bench.applied(1, 10);
    assert_eq!(bench.inspected_as(|info| StoreInfo { asked_at: asked_before, ..info }), NOTHING);
    assert_eq!(bench.inspected(), ["won 10", "state LEADING"]);
}

#[test]
fn the_deadline_of_a_win_counts_from_the_newest_applied_renewal() {
    let mut bench = Bench::candidate(deleted(5));
    let start = bench.now;
    assert_eq!(reported_after(&mut bench, start).0, T);
    let remaining = bench.remaining().expect("a lease");
    assert!(remaining > secs(18) && remaining < T - M, "{remaining:?}");
}

#[test]
fn no_win_is_reported_whose_lease_would_be_over_already() {
    let mut bench = Bench::holder();
    let start = bench.now;
    let mut said = Vec::new();
    let mut attempt = 2;
    while bench.now.since(start) < T + secs(5) {
        let outputs = bench.next();
        if outputs.iter().any(|output| output.starts_with("renew")) {
            said.extend(bench.applied(attempt, 9 + attempt));
            attempt += 1;
        }
        said.extend(outputs);
    }
    assert!(attempt > 4, "it was renewed");
    assert!(!said.iter().any(|output| output.starts_with("won")), "no inspection was answered: {said:?}");
    assert_eq!(
        bench.inspected(),
        ["won 10", "state LEADING"],
        "the win comes once an inspection shows the same store"
    );
    assert!(bench.leads());
}

/// The time for which the store keeps the record that follows this input. It equals the wait of the record's holder.
fn lives_over(bench: &mut Bench, input: Input) -> Option<Duration> {
    bench.give_in_full(input).iter().find_map(|output| match output {
        Output::Ask(Request::Write(Write { action: Action::Acquire(put), .. })) => Some(put.lease),
        _ => None,
    })
}

#[test]
fn a_record_is_kept_for_the_delay_of_the_settings() {
    let delay = T * 3 / 2;
    let store = Capabilities { own_lease: true, ..bucket() };
    let ageless = StoreInfo { max_age: None, ..store_info(Instant::ZERO) };
    let settings = Settings { win_delay: WinDelay::Fixed(delay), ..settings() };
    let mut bench = Bench::with_info(settings, store, ageless).expect("settings that fit");
    bench.give(Input::Campaign);
    let read = Input::Answered(Answer::Read { read: ReadId(1), result: Ok(Entry::Vacant) });
    assert_eq!(lives_over(&mut bench, read), Some(delay));
}

#[test]
fn a_wait_that_no_lease_can_have_counts_as_the_stores_maximum_age() {
    let endless = Duration::from_millis(u64::MAX);
    for absurd in [released(5, endless), Entry::Deleted { revision: Revision(5), lease: Some(endless) }] {
        let mut bench = Bench::new();
        bench.give(Input::Campaign);
        let read = Input::Answered(Answer::Read { read: ReadId(1), result: Ok(absurd) });
        assert_eq!(lives_over(&mut bench, read), Some(T));
    }
    let mut bench = Bench::candidate(with_lease(theirs(4), endless));
    assert_eq!(lives_over(&mut bench, Input::Watched(expired(5))), Some(T));
}

#[test]
fn a_wait_longer_than_the_maximum_age_is_believed_where_that_may_have_been_lowered() {
    let mut bench = Bench::candidate(with_lease(theirs(4), secs(3_600)));
    let seen = bench.now;
    bench.watched(expired(5));
    assert_eq!(reported_after(&mut bench, seen).0, secs(3_600));
}

#[test]
fn without_a_maximum_age_a_wait_is_believed_up_to_the_longest_lease_of_all() {
    let endless = Duration::from_millis(u64::MAX);
    let ageless = StoreInfo { max_age: None, ..store_info(Instant::ZERO) };
    let store = Capabilities { own_lease: true, ..bucket() };
    let mut bench = Bench::with_info(settings(), store, ageless).expect("settings that fit");
    bench.begin(with_lease(theirs(4), endless));
    // The candidate reads the key when the record should be gone.
    let (timer, wait) = bench.wake().expect("a wake-up");
    assert_eq!((timer, wait), (Timer::Poll, secs(365 * 24 * 3600) + ms(250)));
}
