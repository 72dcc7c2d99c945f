//! The candidate's own health.

use incumbent_core::campaign::{Input, Timer};
use incumbent_core::record::Entry;

use crate::harness::*;

#[test]
fn an_unhealthy_candidate_does_not_campaign() {
    let mut bench = Bench::new();
    bench.give(Input::Health(false));
    assert_eq!(bench.give(Input::Campaign), NOTHING);
    assert_eq!(bench.watched(deleted(11)), NOTHING);
    assert_eq!(bench.wake(), None);
    assert_eq!(bench.give(Input::Health(true)), ["acquire 1 over 11", "state ACQUIRING"]);
}

#[test]
fn a_candidate_that_falls_ill_leaves_the_race_and_comes_back() {
    let mut bench = Bench::candidate(theirs(10));
    assert_eq!(bench.give(Input::Health(false)), ["state IDLE"]);
    assert_eq!(bench.wake(), None);
    assert_eq!(bench.watched(deleted(11)), ["leader vacant"]);
    assert_eq!(bench.give(Input::Health(true)), ["acquire 1 over 11", "state ACQUIRING"]);
}

#[test]
fn an_unhealthy_leader_drains_and_releases() {
    let mut bench = Bench::leader();
    assert_eq!(bench.give(Input::Health(false)), ["draining UNHEALTHY", "state DRAINING"]);
    assert!(bench.leads());
    assert_eq!(
        bench.give(Input::Drained),
        ["lost 10 UNHEALTHY", "release 2 over 10 owing 0ms", "state RELEASING"]
    );
    assert_eq!(bench.applied(2, 11), ["leader vacant", "state IDLE"]);
    assert_eq!(bench.give(Input::Health(true)), ["state WAITING"]);
    assert_eq!(bench.wake(), Some((Timer::Acquire, secs(1))));
}

#[test]
fn a_leader_that_recovers_while_draining_still_leaves_and_stays_in_the_race() {
    let mut bench = Bench::leader();
    bench.give(Input::Health(false));
    assert_eq!(bench.give(Input::Health(true)), NOTHING);
    assert_eq!(bench.give(Input::Drained)[0], "lost 10 UNHEALTHY");
    assert_eq!(bench.applied(2, 11), ["leader vacant", "state WAITING"]);
}

#[test]
fn a_holder_that_falls_ill_before_its_win_is_reported_releases() {
    let mut bench = Bench::holder();
    assert_eq!(bench.give(Input::Health(false)), ["release 2 over 10 owing 30000ms", "state RELEASING"]);
    assert_eq!(bench.applied(2, 11), ["leader vacant", "state IDLE"]);
}

#[test]
fn one_that_falls_ill_while_its_acquire_is_on_its_way_removes_what_it_wrote() {
    let mut bench = Bench::candidate(Entry::Vacant);
    assert_eq!(bench.give(Input::Health(false)), ["state RELEASING"]);
    assert_eq!(bench.applied(1, 10), ["release 2 over 10 owing 0ms", "leader me"]);
    assert_eq!(bench.applied(2, 11), ["leader vacant", "state IDLE"]);
}

#[test]
fn an_unhealthy_leader_that_expires_does_not_acquire_again() {
    let mut bench = Bench::leader();
    bench.give(Input::Health(false));
    bench.sleep(T - M);
    assert_eq!(bench.tick(), ["lost 10 EXPIRED", "state RELEASING"]);
    assert_eq!(bench.give(Input::Drained), ["release 2 over 10 owing 0ms"]);
}

#[test]
fn the_same_message_again_does_nothing() {
    let mut bench = Bench::leader();
    assert_eq!(bench.give(Input::Health(true)), NOTHING);
    bench.give(Input::Health(false));
    assert_eq!(bench.give(Input::Health(false)), NOTHING);
}
