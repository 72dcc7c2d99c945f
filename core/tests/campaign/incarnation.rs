//! Another incarnation of the store: deleted and recreated, or restored from a backup.

use incumbent_core::campaign::{Input, Timer};
use incumbent_core::record::Entry;
use incumbent_core::store::{Capabilities, FaultKind, Outcome, StoreInfo};
use incumbent_core::{Incarnation, Revision};

use crate::harness::*;
use crate::lowered_age::reported_after;

const NEXT: Incarnation = Incarnation(2_000);

fn recreated(info: StoreInfo) -> StoreInfo {
    StoreInfo { incarnation: NEXT, age: Some(secs(1)), ..info }
}

#[test]
fn a_store_that_was_deleted_is_reported_and_the_term_ends_at_its_deadline() {
    let mut bench = Bench::leader();
    bench.pass(secs(10));
    assert_eq!(bench.wrote(2, Outcome::Failed(fault(FaultKind::Broken))), ["warning Broken"]);
    assert_eq!(bench.give(Input::Inspected(Err(fault(FaultKind::Broken)))), NOTHING);
    assert!(bench.leads());
    bench.sleep(bench.remaining().expect("a lease"));
    assert_eq!(bench.tick()[0], "lost 10 EXPIRED");
}

#[test]
fn another_incarnation_ends_the_term_and_the_key_is_read_again() {
    let mut bench = Bench::leader();
    bench.pass(secs(10));
    assert_eq!(bench.inspected_as(recreated), ["lost 10 STORE_RESET", "warning StoreReset", "state WAITING"]);
    assert!(!bench.leads());
    assert_eq!(bench.wrote(2, Outcome::Unknown), NOTHING);
    bench.pass(ms(120));
    let outputs = bench.read(2, Entry::Vacant);
    assert_eq!(
        outputs[0], "acquire 3 over absent",
        "small revisions in a new store are no regression: {outputs:?}"
    );
    assert_eq!(bench.applied(3, 1)[0], "inspect");
}

#[test]
fn a_candidate_that_knew_another_incarnation_does_not_believe_that_the_name_was_never_used() {
    let made_as_new = |info: StoreInfo| StoreInfo { never_used: true, age: Some(secs(0)), ..recreated(info) };
    let mut bench = Bench::candidate(theirs(4));
    let seen = bench.now;
    assert_eq!(bench.inspected_as(made_as_new)[0], "warning StoreReset");
    bench.read(2, Entry::Vacant);
    bench.applied(1, 1);
    reported_after(&mut bench, 1, made_as_new);
    assert_eq!(bench.now.since(seen), T, "the leader of the old incarnation may not know of the new one");
}

#[test]
fn in_a_young_incarnation_no_win_is_reported_before_it_is_a_lease_old() {
    let mut bench = Bench::leader();
    let seen = bench.now;
    bench.inspected_as(recreated);
    bench.read(2, Entry::Vacant);
    let mut attempt = 2;
    let mut outputs = bench.applied(2, 1);
    while !outputs.iter().any(|output| output.starts_with("won")) {
        assert!(!bench.leads());
        outputs = bench.inspected_as(recreated);
        outputs.extend(bench.next());
        if outputs.iter().any(|output| output.starts_with("renew")) {
            attempt += 1;
            outputs.extend(bench.applied(attempt, attempt - 1));
        }
    }
    assert!(outputs.contains(&"won 1".to_string()), "{outputs:?}");
    assert_eq!(bench.now.since(seen), T);
    assert_eq!(bench.campaign.lease().map(|lease| lease.token.incarnation), Some(NEXT), "a larger token");
}

