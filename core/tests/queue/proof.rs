//! A round, and what it proves.

use incumbent_core::Revision;
use incumbent_core::campaign::Misuse;
use incumbent_core::queue::{Answer, Failure, Input, KeptAlive, Timer};

use crate::harness::*;

#[test]
fn a_round_keeps_both_leases_alive_and_reads_after_both_answers() {
    let mut bench = Bench::entering();
    assert_eq!(bench.applied(1, R), ["keep alive A1 B", "state WAITING"]);
    let place = bench.lease(1);
    assert_eq!(bench.kept_alive(place, T, TERM), NOTHING);
    assert_eq!(bench.kept_alive(B, T, TERM), ["read A1 and all"]);
}

#[test]
fn the_deadline_counts_from_before_the_first_keep_alive_was_sent() {
    let mut bench = Bench::placed();
    let place = bench.lease(1);
    bench.kept_alive(place, T, TERM);
    bench.sleep(ms(300));
    bench.kept_alive(B, T, TERM);
    bench.sleep(ms(400));
    let snapshot = bench.snapshot();
    assert_eq!(bench.read(snapshot), ["leader me", "won 10", "state LEADING"]);
    assert_eq!(bench.remaining(), Some(T - M - ms(700)));
}

#[test]
fn a_send_time_in_the_future_counts_as_now() {
    let mut bench = Bench::placed();
    let result = Ok(KeptAlive { ttl: T, raft_term: TERM });
    for lease in [bench.lease(1), B] {
        bench.give(Input::Answered(Answer::KeptAlive {
            lease,
            sent_at: bench.now + secs(60),
            result: result.clone(),
        }));
    }
    let snapshot = bench.snapshot();
    bench.read(snapshot);
    assert_eq!(bench.remaining(), Some(T - M));
}

#[test]
fn a_keep_alive_alone_extends_nothing() {
    let mut bench = Bench::leader();
    assert_eq!(bench.next(), ["keep alive A1 B"]);
    let before = bench.remaining();
    bench.kept();
    assert_eq!(bench.remaining(), before);
}

#[test]
fn an_answer_to_an_earlier_keep_alive_is_no_part_of_a_round() {
    let mut bench = Bench::leader();
    let earlier = bench.now;
    bench.next();
    let result = Ok(KeptAlive { ttl: T, raft_term: TERM });
    for lease in [bench.lease(1), B] {
        assert_eq!(
            bench.give(Input::Answered(Answer::KeptAlive {
                lease,
                sent_at: earlier,
                result: result.clone()
            })),
            NOTHING
        );
    }
    assert_eq!(bench.kept(), ["read A1"]);
}

#[test]
fn a_read_of_another_raft_term_proves_nothing_and_the_round_is_repeated_at_once() {
    let mut bench = Bench::placed();
    bench.kept_as(T, T, TERM);
    let mut snapshot = bench.snapshot();
    snapshot.raft_term = 10;
    assert_eq!(bench.read(snapshot.clone()), ["keep alive A1 B"]);
    assert!(!bench.leads());
    // A lagging member forwards a keep-alive and shows the older raft term once more, so the round is repeated a little
    // later.
    bench.kept_as(T, T, TERM);
    assert_eq!(bench.read(snapshot.clone()), NOTHING);
    assert_eq!(bench.wake().map(|(timer, _)| timer), Some(Timer::Round));
    assert_eq!(bench.next(), ["keep alive A1 B"]);
    bench.kept_as(T, T, 10);
    assert_eq!(
        bench.read(snapshot),
        ["leader me", "share, not B", "state HOLDING"],
        "a proof, of the later term"
    );
}

#[test]
fn a_read_of_another_raft_term_loses_nothing() {
    let mut bench = Bench::leader();
    bench.next();
    bench.kept();
    let mut snapshot = bench.snapshot();
    (snapshot.raft_term, snapshot.place) = (10, None);
    assert_eq!(bench.read(snapshot), ["keep alive A1 B"]);
    assert!(bench.leads());
}

#[test]
fn one_of_two_leases_of_another_raft_term_is_enough_to_prove_nothing() {
    let mut bench = Bench::placed();
    let place = bench.lease(1);
    bench.kept_alive(place, T, TERM);
    bench.kept_alive(B, T, 1);
    let snapshot = bench.snapshot();
    assert_eq!(bench.read(snapshot), ["keep alive A1 B"]);
}

