//! Records of our own outside a term: retaken or removed, so that they never delay other candidates for long.

use incumbent_core::campaign::{Input, Settings, Timer, WinDelay};
use incumbent_core::record::Entry;
use incumbent_core::store::{Outcome, StoreInfo};
use incumbent_core::{Incarnation, Instant};

use crate::harness::*;

#[test]
fn an_orphan_is_retaken_with_the_wait_of_the_attempt_that_wrote_it() {
    let mut bench = Bench::candidate(deleted(5));
    let wait_ends = bench.now + T;
    bench.pass(secs(2));
    assert_eq!(bench.watched(mine(10, 1)), ["leader me"]);
    assert_eq!(bench.next(), ["acquire 2 over 10", "state ACQUIRING"]);
    bench.applied(2, 11);
    bench.sleep(ms(1));
    bench.inspected();
    assert_eq!(won_at(&mut bench, wait_ends, 3, 12), "won 11");
}

/// Renews until a win is reported. Checks that this is at the instant `at`, and returns the win.
fn won_at(bench: &mut Bench, at: Instant, mut attempt: u64, mut revision: u64) -> String {
    for _ in 0..1000 {
        let mut outputs = bench.next();
        if outputs.iter().any(|output| output.starts_with("renew")) {
            outputs.extend(bench.applied(attempt, revision));
            attempt += 1;
            revision += 1;
        }
        outputs.extend(bench.inspected());
        if let Some(won) = outputs.iter().find(|output| output.starts_with("won")) {
            assert_eq!(bench.now, at);
            return won.clone();
        }
    }
    panic!("never won");
}

#[test]
fn an_orphan_is_released_with_the_wait_of_the_attempt_that_wrote_it() {
    let mut bench = Bench::candidate(deleted(5));
    bench.pass(secs(2));
    bench.watched(mine(10, 1));
    bench.sleep(ms(60));
    assert_eq!(bench.give(Input::Close), ["release 2 over 10 owing 27940ms", "state RELEASING"]);
}

#[test]
fn without_markers_an_orphan_is_retaken_even_when_its_lease_is_over() {
    let mut bench = Bench::candidate(Entry::Vacant);
    bench.sleep(T + secs(5));
    bench.tick();
    bench.watched(mine(10, 1));
    assert_eq!(bench.next(), ["acquire 2 over 10", "state ACQUIRING"]);
}

fn with_markers() -> Bench {
    let mut bench = Bench::with(settings(), bucket_with_markers());
    bench.begin(Entry::Vacant);
    bench
}

#[test]
fn with_markers_an_orphan_is_retaken_before_its_own_deadline_only() {
    let mut bench = with_markers();
    bench.pass(secs(2));
    bench.watched(mine(10, 1));
    assert_eq!(bench.next(), ["acquire 2 over 10", "state ACQUIRING"]);

    let mut bench = with_markers();
    bench.sleep(T - M - ms(1));
    bench.tick();
    bench.watched(mine(10, 1));
    bench.sleep(ms(1));
    let outputs = bench.pass(secs(60));
    assert!(!outputs.iter().any(|output| output.starts_with("acquire")), "{outputs:?}");
    assert!(
        outputs.iter().any(|output| output.starts_with("read")),
        "it reads the key to find the marker: {outputs:?}"
    );
    assert_eq!(bench.watched(expired(11)).first().map(String::as_str), Some("acquire 2 over 11"));
}

#[test]
fn with_markers_a_retaking_acknowledged_after_the_orphans_deadline_is_not_reported() {
    for (late, expected) in [(ms(1), "won 11"), (ms(0), "")] {
        let mut bench = with_markers();
        let deadline = bench.now + (T - M);
        bench.pass(secs(2));
        bench.watched(mine(10, 1));
        assert_eq!(bench.next(), ["acquire 2 over 10", "state ACQUIRING"]);
        bench.inspected();
        bench.now = deadline.before(late);
        let acknowledged = bench.applied(2, 11);
        bench.sleep(ms(1));
        let mut said = bench.inspected();
        said.extend(bench.pass(ms(500)));
        let won: Vec<_> = said.iter().filter(|output| output.starts_with("won")).collect();
        assert_eq!(won.iter().map(|won| won.as_str()).collect::<String>(), expected, "{acknowledged:?}");
    }
}

#[test]
fn with_markers_a_retaking_acknowledged_too_late_is_not_itself_retaken() {
    let mut bench = with_markers();
    let deadline = bench.now + (T - M);
    bench.pass(secs(2));
    bench.watched(mine(10, 1));
    assert_eq!(bench.next(), ["acquire 2 over 10", "state ACQUIRING"]);
    bench.now = deadline;
    assert_eq!(
        bench.applied(2, 11),
        ["state WAITING"],
        "the marker for revision 10 may be on its way, and would erase the retake"
    );
    let outputs = bench.pass(secs(20));
    assert!(!outputs.iter().any(|output| output.starts_with("acquire")), "{outputs:?}");
}

