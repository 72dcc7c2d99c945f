//! A store whose records have leases of their own: those of other candidates may be longer than ours, up to the
//! store's maximum age, and a leader that was not seen may have any of them.

use std::time::Duration;

use incumbent_core::Incarnation;
use incumbent_core::record::Entry;
use incumbent_core::store::{Capabilities, Facts};

use crate::harness::*;
use crate::lowered_age::{told_after, unreadable};

/// The store's maximum age; our own lease is `T`, a third of it.
const AGE: Duration = secs(90);

fn aged(facts: Facts) -> Facts {
    Facts { max_age: Some(AGE), ..facts }
}

fn made_anew(facts: Facts) -> Facts {
    Facts { incarnation: Incarnation(2_000), age: None, ..aged(facts) }
}

/// A campaign that has not begun.
fn bench(first: Facts) -> Bench {
    let settings = incumbent_core::campaign::Settings { lease: Some(T), ..settings() };
    let store = Capabilities { own_lease: true, ..bucket() };
    Bench::with_facts(settings, store, first).expect("settings that fit the store")
}

#[test]
fn a_life_of_the_store_is_trusted_after_the_longest_lease_there_may_be() {
    let young = Facts { age: None, ..aged(facts(incumbent_core::Instant::ZERO)) };
    let mut bench = bench(young);
    bench.begin(Entry::Vacant);
    bench.applied(1, 1);
    assert_eq!(told_after(&mut bench, 1, aged), AGE);
}

#[test]
fn another_life_of_the_store_is_trusted_after_the_longest_lease_there_may_have_been() {
    let mut bench = bench(aged(facts(incumbent_core::Instant::ZERO)));
    bench.begin(with_lease(theirs(10), secs(5)));
    let seen = bench.now;
    assert_eq!(bench.inspected_as(made_anew), ["trouble StoreReset", "read 2"]);
    bench.read(2, Entry::Vacant);
    bench.applied(1, 1);
    told_after(&mut bench, 1, made_anew);
    assert_eq!(bench.now.since(seen), AGE);
}

#[test]
fn a_lowered_maximum_age_is_not_the_longest_there_was() {
    let lowered = |facts: Facts| Facts { max_age: Some(secs(40)), ..made_anew(facts) };
    let mut bench = bench(aged(facts(incumbent_core::Instant::ZERO)));
    bench.begin(Entry::Vacant);
    let seen = bench.now;
    assert_eq!(bench.inspected_as(lowered), ["trouble MaxAgeChanged", "trouble StoreReset"]);
    bench.applied(1, 1);
    bench.read(2, Entry::Vacant);
    bench.applied(2, 2);
    told_after(&mut bench, 2, lowered);
    assert_eq!(bench.now.since(seen), AGE);
}

#[test]
fn a_record_of_ours_of_which_nothing_is_known_may_have_replaced_the_longest_lease_there_may_be() {
    let mut bench = bench(aged(facts(incumbent_core::Instant::ZERO)));
    bench.begin(unreadable(mine(10, 77)));
    bench.applied(1, 11);
    assert_eq!(told_after(&mut bench, 11, aged), AGE);
}
