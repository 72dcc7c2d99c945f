//! Handing over to a named successor.

use incumbent_core::campaign::{Input, Timer};

use crate::harness::*;

#[test]
fn handing_over_drains_and_releases_with_the_successors_name() {
    let mut bench = Bench::leader();
    assert_eq!(bench.give(Input::HandOver("other".into())), ["draining HANDED_OVER", "state DRAINING"]);
    assert_eq!(
        bench.give(Input::Drained),
        ["lost 10 HANDED_OVER", "release 2 over 10 owing 0ms to other", "state RELEASING"]
    );
    assert_eq!(bench.applied(2, 11), ["leader vacant", "state WAITING"]);
    assert_eq!(bench.wake(), Some((Timer::Acquire, secs(1))), "and holds back");
}

#[test]
fn a_release_that_is_repeated_names_the_successor_again() {
    let mut bench = Bench::leader();
    bench.give(Input::HandOver("other".into()));
    bench.give(Input::Drained);
    bench.pass(secs(2));
    assert_eq!(bench.next(), ["release 3 over 10 owing 0ms to other"]);
}

#[test]
fn a_win_not_yet_reported_is_handed_over_with_the_wait_it_owes() {
    let mut bench = Bench::holder();
    bench.sleep(secs(5));
    assert_eq!(
        bench.give(Input::HandOver("other".into())),
        ["release 2 over 10 owing 25000ms to other", "state RELEASING"]
    );
}

#[test]
fn a_hand_over_that_expires_while_draining_still_names_the_successor() {
    let settings = incumbent_core::campaign::Settings { drain: secs(60), ..settings() };
    let mut bench = Bench::leader_with(settings, bucket());
    bench.give(Input::HandOver("other".into()));
    bench.sleep(T - M);
    assert_eq!(bench.tick(), ["lost 10 EXPIRED", "state RELEASING"]);
    assert_eq!(bench.give(Input::Drained), ["release 2 over 10 owing 0ms to other"]);
}
