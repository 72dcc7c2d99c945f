//! Answers to writes: the meaning of each outcome for a candidate and for a leader.

use incumbent_core::campaign::{Answer, Input, Output, ReadId, Request, Settings, Timer};
use incumbent_core::record::{Attempt, Entry};
use incumbent_core::store::{Action, Expect, FaultKind, Outcome, Put, Write};
use incumbent_core::{Incarnation, Revision};

use crate::harness::*;

#[test]
fn an_acquire_over_an_absent_key_is_won_once_the_store_is_known_to_be_the_same() {
    let mut bench = Bench::new();
    assert_eq!(bench.give(Input::Campaign), ["read 1", "state WAITING"]);
    assert_eq!(bench.read(1, Entry::Vacant), ["acquire 1 over absent", "state ACQUIRING"]);
    assert_eq!(bench.applied(1, 10), ["inspect", "leader me", "state HOLDING"]);
    assert!(!bench.leads());
    assert_eq!(bench.inspected(), ["won 10", "state LEADING"]);
    assert_eq!(bench.remaining(), Some(T - M));
}

#[test]
fn an_acquire_says_who_writes_and_for_how_long() {
    let mut bench =
        Bench::with(Settings { metadata: vec![("Host".into(), "db-1".into())], ..settings() }, bucket());
    bench.give(Input::Campaign);
    let read = Input::Answered(Answer::Read { read: ReadId(1), result: Ok(Entry::Vacant) });
    let expected = Write {
        attempt: Attempt(1),
        expect: Expect::Absent,
        action: Action::Acquire(Put {
            value: "me".into(),
            headers: vec![
                ("Incumbent-Nonce".into(), "0000000000000000000000000000000a.0000000001".into()),
                ("Incumbent-Lease".into(), "30000".into()),
                ("Incumbent-Term".into(), "00000000000003e8-0000000000000000 -------------".into()),
                ("Incumbent-Meta-Host".into(), "db-1".into()),
            ],
            lease: T,
        }),
    };
    assert_eq!(bench.give_in_full(read)[0], Output::Ask(Request::Write(expected)));
}

#[test]
fn a_renewal_extends_the_deadline_from_when_it_was_sent() {
    let mut bench = Bench::leader();
    assert_eq!(bench.pass(secs(10)), ["inspect", "renew 2 over 10"]);
    bench.inspected();
    bench.sleep(ms(900));
    assert_eq!(bench.applied(2, 11), NOTHING);
    assert_eq!(bench.remaining(), Some(T - M - ms(900)));
    assert_eq!(bench.wake(), Some((Timer::Renew, secs(10) - ms(900))));
}

#[test]
fn a_renewal_extends_nothing_beyond_what_the_store_was_shown_to_be() {
    let mut bench = Bench::leader();
    bench.pass(secs(10));
    assert_eq!(bench.applied(2, 11), NOTHING);
    assert_eq!(bench.remaining(), Some(T - M - secs(10)), "the inspection is still open");
    bench.inspected();
    assert_eq!(bench.remaining(), Some(T - M));
}

#[test]
fn where_acknowledgements_carry_the_incarnation_nothing_is_inspected() {
    let store = incumbent_core::store::Capabilities { incarnation_acked: true, ..bucket() };
    let mut bench = Bench::with(settings(), store);
    bench.begin(Entry::Vacant);
    let outputs = bench.wrote(1, acknowledged(10, Some(INCARNATION)));
    assert_eq!(outputs, ["won 10", "leader me", "state LEADING"]);
    assert_eq!(bench.pass(secs(10)), ["renew 2 over 10"]);
    assert_eq!(bench.wrote(2, acknowledged(11, Some(INCARNATION))), NOTHING);
    assert_eq!(bench.remaining(), Some(T - M));
}

#[test]
fn an_acknowledgement_from_another_incarnation_ends_the_term() {
    let store = incumbent_core::store::Capabilities { incarnation_acked: true, ..bucket() };
    let mut bench = Bench::leader_with(settings(), store);
    bench.pass(secs(10));
    let outputs = bench.wrote(2, acknowledged(11, Some(Incarnation(2_000))));
    assert_eq!(outputs, ["lost 10 STORE_RESET", "inspect", "read 2", "state WAITING"]);
}

