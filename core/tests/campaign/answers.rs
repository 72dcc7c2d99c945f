//! Answers to writes.

use incumbent_core::record::Entry;

use crate::harness::*;

#[test]
fn an_acquire_over_an_absent_key_is_won_once_the_store_is_known_to_be_the_same() {
    let mut bench = Bench::new();
    assert_eq!(short(&bench.give(incumbent_core::campaign::Input::Campaign)), ["read 1", "state WAITING"]);
    assert_eq!(short(&bench.read(1, Entry::Vacant)), ["acquire 1 over absent", "state ACQUIRING"]);
    assert_eq!(short(&bench.applied(1, 10)), ["inspect", "leader me", "state HOLDING"]);
    assert_eq!(short(&bench.inspected()), ["won 10", "state LEADING"]);
    assert_eq!(bench.remaining(), Some(T - M));
}

#[test]
fn a_renewal_extends_the_deadline_from_when_it_was_sent() {
    let mut bench = Bench::leader();
    assert_eq!(short(&bench.pass(secs(10))), ["inspect", "renew 2 over 10"]);
    bench.inspected();
    bench.sleep(ms(900));
    assert_eq!(short(&bench.applied(2, 11)), [""; 0]);
    assert_eq!(bench.remaining(), Some(T - M - ms(900)));
}

#[test]
fn resigning_drains_then_loses_then_releases() {
    let mut bench = Bench::leader();
    assert_eq!(
        short(&bench.give(incumbent_core::campaign::Input::Resign)),
        ["draining RESIGNED", "state DRAINING"]
    );
    assert_eq!(
        short(&bench.give(incumbent_core::campaign::Input::Drained)),
        ["lost 10 RESIGNED", "release 2 over 10 owing 0ms", "state RELEASING"]
    );
    assert_eq!(short(&bench.applied(2, 11)), ["leader nobody", "state WAITING"]);
    assert_eq!(short(&bench.pass(secs(1))), ["acquire 3 over 11", "state ACQUIRING"]);
}
