//! Answers to reads, and when the key is read.

use incumbent_core::campaign::{Answer, Input, ReadId, Timer};
use incumbent_core::record::Entry;
use incumbent_core::store::{FaultKind, Outcome};

use crate::harness::*;

fn read_failed(bench: &mut Bench, read: u64) -> Vec<String> {
    bench.give(Input::Answered(Answer::Read {
        read: ReadId(read),
        result: Err(fault(FaultKind::Unreachable)),
    }))
}

#[test]
fn a_read_alone_makes_no_winner() {
    let mut bench = Bench::candidate(deleted(10));
    bench.wrote(1, Outcome::Unknown);
    assert_eq!(bench.watched(theirs(11)), ["leader other"]);
    assert_eq!(bench.next(), ["read 2"]);
    let outputs = bench.read(2, mine(12, 1));
    assert_eq!(outputs, ["acquire 2 over 12", "leader me", "state ACQUIRING"], "only a write can win");
    assert_eq!(bench.campaign.lease(), None);
}

#[test]
fn a_live_foreign_record_is_never_written_over_however_long_it_stays() {
    let mut bench = Bench::candidate(theirs(10));
    for read in 2..22 {
        assert_eq!(bench.wake().map(|(timer, _)| timer), Some(Timer::Poll));
        assert_eq!(bench.next(), [format!("read {read}")]);
        let outputs = bench.read(read, theirs(10));
        assert!(outputs.iter().all(|output| output == "warning NotExpiring 10"), "{outputs:?}");
    }
}

#[test]
fn the_key_is_read_when_the_record_observed_last_should_have_gone() {
    let mut bench = Bench::candidate(theirs(10));
    assert_eq!(bench.wake(), Some((Timer::Poll, T + ms(250))));
    assert_eq!(bench.pass(T + ms(249)), NOTHING);
    assert_eq!(bench.pass(ms(1)), ["read 2"]);
    assert_eq!(bench.read(2, theirs(10)), NOTHING);
    assert_eq!(
        bench.wake(),
        Some((Timer::Poll, ms(100))),
        "the key of an overdue record is read often at first"
    );
    assert_eq!(bench.pass(ms(100)), ["read 3"]);
    assert_eq!(bench.read(3, Entry::Vacant), ["acquire 1 over absent", "leader vacant", "state ACQUIRING"]);
}

#[test]
fn the_polls_wait_is_the_holders_lease_and_not_ones_own() {
    let mut bench = Bench::candidate(with_lease(theirs(10), secs(50)));
    assert_eq!(bench.wake(), Some((Timer::Poll, secs(50) + ms(250))));
}

#[test]
fn a_foreign_renewal_puts_the_poll_off() {
    let mut bench = Bench::candidate(theirs(10));
    bench.pass(secs(10));
    assert_eq!(bench.watched(theirs(11)), NOTHING);
    assert_eq!(bench.wake(), Some((Timer::Poll, T + ms(250))));
    bench.pass(secs(5));
    assert_eq!(bench.watched(theirs(11)), NOTHING);
    assert_eq!(bench.wake(), Some((Timer::Poll, T + ms(250) - secs(5))), "the same revision does not");
}

#[test]
fn an_interval_polls_more_often() {
    let settings = incumbent_core::campaign::Settings { interval: Some(secs(7)), ..settings() };
    let mut bench = Bench::with(settings, bucket());
    bench.begin(theirs(10));
    assert_eq!(bench.pass(secs(7)), ["read 2"]);
    assert_eq!(bench.read(2, theirs(10)), NOTHING);
    assert_eq!(bench.wake(), Some((Timer::Poll, secs(7))));
}

#[test]
fn a_read_without_an_answer_is_repeated_over_a_new_connection() {
    let mut bench = Bench::new();
    bench.give(Input::Campaign);
    assert_eq!(bench.wake(), Some((Timer::Read, secs(2))));
    assert_eq!(bench.pass(secs(2)), ["reconnect"]);
    assert_eq!(bench.reconnected(), ["inspect"]);
    assert_eq!(bench.next(), ["read 2"]);
    assert_eq!(bench.read(1, Entry::Vacant), NOTHING, "the first read is no longer awaited");
    assert_eq!(bench.read(2, theirs(10)), ["leader other"]);
}

#[test]
fn the_answer_to_a_read_counts_after_its_time_is_over_while_the_connection_is_the_same() {
    let mut bench = Bench::new();
    bench.give(Input::Campaign);
    assert_eq!(bench.pass(secs(2)), ["reconnect"]);
    assert_eq!(bench.next(), ["read 2"]);
    assert_eq!(bench.read(1, theirs(10)), ["leader other"]);
    assert_eq!(bench.read(2, theirs(10)), NOTHING);
}

#[test]
fn a_read_that_fails_is_reported_once_and_repeated_after_a_while() {
    let mut bench = Bench::new();
    bench.give(Input::Campaign);
    assert_eq!(read_failed(&mut bench, 1), ["warning Unreachable"]);
    assert_eq!(bench.pass(ms(120)), ["read 2"]);
    assert_eq!(read_failed(&mut bench, 2), NOTHING);
    let (timer, wait) = bench.wake().expect("a poll");
    assert!(timer == Timer::Poll && wait >= ms(160) && wait <= ms(240), "{wait:?}");
    bench.pass(ms(240));
    assert_eq!(bench.read(3, theirs(10)), ["leader other"]);
}

#[test]
fn a_failed_read_does_not_end_a_term() {
    let mut bench = Bench::leader();
    bench.pass(secs(10));
    bench.wrote(2, Outcome::Unknown);
    assert_eq!(bench.next(), ["inspect", "renew 3 over 10"]);
    bench.refused(3, 11);
    assert_eq!(read_failed(&mut bench, 2), ["warning Unreachable"]);
    assert!(bench.leads());
    assert_eq!(bench.next(), ["read 3"], "a read must still explain the refusal");
    assert_eq!(bench.read(3, mine(11, 2)), NOTHING);
    assert!(bench.leads());
}

#[test]
fn an_absence_read_before_the_acquire_says_nothing_about_it() {
    let mut bench = Bench::new();
    bench.give(Input::Campaign);
    assert_eq!(bench.watched(deleted(5)), ["acquire 1 over 5", "state ACQUIRING"]);
    bench.applied(1, 10);
    assert_eq!(bench.read(1, Entry::Vacant), NOTHING);
}

#[test]
fn a_record_read_before_a_newer_one_was_watched_says_nothing() {
    let mut bench = Bench::new();
    bench.give(Input::Campaign);
    assert_eq!(bench.watched(theirs(10)), ["leader other"]);
    assert_eq!(bench.read(1, deleted(9)), NOTHING);
    assert_eq!(bench.wake(), Some((Timer::Poll, T + ms(250))));

    let mut bench = Bench::new();
    bench.give(Input::Campaign);
    bench.watched(theirs(10));
    assert_eq!(bench.read(1, Entry::Vacant), NOTHING, "neither does an absence");
}

#[test]
fn an_absence_read_before_the_release_was_sent_does_not_count_as_its_answer() {
    let mut bench = Bench::new();
    bench.give(Input::Campaign);
    bench.watched(deleted(5));
    bench.applied(1, 10);
    assert_eq!(bench.give(Input::Close), ["release 2 over 10 owing 30000ms", "state RELEASING"]);
    assert_eq!(bench.read(1, Entry::Vacant), NOTHING);
    assert_eq!(bench.applied(2, 11), ["state CLOSED"]);
}