#[test]
fn after_an_acknowledgement_from_another_incarnation_an_acquire_waits_for_the_inspection() {
    let store = incumbent_core::store::Capabilities { incarnation_acked: true, ..bucket() };
    let mut bench = Bench::leader_with(settings(), store);
    bench.pass(secs(10));
    bench.wrote(2, acknowledged(11, Some(Incarnation(2_000))));
    assert_eq!(
        bench.read(2, mine(11, 2)),
        NOTHING,
        "a retake sent at once would also be acknowledged from the other incarnation"
    );
    assert_eq!(bench.wake(), Some((Timer::Acquire, ms(100))));
}

#[test]
fn an_unknown_renewal_neither_extends_the_deadline_nor_ends_the_term() {
    let mut bench = Bench::leader();
    bench.pass(secs(10));
    bench.inspected();
    assert_eq!(bench.wrote(2, Outcome::Unknown), NOTHING);
    assert_eq!(bench.remaining(), Some(T - M - secs(10)));
    assert_eq!(bench.pass(ms(120)), ["inspect", "renew 3 over 10"], "the same is expected again");
    assert_eq!(bench.remaining(), Some(T - M - secs(10) - ms(120)));
}

#[test]
fn a_renewal_whose_acknowledgement_is_lost_is_resolved_by_its_number() {
    let mut bench = Bench::leader();
    bench.pass(secs(10));
    let sent = bench.now;
    bench.inspected();
    assert_eq!(bench.pass(secs(2)), ["reconnect"]);
    assert_eq!(bench.next(), ["inspect", "renew 3 over 10"]);
    bench.inspected();
    assert_eq!(bench.refused(3, 11), ["read 2"]);
    assert_eq!(bench.read(2, mine(11, 2)), NOTHING);
    assert_eq!(bench.remaining(), Some(T - M - bench.now.since(sent)), "counted from attempt 2");
    bench.inspected();
    assert_eq!(bench.wake(), Some((Timer::Renew, secs(10) - bench.now.since(sent))));
}

#[test]
fn of_attempts_repeated_with_the_same_compare_the_number_says_which_was_applied() {
    for applied in [2, 3, 4] {
        let mut bench = Bench::leader();
        bench.pass(secs(10));
        let mut sent = vec![bench.now];
        bench.inspected();
        assert_eq!(bench.pass(secs(2)), ["reconnect"]);
        assert_eq!(bench.next(), ["inspect", "renew 3 over 10"]);
        sent.push(bench.now);
        bench.inspected();
        assert_eq!(bench.pass(secs(2)), ["warning Unreachable"], "a reconnection is on its way");
        assert_eq!(bench.next(), ["inspect", "renew 4 over 10"]);
        sent.push(bench.now);
        bench.inspected();
        assert_eq!(bench.pass(secs(1)), NOTHING);
        assert_eq!(bench.watched(mine(11, applied)), NOTHING);
        let since = bench.now.since(sent[applied as usize - 2]);
        assert_eq!(bench.remaining(), Some(T - M - since), "attempt {applied}");
        for refused in [2, 3, 4].into_iter().filter(|attempt| *attempt != applied) {
            assert_eq!(bench.refused(refused, 11), NOTHING);
        }
        assert!(bench.leads());
    }
}

#[test]
fn a_renewal_that_was_lost_is_applied_when_repeated() {
    let mut bench = Bench::leader();
    bench.pass(secs(10));
    bench.inspected();
    assert_eq!(bench.wrote(2, Outcome::NotSent), NOTHING);
    assert_eq!(bench.pass(ms(120)), ["inspect", "renew 3 over 10"]);
    bench.inspected();
    bench.applied(3, 11);
    assert!(bench.remaining() > Some(T - M - ms(40)));
}

#[test]
fn an_answer_counts_though_it_is_no_longer_awaited() {
    let mut bench = Bench::leader();
    bench.pass(secs(10));
    bench.inspected();
    assert_eq!(bench.pass(secs(2)), ["reconnect"]);
    assert_eq!(bench.applied(2, 11), NOTHING);
    assert_eq!(bench.remaining(), Some(T - M - secs(2)));
    assert_eq!(bench.wake(), Some((Timer::Renew, secs(8))));
}