#[test]
fn an_orphan_whose_attempt_is_forgotten_waits_a_whole_lease_and_for_a_renewal() {
    let mut bench = Bench::candidate(Entry::Vacant);
    let awaited = bench.forget_the_first_attempt();
    let first_seen = bench.retake_a_forgotten_record(mine(10, 1), awaited);
    bench.sleep(ms(1));
    bench.inspected();
    assert_eq!(won_at(&mut bench, first_seen + T, awaited + 2, 12), "won 11");
}

#[test]
fn an_orphan_whose_attempt_is_forgotten_waits_the_delay_of_the_settings_where_that_is_longer_than_a_lease() {
    let win_delay = WinDelay::Fixed(T * 3 / 2);
    let mut bench = Bench::with(Settings { win_delay, ..settings() }, bucket());
    bench.begin(Entry::Vacant);
    let awaited = bench.forget_the_first_attempt();
    let first_seen = bench.retake_a_forgotten_record(mine(10, 1), awaited);
    bench.sleep(ms(1));
    bench.inspected();
    assert_eq!(won_at(&mut bench, first_seen + T * 3 / 2, awaited + 2, 12), "won 11");
}

#[test]
fn stopped_while_an_acquire_is_on_its_way_the_orphan_is_removed() {
    let mut bench = Bench::candidate(Entry::Vacant);
    assert_eq!(bench.give(Input::Close), ["state RELEASING"], "nothing to release yet");
    assert_eq!(bench.applied(1, 10), ["release 2 over 10 owing 0ms", "leader me"]);
    assert_eq!(bench.applied(2, 11), ["state CLOSED"]);
}

#[test]
fn stopped_while_an_acquire_is_on_its_way_that_fails_there_is_nothing_to_remove() {
    let mut bench = Bench::candidate(Entry::Vacant);
    bench.give(Input::Close);
    assert_eq!(bench.refused(1, 10), ["read 2"]);
    assert_eq!(bench.read(2, theirs(10)), ["state CLOSED"]);
}

#[test]
fn stopped_after_an_acquire_that_was_never_answered_the_key_is_looked_at() {
    let mut bench = Bench::candidate(Entry::Vacant);
    bench.pass(secs(2));
    assert_eq!(bench.give(Input::Close), ["read 2", "state RELEASING"]);
    assert_eq!(bench.read(2, mine(10, 1)), ["release 2 over 10 owing 0ms", "leader me"]);
    assert_eq!(bench.applied(2, 11), ["state CLOSED"]);
}

#[test]
fn stopped_after_an_acquire_of_unknown_outcome_the_key_is_looked_at() {
    let mut bench = Bench::candidate(Entry::Vacant);
    bench.wrote(1, Outcome::Unknown);
    assert_eq!(bench.give(Input::Close), ["read 2", "state RELEASING"]);
    assert_eq!(bench.read(2, Entry::Vacant), ["state CLOSED"]);

    let mut bench = Bench::candidate(Entry::Vacant);
    bench.wrote(1, Outcome::NotSent);
    assert_eq!(
        bench.give(Input::Close),
        ["state CLOSED"],
        "a write that was not sent certainly left no record"
    );
}

#[test]
fn a_record_of_ours_that_turns_up_when_we_have_left_the_race_is_removed() {
    let mut bench = Bench::candidate(Entry::Vacant);
    bench.pass(secs(2));
    assert_eq!(bench.give(Input::Health(false)), ["read 2", "state RELEASING"]);
    assert_eq!(bench.read(2, Entry::Vacant), ["state IDLE"]);
    assert_eq!(bench.applied(1, 10), ["release 2 over 10 owing 0ms", "leader me", "state RELEASING"]);
    assert_eq!(bench.applied(2, 11), ["leader vacant", "state IDLE"]);

    let mut bench = Bench::candidate(Entry::Vacant);
    bench.pass(secs(2));
    bench.give(Input::Health(false));
    bench.read(2, Entry::Vacant);
    assert_eq!(
        bench.watched(mine(10, 1)),
        ["release 2 over 10 owing 0ms", "leader me", "state RELEASING"],
        "the watch shows it too"
    );
}

#[test]
fn after_an_operators_deletion_the_wait_goes_with_a_retaken_orphan() {
    let mut bench = Bench::candidate(theirs(4));
    bench.pass(secs(3));
    bench.watched(deleted(5));
    let wait_ends = bench.now + T;
    bench.pass(secs(2));
    bench.watched(mine(10, 1));
    bench.pass(ms(120));
    bench.applied(2, 11);
    bench.sleep(ms(1));
    bench.inspected();
    assert_eq!(won_at(&mut bench, wait_ends, 3, 12), "won 11");
}