#[test]
fn in_a_young_incarnation_no_win_is_reported_before_the_last_holders_lease_is_over() {
    let mut bench = Bench::candidate(with_lease(theirs(10), secs(50)));
    let seen = bench.now;
    assert_eq!(bench.inspected_as(recreated), ["warning StoreReset", "read 2"]);
    bench.read(2, Entry::Vacant);
    let mut attempt = 1;
    let mut outputs = bench.applied(1, 1);
    while !outputs.iter().any(|output| output.starts_with("won")) {
        outputs = bench.inspected_as(recreated);
        outputs.extend(bench.next());
        if outputs.iter().any(|output| output.starts_with("renew")) {
            attempt += 1;
            outputs.extend(bench.applied(attempt, attempt));
        }
    }
    assert_eq!(bench.now.since(seen), secs(50));
}

#[test]
fn a_renewal_that_happens_to_match_the_new_incarnations_sequence_makes_no_leader() {
    let mut bench = Bench::leader();
    bench.pass(secs(10));
    assert_eq!(bench.applied(2, 11), NOTHING, "nothing shows yet that the store was replaced");
    assert_eq!(bench.remaining(), Some(T - M - secs(10)), "and nothing is proven by it");
    assert_eq!(
        bench.inspected_as(recreated),
        ["lost 10 STORE_RESET", "warning StoreReset", "read 2", "state WAITING"]
    );
    assert!(!bench.leads());
    assert_eq!(bench.read(2, mine(11, 2)), ["acquire 3 over 11", "state ACQUIRING"]);
    bench.applied(3, 12);
    bench.sleep(ms(1));
    assert_eq!(bench.inspected_as(recreated), NOTHING, "no win comes before the incarnation is a lease old");
    assert!(!bench.leads());
}

#[test]
fn an_acquire_that_matches_the_new_incarnations_sequence_is_not_reported_either() {
    let mut bench = Bench::candidate(deleted(5));
    assert_eq!(bench.applied(1, 6)[0], "inspect");
    assert_eq!(bench.inspected_as(recreated), ["warning StoreReset", "read 2", "state WAITING"]);
    assert_eq!(bench.campaign.lease(), None);
}

#[test]
fn an_acquire_meant_for_the_old_incarnation_is_looked_into_when_it_is_acknowledged_in_the_new_one() {
    let mut bench = Bench::candidate(deleted(5));
    assert_eq!(bench.inspected_as(recreated), ["warning StoreReset"]);
    assert_eq!(
        bench.applied(1, 6),
        ["read 2", "state WAITING"],
        "it is unknown which record the acquire replaced"
    );
    assert_eq!(bench.read(2, mine(6, 1)), ["acquire 2 over 6", "leader me", "state ACQUIRING"]);
}

#[test]
fn an_acknowledgement_from_a_former_incarnation_does_not_end_a_term_of_the_present() {
    let store = Capabilities { incarnation_acked: true, ..bucket() };
    let mut bench = Bench::leader_with(settings(), store);
    bench.sleep(secs(10));
    assert_eq!(bench.tick()[0], "renew 2 over 10");
    let next = |info: StoreInfo| StoreInfo { age: Some(T * 2), ..recreated(info) };
    bench.inspected_as(next);
    assert_eq!(bench.pass(secs(3)), ["reconnect", "read 2"], "the renewal is not answered");
    bench.read(2, Entry::Expired { revision: Revision(3) });
    bench.wrote(3, acknowledged(4, Some(NEXT)));
    bench.pass(ms(1));
    assert!(bench.leads());
    assert_eq!(bench.wrote(2, acknowledged(11, Some(INCARNATION))), NOTHING);
    assert!(bench.leads());
}

#[test]
fn the_wait_of_an_attempt_meant_for_another_incarnation_is_not_believed() {
    let old = |info: StoreInfo| StoreInfo { incarnation: NEXT, ..info };
    let mut bench = Bench::candidate(Entry::Vacant);
    bench.inspected_as(old);
    bench.applied(1, 6);
    bench.read(2, mine(6, 1));
    let seen = bench.now;
    let mut attempt = 2;
    let mut outputs = bench.applied(2, 7);
    while !outputs.iter().any(|output| output.starts_with("won")) {
        outputs = bench.inspected_as(old);
        outputs.extend(bench.next());
        if outputs.iter().any(|output| output.starts_with("renew")) {
            attempt += 1;
            outputs.extend(bench.applied(attempt, 5 + attempt));
        }
    }
    assert_eq!(bench.now.since(seen), T, "the acquire may have replaced any record");
}