#[test]
fn an_acquire_whose_acknowledgement_is_lost_is_retaken_and_the_retakings_sequence_is_the_token() {
    let mut bench = Bench::candidate(deleted(5));
    let wait_ends = bench.now + T;
    assert_eq!(bench.pass(secs(2)), ["reconnect", "state WAITING"]);
    assert_eq!(bench.next(), ["acquire 2 over 5", "state ACQUIRING"]);
    assert_eq!(bench.refused(2, 10), ["read 2", "state WAITING"]);
    assert_eq!(bench.read(2, mine(10, 1)), ["acquire 3 over 10", "leader me", "state ACQUIRING"]);
    assert_eq!(bench.applied(3, 11), ["inspect", "state HOLDING"]);
    bench.inspected();
    for (attempt, revision) in [(4, 12), (5, 13)] {
        assert_eq!(bench.next(), ["inspect".to_string(), format!("renew {attempt} over {}", revision - 1)]);
        bench.applied(attempt, revision);
        bench.inspected();
    }
    assert_eq!(bench.wake(), Some((Timer::Win, wait_ends.since(bench.now))), "the wait of attempt 1");
    assert_eq!(bench.pass(wait_ends.since(bench.now)), ["won 11", "state LEADING"]);
}

#[test]
fn the_acknowledgement_of_an_earlier_acquire_counts_while_a_later_one_is_awaited() {
    let mut bench = Bench::candidate(Entry::Vacant);
    let sent = bench.now;
    bench.pass(secs(2));
    assert_eq!(bench.next(), ["acquire 2 over absent", "state ACQUIRING"]);
    assert_eq!(bench.applied(1, 10), ["inspect", "leader me", "state HOLDING"]);
    assert_eq!(bench.inspected(), ["won 10", "state LEADING"]);
    assert_eq!(bench.remaining(), Some(T - M - bench.now.since(sent)));
    assert_eq!(bench.refused(2, 10), NOTHING);
    assert!(bench.leads());
}

#[test]
fn busy_is_waited_out_and_ends_a_term_only_at_its_deadline() {
    let mut bench = Bench::leader();
    let deadline = bench.now + (T - M);
    bench.pass(secs(10));
    bench.inspected();
    let mut attempt = 2;
    loop {
        // Several such answers in a row may be the server's fault, so another server is asked.
        let reported = bench.wrote(attempt, Outcome::Busy);
        assert!(reported == NOTHING || (reported == ["reconnect"] && attempt >= 4), "{reported:?}");
        bench.inspected();
        let (timer, wait) = bench.wake().expect("a wake-up");
        bench.sleep(wait);
        if timer == Timer::Deadline {
            break;
        }
        assert!(timer == Timer::Retry && wait <= ms(1200), "{timer:?} after {wait:?}");
        attempt += 1;
        assert_eq!(bench.tick(), ["inspect".to_string(), format!("renew {attempt} over 10")]);
    }
    assert_eq!(bench.now, deadline);
    assert!(attempt >= 18, "only {attempt} attempts");
    assert_eq!(bench.tick()[0], "lost 10 EXPIRED");
}

#[test]
fn a_server_that_is_busy_or_takes_nothing_again_and_again_is_left() {
    for outcome in [Outcome::Busy, Outcome::NotSent] {
        let mut bench = Bench::candidate(deleted(5));
        for attempt in 1..=2 {
            let reported = bench.wrote(attempt, outcome.clone());
            assert!(!reported.contains(&"reconnect".into()), "{reported:?}");
            bench.pass(ms(300));
        }
        let reported = bench.wrote(3, outcome);
        assert!(reported.contains(&"reconnect".into()), "{reported:?}");
    }
}

#[test]
fn busy_makes_a_candidate_try_the_same_again() {
    let mut bench = Bench::candidate(deleted(5));
    assert_eq!(bench.wrote(1, Outcome::Busy), ["state WAITING"]);
    assert_eq!(bench.pass(ms(120)), ["acquire 2 over 5", "state ACQUIRING"]);
}

