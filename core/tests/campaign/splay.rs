//! The splay: a random wait before the first campaign.

use incumbent_core::campaign::{Input, Settings, Timer};

use crate::harness::*;

fn splaying() -> Bench {
    let mut bench = Bench::with(Settings { splay: Some(secs(60)), ..settings() }, bucket());
    assert_eq!(bench.give(Input::Campaign), ["state SPLAYING"]);
    bench
}

#[test]
fn nothing_is_asked_of_the_store_during_the_splay() {
    let mut bench = splaying();
    let (timer, wait) = bench.wake().expect("the splay's end");
    assert_eq!(timer, Timer::Splay);
    assert!(wait <= secs(60));
    assert_eq!(bench.pass(wait - ms(1)), NOTHING);
    assert_eq!(bench.watched(theirs(10)), ["leader other"]);
    assert_eq!(bench.watched(deleted(11)), ["leader vacant"]);
    assert_eq!(bench.pass(ms(1)), ["acquire 1 over 11", "state ACQUIRING"]);
}

#[test]
fn a_candidate_closed_during_its_splay_never_writes() {
    let mut bench = splaying();
    bench.watched(deleted(11));
    assert_eq!(bench.give(Input::Close), ["state CLOSED"]);
    assert_eq!(bench.wake(), None);
    assert_eq!(bench.pass(secs(3600)), NOTHING);
}

#[test]
fn an_unhealthy_candidate_leaves_its_splay_and_never_writes() {
    let mut bench = splaying();
    assert_eq!(bench.give(Input::Health(false)), ["state IDLE"]);
    assert_eq!(bench.wake(), None);
}

#[test]
fn the_splay_differs_from_seed_to_seed_and_not_from_run_to_run() {
    let waits = |seeds: std::ops::Range<u64>| -> Vec<_> {
        seeds
            .map(|seed| {
                let settings = Settings { splay: Some(secs(60)), ..settings() };
                let mut bench = Bench::seeded(settings, bucket(), seed);
                bench.give(Input::Campaign);
                bench.wake()
            })
            .collect()
    };
    let once = waits(0..10);
    assert_eq!(once, waits(0..10));
    assert!(once.windows(2).all(|pair| pair[0] != pair[1]), "{once:?}");
}

#[test]
fn only_the_first_campaign_is_splayed() {
    let mut bench = splaying();
    bench.pass(secs(60));
    bench.read(1, theirs(10));
    assert_eq!(bench.give(Input::Health(false)), ["state IDLE"]);
    assert_eq!(bench.give(Input::Health(true)), ["state WAITING"]);
}

#[test]
fn a_splay_of_zero_is_none() {
    let mut bench = Bench::new();
    assert_eq!(bench.give(Input::Campaign), ["read 1", "state WAITING"]);
}

#[test]
fn the_default_splay_is_a_tenth_of_the_lease_and_at_most_a_second() {
    for seed in 0..50 {
        let mut bench = Bench::seeded(Settings { splay: None, ..settings() }, bucket(), seed);
        bench.give(Input::Campaign);
        let (timer, wait) = bench.wake().expect("the splay's end");
        assert!(timer == Timer::Splay && wait <= secs(1), "{wait:?}");
    }
}