#[test]
fn after_an_operators_deletion_the_wait_goes_with_a_release() {
    let mut bench = Bench::holder();
    bench.sleep(secs(4));
    assert_eq!(bench.give(Input::Resign), ["release 2 over 10 owing 26000ms", "state RELEASING"]);
}

#[test]
fn two_campaigns_of_one_process_do_not_count_each_others_records_as_their_own() {
    let namesake = |revision| match theirs(revision) {
        Entry::Live(record) => {
            Entry::Live(incumbent_core::record::Record { candidate: "me".into(), ..record })
        }
        other => other,
    };
    let mut bench = Bench::candidate(namesake(10));
    assert_eq!(bench.wake(), Some((Timer::Poll, T + ms(250))), "not retaken");

    let mut bench = Bench::leader();
    assert_eq!(bench.watched(namesake(11))[0], "lost 10 USURPED");
}

#[test]
fn while_no_token_is_large_enough_an_orphan_is_removed_and_not_retaken() {
    let mut bench = Bench::new();
    bench.begin(theirs(100));
    bench.watched(deleted(101));
    bench.wrote(1, Outcome::Unknown);
    bench.inspected_as(|info| StoreInfo { incarnation: Incarnation(INCARNATION.0 - 1), ..info });
    assert_eq!(bench.watched(mine(7, 1)), ["release 2 over 7 owing 30000ms", "leader me", "state RELEASING"]);
}

#[test]
fn an_acquire_that_was_long_under_way_waits_for_a_holder_observed_meanwhile() {
    let mut bench = Bench::candidate(Entry::Vacant);
    bench.pass(secs(3));
    bench.watched(theirs(5));
    let seen = bench.now;
    bench.pass(secs(1));
    // The other candidate's record was purged before our acquire arrived.
    let outputs = bench.applied(1, 6);
    assert!(!outputs.iter().any(|output| output.starts_with("won")), "{outputs:?}");
    let mut attempt = 2;
    loop {
        let mut outputs = bench.next();
        outputs.extend(bench.inspected());
        if outputs.iter().any(|output| output.starts_with("renew") || output.starts_with("acquire")) {
            outputs.extend(bench.applied(attempt, attempt + 5));
            outputs.extend(bench.inspected());
            attempt += 1;
        }
        if outputs.iter().any(|output| output.starts_with("won")) {
            return assert_eq!(bench.now.since(seen), T);
        }
    }
}

#[test]
fn a_candidate_that_leaves_while_its_acquire_is_long_under_way_owes_what_was_observed_meanwhile() {
    let mut bench = Bench::candidate(Entry::Vacant);
    bench.watched(theirs(5));
    bench.give(Input::Close);
    let outputs = bench.applied(1, 6);
    assert!(outputs.contains(&"release 2 over 6 owing 30000ms".to_string()), "{outputs:?}");
}

#[test]
fn an_acquire_that_is_acknowledged_when_something_newer_is_known_makes_no_holder() {
    let mut bench = Bench::candidate(Entry::Vacant);
    bench.pass(secs(3));
    bench.pass(secs(1));
    // The second acquire is refused. Regardless of who wrote revision 8, the record of the first acquire is gone.
    let attempt = 2;
    bench.refused(attempt, 8);
    let outputs = bench.applied(1, 6);
    assert!(!outputs.iter().any(|output| output == "state HOLDING"), "{outputs:?}");
    assert_eq!(bench.campaign.lease(), None);
}

#[test]
fn an_unknown_record_of_ours_is_waited_for_also_when_it_vanishes() {
    let elsewhere = |info: StoreInfo| StoreInfo { incarnation: Incarnation(2_000), ..info };
    let mut bench = Bench::with(settings(), bucket_with_markers());
    bench.begin(deleted(5));
    bench.applied(1, 6);
    // The acquire was applied in another incarnation, over another candidate's record. Then the server's marker erases
    // it.
    bench.inspected_as(elsewhere);
    bench.read(2, mine(6, 1));
    let seen = bench.now;
    bench.pass(secs(1));
    assert_eq!(bench.watched(expired(7))[0], "acquire 2 over 7");
    let mut outputs = bench.applied(2, 8);
    let mut attempt = 3;
    loop {
        outputs.extend(bench.inspected_as(elsewhere));
        if outputs.iter().any(|output| output.starts_with("won")) {
            return assert_eq!(bench.now.since(seen), T);
        }
        outputs = bench.next();
        if outputs.iter().any(|output| output.starts_with("renew")) {
            outputs.extend(bench.applied(attempt, attempt + 6));
            attempt += 1;
        }
    }
}