#[test]
fn a_foreign_record_behind_a_refusal_ends_the_term() {
    let mut bench = Bench::leader();
    bench.pass(secs(10));
    bench.inspected();
    assert_eq!(bench.refused(2, 11), ["read 2"]);
    assert!(bench.leads(), "a refusal alone proves nothing: the record may be ours");
    assert_eq!(bench.read(2, theirs(11)), ["lost 10 USURPED", "leader other", "state WAITING"]);
    assert!(!bench.leads());
}

#[test]
fn a_refusal_that_names_what_was_expected_is_taken_for_busy() {
    let mut bench = Bench::candidate(deleted(5));
    assert_eq!(bench.refused(1, 5), ["state WAITING"]);
    assert_eq!(bench.pass(ms(120)), ["acquire 2 over 5", "state ACQUIRING"]);

    let mut bench = Bench::candidate(Entry::Vacant);
    assert_eq!(bench.refused(1, 0), ["state WAITING"]);
    assert_eq!(bench.pass(ms(120)), ["acquire 2 over absent", "state ACQUIRING"]);

    let mut bench = Bench::leader();
    bench.pass(secs(10));
    bench.inspected();
    assert_eq!(bench.refused(2, 10), NOTHING);
    assert_eq!(bench.pass(ms(120)), ["inspect", "renew 3 over 10"]);
}

#[test]
fn a_refusal_without_a_revision_makes_a_candidate_read_the_key() {
    let mut bench = Bench::candidate(Entry::Vacant);
    assert_eq!(bench.wrote(1, Outcome::Conflict), ["state WAITING"]);
    assert_eq!(bench.pass(ms(120)), ["read 2"]);
    assert_eq!(bench.read(2, theirs(11)), ["leader other"]);
}

#[test]
fn a_candidate_whose_watch_was_faster_than_a_refusal_without_a_revision_need_not_read() {
    let mut bench = Bench::candidate(Entry::Vacant);
    bench.give(Input::Watched(theirs(11)));
    assert_eq!(bench.wrote(1, Outcome::Conflict), ["state WAITING"]);
    assert_eq!(bench.pass(secs(10)), NOTHING);
}

#[test]
fn a_refusal_without_a_revision_makes_a_leader_read_the_key_and_lose_to_a_foreign_record() {
    let mut bench = Bench::leader();
    bench.pass(secs(10));
    bench.inspected();
    assert_eq!(bench.wrote(2, Outcome::Conflict), NOTHING);
    assert!(bench.leads(), "a refusal alone proves nothing: the record may be ours");
    assert_eq!(bench.pass(ms(120)), ["read 2"]);
    assert_eq!(bench.read(2, theirs(11)), ["lost 10 USURPED", "leader other", "state WAITING"]);
}

#[test]
fn a_leader_that_reads_its_own_record_after_a_refusal_without_a_revision_renews_again() {
    let mut bench = Bench::leader();
    let remaining = bench.remaining();
    bench.pass(secs(10));
    bench.inspected();
    bench.wrote(2, Outcome::Conflict);
    assert_eq!(bench.pass(ms(120)), ["read 2"]);
    assert_eq!(bench.read(2, mine(10, 1)), ["inspect", "renew 3 over 10"]);
    assert_eq!(bench.remaining(), remaining.map(|left| left - secs(10) - ms(120)));
}

#[test]
fn a_release_that_is_refused_without_a_revision_is_sent_again_over_what_a_read_shows() {
    let mut bench = Bench::leader();
    bench.give(Input::Close);
    bench.give(Input::Drained);
    assert_eq!(bench.wrote(2, Outcome::Conflict), ["read 2"]);
    assert_eq!(bench.read(2, mine(10, 1)), ["release 3 over 10 owing 0ms"]);
}

#[test]
fn an_acquire_over_a_record_that_is_gone_reads_again() {
    let mut bench = Bench::candidate(deleted(5));
    assert_eq!(bench.refused(1, 0), ["read 2", "state WAITING"]);
    assert_eq!(bench.read(2, Entry::Vacant), ["acquire 2 over absent", "state ACQUIRING"]);
}

#[test]
fn a_lost_race_is_followed_by_a_read_when_the_watch_does_not_deliver() {
    let mut bench = Bench::candidate(Entry::Vacant);
    assert_eq!(bench.refused(1, 10), ["state WAITING"]);
    assert_eq!(bench.pass(ms(120)), ["read 2"]);
    assert_eq!(bench.read(2, theirs(10)), ["leader other"]);
    assert_eq!(bench.wake(), Some((Timer::Poll, T + ms(250))));
}