#[test]
fn a_win_is_not_reported_while_the_store_cannot_be_inspected() {
    let mut bench = Bench::candidate(Entry::Vacant);
    bench.applied(1, 10);
    assert_eq!(bench.give(Input::Inspected(Err(fault(FaultKind::Unreachable)))), ["warning Unreachable"]);
    bench.pass(secs(9));
    assert_eq!(bench.campaign.lease(), None);
    assert_eq!(bench.inspected(), ["won 10", "state LEADING"]);
}

#[test]
fn an_older_incarnation_is_a_restored_backup_and_bars_the_candidate() {
    let mut bench = Bench::candidate(theirs(10));
    let restored =
        |info: StoreInfo| StoreInfo { incarnation: Incarnation(500), newest: Some(Revision(80)), ..info };
    assert_eq!(bench.inspected_as(restored), ["warning StoreReset, barred"]);
    assert_eq!(bench.watched(deleted(9)), ["leader vacant"], "not campaigned for");
    let outputs = bench.pass(secs(60));
    assert!(outputs.iter().all(|output| output == "inspect"), "{outputs:?}");
    bench.inspected_as(restored);
    assert_eq!(bench.wake(), Some((Timer::Poll, secs(10))));
    assert_eq!(bench.give(Input::Accept), ["acquire 1 over 9", "state ACQUIRING"]);
}

#[test]
fn a_backup_of_this_incarnation_bars_until_its_sequences_are_beyond_every_token_observed() {
    let mut bench = Bench::leader_far_on();
    bench.pass(secs(10));
    bench.inspected();
    assert_eq!(bench.applied(2, 4)[..2], ["lost 1000 STORE_RESET", "warning StoreReset, barred"]);
}

#[test]
fn memory_storage_that_comes_back_empty_is_noticed_by_its_small_acknowledgements() {
    let mut bench = Bench::candidate(theirs(1_000));
    bench.watched(Entry::Vacant);
    let outputs = bench.applied(1, 1);
    assert_eq!(outputs[0], "warning StoreReset, barred");
    assert!(outputs.contains(&"release 2 over 1 owing 30000ms".to_string()), "{outputs:?}");
    assert_eq!(bench.campaign.lease(), None);
}

#[test]
fn the_incarnation_ends_for_a_release_too() {
    let mut bench = Bench::leader();
    bench.give(Input::Close);
    bench.give(Input::Drained);
    assert_eq!(
        bench.inspected_as(recreated),
        ["warning StoreReset", "state CLOSED"],
        "nothing is left there"
    );
}

#[test]
fn what_was_read_in_another_incarnation_is_read_again() {
    let mut bench = Bench::candidate(theirs(10));
    bench.pass(T + ms(250));
    bench.inspected_as(recreated);
    assert_eq!(bench.read(2, theirs(10)), ["read 3"]);
    assert_eq!(bench.read(3, theirs(2)), NOTHING);
    assert_eq!(bench.wake(), Some((Timer::Poll, T + ms(250))));
}

#[test]
fn an_inspection_asked_before_a_newer_one_says_nothing() {
    let mut bench = Bench::leader();
    bench.sleep(secs(1));
    bench.inspected();
    let asked_at = bench.now.before(ms(500));
    assert_eq!(bench.inspected_as(|info| StoreInfo { asked_at, ..recreated(info) }), NOTHING);
    assert_eq!(bench.inspected_as(|info| StoreInfo { asked_at, max_age: Some(secs(9)), ..info }), NOTHING);
    assert!(bench.leads());
}

