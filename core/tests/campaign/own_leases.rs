//! A store whose records have their own leases. Other candidates' leases may be longer than ours, up to the store's
//! maximum age, and so may the lease of an unobserved leader.

use std::time::Duration;

use incumbent_core::Incarnation;
use incumbent_core::campaign::{Input, Output, Request};
use incumbent_core::record::Entry;
use incumbent_core::store::{Action, Capabilities, StoreInfo, Write};

use crate::harness::*;
use crate::lowered_age::{reported_after, unreadable};

/// The store's maximum age. Our own lease is `T`, a third of this age.
const AGE: Duration = secs(90);

fn aged(info: StoreInfo) -> StoreInfo {
    StoreInfo { max_age: Some(AGE), ..info }
}

fn recreated(info: StoreInfo) -> StoreInfo {
    StoreInfo { incarnation: Incarnation(2_000), age: None, ..aged(info) }
}

/// A campaign that has not begun.
fn bench(first: StoreInfo) -> Bench {
    let settings = incumbent_core::campaign::Settings { lease: Some(T), ..settings() };
    let store = Capabilities { own_lease: true, ..bucket() };
    Bench::with_info(settings, store, first).expect("settings that fit the store")
}

#[test]
fn an_incarnation_of_the_store_is_trusted_after_the_longest_lease_there_may_be() {
    let young = StoreInfo { age: None, ..aged(store_info(incumbent_core::Instant::ZERO)) };
    let mut bench = bench(young);
    bench.begin(Entry::Vacant);
    bench.applied(1, 1);
    assert_eq!(reported_after(&mut bench, 1, aged), AGE);
}

/// The lease in the headers of an acquire or a renewal, in milliseconds.
fn said(output: &Output) -> Option<&str> {
    let (Output::Ask(Request::Write(Write { action: Action::Acquire(put), .. }))
    | Output::Ask(Request::Write(Write { action: Action::Renew(put), .. }))) = output
    else {
        return None;
    };
    put.headers.iter().find(|(name, _)| name == "Incumbent-Lease").map(|(_, lease)| lease.as_str())
}

/// The lease in the headers of the write that follows an input.
fn said_after(bench: &mut Bench, input: Input) -> Option<String> {
    bench.give_in_full(input).iter().find_map(said).map(str::to_owned)
}

#[test]
fn a_holder_that_still_waits_says_the_larger_of_its_lease_and_what_it_waits_for() {
    let mut bench = bench(aged(store_info(incumbent_core::Instant::ZERO)));
    bench.begin(with_lease(theirs(10), AGE));
    assert_eq!(said_after(&mut bench, Input::Watched(expired(11))).as_deref(), Some("90000"));
    bench.applied(1, 12);
    bench.inspected();
    for (attempt, lease) in (2..).zip(["80000", "70000", "60000", "50000", "40000", "30000", "30000"]) {
        bench.sleep(T / 3);
        assert_eq!(said_after(&mut bench, Input::Tick).as_deref(), Some(lease));
        bench.applied(attempt, 11 + attempt);
        bench.inspected();
    }
}

#[test]
fn another_incarnation_of_the_store_is_trusted_after_the_longest_lease_there_may_have_been() {
    let mut bench = bench(aged(store_info(incumbent_core::Instant::ZERO)));
    bench.begin(with_lease(theirs(10), secs(5)));
    let seen = bench.now;
    assert_eq!(bench.inspected_as(recreated), ["warning StoreReset", "read 2"]);
    bench.read(2, Entry::Vacant);
    bench.applied(1, 1);
    reported_after(&mut bench, 1, recreated);
    assert_eq!(bench.now.since(seen), AGE);
}

#[test]
fn a_lowered_maximum_age_is_not_the_longest_there_was() {
    let lowered = |info: StoreInfo| StoreInfo { max_age: Some(secs(40)), ..recreated(info) };
    let mut bench = bench(aged(store_info(incumbent_core::Instant::ZERO)));
    bench.begin(Entry::Vacant);
    let seen = bench.now;
    assert_eq!(bench.inspected_as(lowered), ["warning MaxAgeChanged", "warning StoreReset"]);
    bench.applied(1, 1);
    bench.read(2, Entry::Vacant);
    bench.applied(2, 2);
    reported_after(&mut bench, 2, lowered);
    assert_eq!(bench.now.since(seen), AGE);
}

#[test]
fn an_unknown_record_of_ours_may_have_replaced_the_longest_lease_there_may_be() {
    let mut bench = bench(aged(store_info(incumbent_core::Instant::ZERO)));
    bench.begin(Entry::Vacant);
    let awaited = bench.forget_the_first_attempt();
    let seen = bench.retake_a_forgotten_record(unreadable(mine(10, 1)), awaited);
    reported_after(&mut bench, 11, aged);
    assert_eq!(bench.now.since(seen), AGE);
}

#[test]
fn where_records_have_no_maximum_age_a_tombstone_states_how_long_a_leader_never_observed_may_lead() {
    let ageless = StoreInfo { max_age: None, ..store_info(incumbent_core::Instant::ZERO) };
    let mut bench = bench(ageless);
    bench.begin(Entry::Deleted { revision: incumbent_core::Revision(5), lease: Some(AGE) });
    bench.applied(1, 6);
    assert_eq!(reported_after(&mut bench, 6, |info| StoreInfo { max_age: None, ..info }), AGE);
}

/// The time for which the store keeps the record of a write.
fn lives(output: &Output) -> Option<Duration> {
    match output {
        Output::Ask(Request::Write(Write { action: Action::Acquire(put) | Action::Renew(put), .. })) => {
            Some(put.lease)
        }
        _ => None,
    }
}

#[test]
fn a_record_is_kept_as_long_as_it_states_that_other_candidates_wait() {
    let mut bench = bench(aged(store_info(incumbent_core::Instant::ZERO)));
    let outputs = bench.give_in_full(Input::Campaign);
    assert_eq!(outputs.iter().find_map(lives), None);
    bench.read(1, with_lease(theirs(10), AGE));
    // An operator deletes the record. A candidate that comes later observes only the successor's record.
    let outputs = bench.give_in_full(Input::Watched(deleted(11)));
    assert_eq!(outputs.iter().find_map(lives), Some(AGE));
    bench.applied(1, 12);
    bench.inspected();
    for (attempt, left) in (2..).zip([80, 70, 60, 50, 40, 30, 30]) {
        bench.sleep(T / 3);
        let outputs = bench.give_in_full(Input::Tick);
        assert_eq!(outputs.iter().find_map(lives), Some(secs(left)));
        bench.applied(attempt, 11 + attempt);
        bench.inspected();
    }
}

#[test]
fn the_deadline_counts_on_the_lease_and_not_on_how_long_the_record_is_kept() {
    let mut bench = bench(aged(store_info(incumbent_core::Instant::ZERO)));
    bench.begin(with_lease(theirs(10), AGE));
    bench.watched(deleted(11));
    bench.applied(1, 12);
    bench.sleep(T - M);
    assert_eq!(
        bench.tick(),
        ["inspect", "acquire 2 over 12", "state ACQUIRING"],
        "it no longer holds the lease"
    );
}