#[test]
fn a_lost_race_needs_no_read_when_the_watch_delivers_the_winner() {
    let mut bench = Bench::candidate(Entry::Vacant);
    bench.refused(1, 10);
    assert_eq!(bench.watched(theirs(10)), ["leader other"]);
    assert_eq!(bench.wake(), Some((Timer::Poll, T + ms(250))));
}

#[test]
fn a_fault_is_reported_once_and_tried_again_until_the_deadline() {
    let mut bench = Bench::leader();
    bench.pass(secs(10));
    bench.inspected();
    let denied = Outcome::Failed(fault(FaultKind::Denied));
    assert_eq!(bench.wrote(2, denied.clone()), ["warning Denied"]);
    assert_eq!(bench.pass(ms(120)), ["inspect", "renew 3 over 10"]);
    assert_eq!(bench.wrote(3, denied), NOTHING);
    assert!(bench.leads());
    bench.pass(bench.remaining().expect("a lease") - ms(1));
    assert!(bench.leads());
    assert_eq!(bench.pass(ms(1))[0], "lost 10 EXPIRED");
}

#[test]
fn an_acknowledgement_after_the_deadline_makes_no_leader() {
    let mut bench = Bench::candidate(Entry::Vacant);
    bench.sleep(T - M);
    assert_eq!(bench.applied(1, 10), ["acquire 2 over 10", "leader me"], "an orphan, which is retaken");
    bench.inspected();
    bench.sleep(ms(1));
    assert_eq!(bench.applied(2, 11), ["inspect", "state HOLDING"]);
    assert_eq!(bench.inspected(), ["won 11", "state LEADING"]);
}

#[test]
fn an_acknowledged_renewal_after_the_deadline_does_not_save_the_term() {
    let mut bench = Bench::leader();
    bench.pass(secs(10));
    bench.inspected();
    bench.sleep(T - M - secs(10));
    assert_eq!(bench.applied(2, 11), ["lost 10 EXPIRED", "acquire 3 over 11", "state ACQUIRING"]);
    assert_eq!(bench.applied(3, 12), ["inspect", "state HOLDING"]);
    assert_eq!(bench.inspected(), ["won 12", "state LEADING"]);
}

#[test]
fn the_deadline_of_a_later_renewal_stays_though_an_earlier_one_is_answered_late() {
    let mut bench = Bench::leader();
    bench.pass(secs(10));
    bench.pass(secs(2));
    bench.next();
    bench.inspected();
    assert_eq!(bench.applied(3, 12), NOTHING);
    assert_eq!(bench.applied(2, 11), NOTHING);
    assert_eq!(bench.remaining(), Some(T - M));
    assert_eq!(bench.pass(secs(10)), ["inspect", "renew 4 over 12"]);
}

#[test]
fn a_write_sent_late_by_the_client_is_harmless() {
    let mut bench = Bench::leader();
    bench.pass(secs(10));
    bench.inspected();
    bench.pass(secs(2));
    assert_eq!(bench.watched(theirs(12)), ["lost 10 USURPED", "leader other", "state WAITING"]);
    assert_eq!(bench.refused(2, 12), NOTHING);
    assert_eq!(bench.wrote(2, Outcome::Unknown), NOTHING);
    assert_eq!(
        bench.applied(2, 11),
        NOTHING,
        "the write was applied, but its record has been replaced since"
    );
    assert_eq!(bench.campaign.leader().map(|leader| leader.revision), Some(Revision(12)));
    assert!(!bench.leads());
}

#[test]
fn a_duplicate_answer_changes_nothing() {
    let mut bench = Bench::leader();
    bench.pass(secs(10));
    bench.inspected();
    bench.applied(2, 11);
    bench.sleep(secs(1));
    for outcome in [acknowledged(11, None), Outcome::Unknown, Outcome::Busy, Outcome::NotSent] {
        assert_eq!(bench.wrote(2, outcome), NOTHING);
        assert_eq!(bench.remaining(), Some(T - M - secs(1)));
        assert_eq!(bench.wake(), Some((Timer::Renew, secs(9))));
    }
}