#[test]
fn a_watch_that_shows_the_acquire_confirms_the_incarnation_without_another_inspection() {
    let mut bench = Bench::new();
    bench.give(Input::Watching { since: bench.now.before(secs(2)) });
    bench.begin(Entry::Vacant);
    bench.sleep(ms(5));
    assert_eq!(bench.applied(1, 10), ["inspect", "leader me", "state HOLDING"]);
    assert_eq!(bench.watched(mine(10, 1)), ["won 10", "state LEADING"]);
    assert_eq!(bench.remaining(), Some(T - M - ms(5)));
}

#[test]
fn a_watch_that_shows_the_acquire_before_its_acknowledgement_confirms_it_too() {
    let mut bench = Bench::new();
    bench.give(Input::Watching { since: bench.now.before(secs(2)) });
    bench.begin(Entry::Vacant);
    bench.sleep(ms(5));
    assert_eq!(bench.watched(mine(10, 1)), ["leader me"]);
    assert_eq!(bench.applied(1, 10), ["inspect", "won 10", "state LEADING"]);
}

#[test]
fn a_watch_confirms_only_the_write_that_it_shows() {
    let mut bench = Bench::new();
    bench.give(Input::Watching { since: bench.now.before(secs(2)) });
    bench.begin(Entry::Vacant);
    bench.sleep(ms(5));
    bench.applied(1, 10);
    assert_eq!(bench.watched(theirs(4)), NOTHING);
    assert_eq!(bench.watched(mine(9, 1)), NOTHING);
    assert_eq!(bench.campaign.lease(), None);
    assert_eq!(bench.watched(mine(10, 1)), ["won 10", "state LEADING"]);
}

#[test]
fn a_watched_renewal_shows_the_store_to_be_the_same_where_the_watch_is_of_its_incarnation() {
    for (begins_again, remaining) in [(false, T - M), (true, T - M - secs(10))] {
        let mut bench = Bench::new();
        bench.give(Input::Watching { since: bench.now.before(secs(2)) });
        bench.begin(Entry::Vacant);
        bench.applied(1, 10);
        bench.inspected();
        bench.pass(secs(5));
        if begins_again {
            assert_eq!(bench.give(Input::Watching { since: bench.now }), ["inspect"]);
        }
        bench.pass(secs(5));
        bench.watched(mine(11, 2));
        assert_eq!(bench.remaining(), Some(remaining), "a new watch: {begins_again}");
    }
}

#[test]
fn a_watch_that_may_see_another_incarnation_confirms_nothing() {
    let mut bench = Bench::new();
    assert_eq!(bench.give(Input::Watching { since: bench.now }), ["inspect"]);
    bench.begin(Entry::Vacant);
    bench.sleep(ms(5));
    assert_eq!(bench.applied(1, 10), ["inspect", "leader me", "state HOLDING"]);
    assert_eq!(bench.watched(mine(10, 1)), NOTHING);
    assert_eq!(bench.inspected(), ["won 10", "state LEADING"]);
}

#[test]
fn what_the_watch_showed_before_an_inspection_is_waited_for_in_the_other_incarnation() {
    // The watch had already begun in the new incarnation, which is more than a lease old because it was restored from a
    // backup.
    let mut bench = Bench::candidate(theirs(4));
    bench.watched(theirs(50));
    let shown = bench.now;
    bench.sleep(secs(1));
    let restored = |info: StoreInfo| StoreInfo { incarnation: NEXT, ..info };
    assert_eq!(bench.inspected_as(restored)[0], "warning StoreReset");
    // The stream was purged meanwhile.
    let mut outputs = bench.read(2, Entry::Vacant);
    let mut revision = 60;
    while !bench.leads() {
        let mut next = Vec::new();
        for output in outputs {
            let words: Vec<&str> = output.split(' ').collect();
            match words[..] {
                ["renew" | "acquire", attempt, "over", ..] => {
                    revision += 1;
                    next.extend(bench.applied(attempt.parse().expect("a number"), revision));
                }
                ["inspect"] => next.extend(bench.inspected_as(restored)),
                _ => {}
            }
        }
        outputs = if next.is_empty() && !bench.leads() { bench.next() } else { next };
    }
    assert_eq!(bench.now, shown + T);
}