#[test]
fn rounds_are_due_at_multiples_of_a_third_of_the_lease() {
    let mut bench = Bench::placed();
    bench.sleep(secs(1));
    bench.prove(|snapshot| snapshot);
    assert_eq!(bench.wake(), Some((Timer::Round, secs(9))));
}

#[test]
fn a_shorter_time_to_live_than_granted_counts_and_is_reported_once() {
    let mut bench = Bench::placed();
    bench.kept_as(T, secs(20), TERM);
    let snapshot = bench.snapshot();
    assert_eq!(bench.read(snapshot), ["warning Broken", "leader me", "won 10", "state LEADING"]);
    assert_eq!(bench.remaining(), Some(secs(20) - ms(450)));
    bench.next();
    bench.kept_as(T, secs(20), TERM);
    let snapshot = bench.snapshot();
    assert_eq!(bench.read(snapshot), NOTHING);
}

#[test]
fn a_silent_keep_alive_ends_no_term_and_asks_for_a_new_stream() {
    let mut bench = Bench::leader();
    bench.next();
    assert_eq!(bench.wake(), Some((Timer::Answer, secs(2))));
    assert_eq!(bench.next(), ["reconnect"]);
    assert!(bench.leads());
    assert_eq!(bench.give(Input::Reconnected), ["keep alive A1 B"]);
    assert_eq!(bench.prove(|snapshot| snapshot), NOTHING);
    assert_eq!(bench.remaining(), Some(T - M));
}

#[test]
fn a_round_that_fails_is_repeated_and_ends_no_term() {
    for failure in [Failure::Unknown, Failure::Busy, Failure::NotSent, Failure::TooLarge] {
        let mut bench = Bench::leader();
        bench.next();
        bench.kept();
        let asked = bench.read_failed(failure.clone());
        let new_member: &[&str] = if failure == Failure::Unknown { &["reconnect"] } else { &[] };
        assert_eq!(asked, new_member, "{failure:?}");
        assert!(bench.leads());
        assert_eq!(bench.wake().map(|(timer, _)| timer), Some(Timer::Round));
        assert_eq!(bench.next(), ["keep alive A1 B"]);
        assert_eq!(bench.prove(|snapshot| snapshot), NOTHING);
    }
}

#[test]
fn a_late_read_that_is_answered_while_later_keep_alives_are_late_is_followed_by_a_round() {
    let mut bench = Bench::leader();
    bench.next();
    bench.kept();
    assert_eq!(bench.next(), ["reconnect"], "the read is not answered in time");
    let snapshot = bench.snapshot();
    assert_eq!(bench.next(), ["keep alive A1 B"]);
    assert_eq!(bench.next(), ["warning Unreachable"], "nor are the keep-alives");
    let before = bench.remaining();
    assert_eq!(bench.read(snapshot), NOTHING);
    assert_eq!(bench.remaining(), before.map(|before| before + T / 3), "the late answer counts");
    assert_eq!(bench.wake().map(|(timer, _)| timer), Some(Timer::Round));
    assert_eq!(bench.next(), ["keep alive A1 B"]);
}

#[test]
fn a_denied_round_is_reported_and_ends_the_term_at_the_deadline_only() {
    use incumbent_core::store::FaultKind;
    let mut bench = Bench::leader();
    bench.next();
    bench.kept();
    assert_eq!(bench.read_failed(fault(FaultKind::Denied)), ["warning Denied"]);
    assert!(bench.leads());
}

#[test]
fn a_change_seen_while_the_read_was_under_way_is_read_again() {
    let mut bench = Bench::waiting();
    bench.next();
    bench.kept();
    assert_eq!(bench.released(5), NOTHING);
    let mut snapshot = bench.snapshot().ours(5, "other");
    snapshot.revision = Revision(101);
    assert_eq!(bench.read(snapshot), ["read A1"]);
}

#[test]
fn an_answer_that_was_never_asked_for_is_a_misuse() {
    let mut bench = Bench::placed();
    let snapshot = bench.snapshot();
    let read = incumbent_core::campaign::ReadId(1);
    let given = bench.campaign.handle(
        bench.now,
        Input::Answered(Answer::Read { read, sent_at: bench.now, result: Ok(Box::new(snapshot)) }),
    );
    assert_eq!(given, Err(Misuse::UnknownRead(read)));
}
