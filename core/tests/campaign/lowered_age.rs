//! The store's maximum age is lowered while a leader may still count on the longer lease. The wait for an unknown
//! leader must not be shortened.

use std::time::Duration;

use incumbent_core::record::{Entry, Record};
use incumbent_core::store::StoreInfo;
use incumbent_core::{Incarnation, Revision};

use crate::harness::*;

/// The lowered maximum age. It was `T` before.
const LOW: Duration = secs(12);
/// The lease of an observed holder, which is longer than any of ours.
const LONG: Duration = secs(50);

fn lowered(info: StoreInfo) -> StoreInfo {
    StoreInfo { max_age: Some(LOW), ..info }
}

fn recreated(info: StoreInfo) -> StoreInfo {
    StoreInfo { incarnation: Incarnation(2_000), age: None, ..lowered(info) }
}

/// Creates a candidate that saw `entry` and then learned that the maximum age was lowered.
fn candidate(entry: Entry) -> Bench {
    let mut bench = Bench::candidate(entry);
    assert_eq!(bench.inspected_as(lowered), ["warning MaxAgeChanged"]);
    bench
}

/// A record whose lease cannot be read.
pub fn unreadable(entry: Entry) -> Entry {
    match entry {
        Entry::Live(record) => Entry::Live(Record { lease: None, ..record }),
        other => other,
    }
}

/// Answers every request at once from now on. Returns the time until the win is reported.
pub fn reported_after(
    bench: &mut Bench,
    mut revision: u64,
    change: impl Fn(StoreInfo) -> StoreInfo,
) -> Duration {
    let began = bench.now;
    let mut outputs: Vec<String> = Vec::new();
    loop {
        for output in std::mem::take(&mut outputs) {
            let words: Vec<&str> = output.split(' ').collect();
            match words[..] {
                ["won", _] => return bench.now.since(began),
                ["renew" | "acquire", attempt, "over", _] => {
                    revision += 1;
                    outputs.extend(bench.applied(attempt.parse().expect("a number"), revision));
                }
                ["inspect"] => outputs.extend(bench.inspected_as(&change)),
                _ => {}
            }
        }
        if outputs.is_empty() {
            outputs = bench.next();
        }
    }
}

#[test]
fn another_incarnation_of_the_store_is_trusted_after_the_lease_that_was_agreed_on() {
    let mut bench = candidate(Entry::Vacant);
    let seen = bench.now;
    assert_eq!(bench.inspected_as(recreated), ["warning StoreReset"], "attempt 1 is on its way still");
    assert_eq!(bench.applied(1, 1), ["read 2", "state WAITING"]);
    assert_eq!(bench.read(2, Entry::Vacant), ["acquire 2 over absent", "state ACQUIRING"]);
    bench.applied(2, 2);
    reported_after(&mut bench, 2, recreated);
    assert_eq!(bench.now.since(seen), T);
}

#[test]
fn another_incarnation_of_the_store_is_trusted_after_the_last_holders_lease_where_that_is_longer() {
    let mut bench = candidate(with_lease(theirs(10), LONG));
    assert_eq!(bench.inspected_as(recreated), ["warning StoreReset", "read 2"]);
    assert_eq!(bench.read(2, Entry::Vacant), ["acquire 1 over absent", "leader vacant", "state ACQUIRING"]);
    bench.applied(1, 1);
    assert_eq!(reported_after(&mut bench, 1, recreated), LONG);
}

#[test]
fn a_store_that_went_back_is_trusted_after_the_lease_that_was_agreed_on() {
    let far = |info: StoreInfo| StoreInfo { newest: Some(Revision(90)), ..lowered(info) };
    let mut bench = candidate(expired(10));
    let seen = bench.now;
    assert_eq!(bench.applied(1, 9), ["warning StoreReset", "leader me", "state WAITING"]);
    assert_eq!(bench.pass(ms(100)), ["acquire 2 over 9", "state ACQUIRING"]);
    bench.applied(2, 91);
    reported_after(&mut bench, 91, far);
    assert_eq!(bench.now.since(seen), T);
}

#[test]
fn an_unknown_record_of_ours_is_retaken_for_the_lease_that_was_agreed_on() {
    let mut bench = Bench::new();
    assert_eq!(bench.inspected_as(lowered), ["warning MaxAgeChanged"]);
    bench.begin(Entry::Vacant);
    let awaited = bench.forget_the_first_attempt();
    let seen = bench.retake_a_forgotten_record(unreadable(mine(10, 1)), awaited);
    reported_after(&mut bench, 11, lowered);
    assert_eq!(bench.now.since(seen), T);
}

#[test]
fn an_unknown_record_of_ours_is_waited_for_when_it_has_vanished() {
    // With markers, such a record is never retaken.
    let mut bench = Bench::with(settings(), bucket_with_markers());
    assert_eq!(bench.inspected_as(lowered), ["warning MaxAgeChanged"]);
    bench.begin(Entry::Vacant);
    let awaited = bench.forget_the_first_attempt();
    let seen = bench.now;
    assert_eq!(bench.watched(unreadable(mine(10, 1))), ["leader me"]);
    assert_eq!(bench.refused(awaited, 10), ["state WAITING"]);
    let acquire = format!("acquire {} over 11", awaited + 1);
    assert_eq!(bench.watched(expired(11)), [&acquire, "leader vacant", "state ACQUIRING"]);
    bench.applied(awaited + 1, 12);
    reported_after(&mut bench, 12, lowered);
    assert_eq!(bench.now.since(seen), T);
}
