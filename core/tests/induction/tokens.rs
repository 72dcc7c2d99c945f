//! The order of tokens if the log alone does not guarantee it: because of the group's committed offset, and of records
//! that were not read.

use incumbent_core::induction::{
    Answer, Campaign, Failure, Group, Input, Kind, Loss, Record, Shown, Timer, Topic, TopicId,
};
use incumbent_core::record::{Nonce, TermInfo};
use incumbent_core::store::FaultKind;

use crate::harness::*;

const REMADE: Option<TopicId> = Some(TopicId(2));

fn text(incarnation: u64, sequence: u64) -> String {
    format!("incumbent/1 {}", token(incarnation, sequence))
}

fn stated(bench: &Bench, attempt: u64) -> Option<u64> {
    let header = bench.header(attempt, "Incumbent-Term")?;
    let term: TermInfo = header.parse().expect("a statement");
    Some(term.token.incarnation.0)
}

/// Creates an owner whose question for the committed token has not been answered yet.
fn asking() -> Bench {
    let mut bench = Bench::member();
    assert_eq!(bench.assigned_only(), ["ask token 1", "state ACQUIRING"]);
    bench
}

#[test]
fn a_claim_is_above_the_token_that_the_group_has_committed() {
    let mut bench = asking();
    assert_eq!(bench.informed(&text(DAY + 600_000, 57)), ["claim 1"]);
    assert_eq!(stated(&bench, 1), Some(DAY + 600_001));
    bench.claimed(1);
    bench.committed(1);
    let assigned_at = bench.now;
    assert_eq!(bench.time_to_win(assigned_at), T);
    assert_eq!(bench.token(), Some(token(DAY + 600_001, 10)));
}

/// The topic was recreated, and a broker that has not noticed this reports the topic's former id to the owner. The
/// owner's reader continued at an offset above the last leader's records, so it did not read those records. The group
/// has committed that leader's token.
#[test]
fn where_the_last_leaders_claim_is_not_in_the_log_the_win_waits_from_the_assignment() {
    let mut bench = Bench::member_after(&[(1, Kind::Claim), (1, Kind::Heartbeat), (1, released(11))]);
    bench.assigned_only();
    bench.informed(&text(DAY + 7, 4));
    bench.claimed(1);
    assert_eq!(bench.committed(1)[0], "state HOLDING");
    let assigned_at = bench.now;
    assert_eq!(bench.time_to_win(assigned_at), T);
}

#[test]
fn where_the_last_leaders_release_is_in_the_log_the_win_is_at_once() {
    let mut bench = Bench::member();
    let theirs = TermInfo { token: token(DAY + 7, 10), led_for: None };
    for (offset, kind) in [(10, Kind::Claim), (11, Kind::Heartbeat), (12, released(11))] {
        bench.give(Shown::Record(Record { term_info: Some(theirs), ..record(offset, 1, kind) }));
    }
    bench.next = 13;
    bench.assigned_only();
    bench.informed(&text(DAY + 7, 10));
    bench.claimed(1);
    assert_eq!(bench.committed(1)[0], "won 13");
}

#[test]
fn a_claim_copies_the_incarnation_that_log_and_group_have() {
    let mut bench = Bench::member();
    let theirs = TermInfo { token: token(DAY + 7, 10), led_for: None };
    bench.give(Shown::Record(Record { term_info: Some(theirs), ..record(10, 1, released(9)) }));
    bench.next = 11;
    bench.assigned_only();
    bench.informed(&text(DAY + 7, 4));
    assert_eq!(stated(&bench, 1), Some(DAY + 7));
}

#[test]
fn a_claim_whose_offset_is_not_above_the_committed_tokens_is_replaced() {
    let mut bench = Bench::member();
    let theirs = TermInfo { token: token(DAY + 7, 10), led_for: None };
    bench.give(Shown::Record(Record { term_info: Some(theirs), ..record(10, 1, released(9)) }));
    bench.next = 11;
    bench.assigned_only();
    bench.informed(&text(DAY + 7, 900));
    bench.claimed(1);
    assert_eq!(bench.committed(1), ["warning STORE_RESET", "claim 2", "state HOLDING"]);
    bench.claimed(2);
    bench.committed(2);
    assert_eq!(bench.token(), Some(token(DAY + 8, 12)));
}

#[test]
fn no_claim_comes_before_the_question_is_answered_and_it_is_asked_again() {
    let mut bench = asking();
    for number in 2..6 {
        assert_eq!(bench.until(Timer::Answer), if number == 3 { &["warning Unreachable"][..] } else { &[] });
        assert_eq!(bench.until(Timer::Renew), [format!("ask token {number}")]);
    }
    assert_eq!(bench.informed_of(3, Ok(String::new())), ["claim 1"], "a late answer is one");
    assert_eq!(bench.informed(""), NOTHING, "and the next says nothing new");
}

#[test]
fn a_question_that_is_denied_is_reported_once_and_asked_again() {
    let mut bench = asking();
    let denied = || Err(Failure::Denied(fault(FaultKind::Denied)));
    assert_eq!(bench.informed_of(1, denied()), ["warning Denied"]);
    assert_eq!(bench.until(Timer::Renew), ["ask token 2"]);
    assert_eq!(bench.informed_of(2, denied()), NOTHING);
    assert_eq!(bench.until(Timer::Renew), ["ask token 3"]);
    assert_eq!(bench.informed(""), ["claim 1"]);
}

#[test]
fn metadata_that_may_be_ours_and_cannot_be_read_is_reported_and_nothing_is_claimed() {
    let mut bench = asking();
    assert_eq!(bench.informed("incumbent/2 000000000000001d-0000000000000007"), ["warning Broken"]);
    assert_eq!(bench.until(Timer::Renew), ["ask token 2"]);
    assert_eq!(bench.informed("written by an operator's tool"), ["claim 1"], "that is none of ours");
}

#[test]
fn a_question_that_is_refused_as_no_members_loses_the_group() {
    let mut bench = asking();
    let lost = Err(Failure::GroupLost(Loss::Rejoins));
    assert_eq!(bench.informed_of(1, lost), ["state WAITING"]);
}

#[test]
fn an_answer_to_a_question_of_the_assignment_before_is_none() {
    let mut bench = asking();
    bench.give(Answer::GroupLost(Loss::Rejoins));
    assert_eq!(bench.assigned_only(), ["ask token 2", "state ACQUIRING"]);
    assert_eq!(bench.informed_of(1, Ok(String::new())), NOTHING);
    assert_eq!(bench.informed_of(1, Err(Failure::GroupLost(Loss::Rejoins))), NOTHING);
    assert_eq!(bench.informed(""), ["claim 1"]);
}

#[test]
fn every_commit_states_the_largest_token_known() {
    let mut bench = Bench::leader();
    assert_eq!(bench.metadata, text(DAY, 10));
    bench.until(Timer::Renew);
    let theirs = TermInfo { token: token(DAY + 9, 3), led_for: Some(secs(1)) };
    bench.give(Shown::Record(Record { term_info: Some(theirs), ..record(12, 1, Kind::Heartbeat) }));
    bench.next = 13;
    bench.appended(3);
    assert_eq!(bench.metadata, text(DAY + 9, 3));
}

/// Two campaigns run one after the other. The wall clock of the second is ten minutes behind that of the first. In
/// between all candidates stopped and the log forgot its records.
#[test]
fn tokens_grow_over_a_log_that_forgot_all_and_wall_clocks_ten_minutes_apart() {
    let wall = |bench: &mut Bench, millis: u64| {
        let topic = Topic { asked_at: bench.now, id: Some(TOPIC), time_of_day: ms(millis) };
        bench.campaign =
            Campaign::new(settings(), Group::default(), topic, Nonce(0xa), 7, bench.now).expect("settings");
        bench.give(Input::Campaign);
        // The candidate waits for records that it may not have read.
        bench.sleep(T);
    };
    let mut first = Bench::new();
    wall(&mut first, DAY + 600_000);
    let first = first.lead();
    let before = first.token();
    assert_eq!(before, Some(token(DAY + 605_000, 10)));

    let mut second = Bench::new();
    wall(&mut second, DAY);
    second.next = 500;
    second.assigned_only();
    second.informed(&first.metadata);
    second.claimed(1);
    second.committed(1);
    let assigned_at = second.now;
    assert_eq!(
        second.time_to_win(assigned_at),
        T,
        "the log may have forgotten the records of the previous leader"
    );
    assert_eq!(second.token(), Some(token(DAY + 605_001, 500)));
    assert!(second.token() > before);
}

#[test]
fn behind_records_that_were_not_read_a_claim_states_a_larger_incarnation() {
    let mut bench = Bench::member();
    let theirs = TermInfo { token: token(DAY + 7, 10), led_for: None };
    let known = || record(10, 1, Kind::Heartbeat);
    bench.give(Shown::Record(Record { term_info: Some(theirs), ..known() }));
    bench.give(Shown::Gap);
    bench.give(Shown::Record(Record { term_info: Some(theirs), ..record(90, 1, Kind::Heartbeat) }));
    bench.next = 91;
    bench.assigned();
    assert_eq!(stated(&bench, 1), Some(DAY + 8));
    bench.claimed(1);
    bench.committed(1);
    bench.give(Answer::Revoked);
    bench.assigned();
    assert_eq!(stated(&bench, 2), Some(DAY + 8), "its own claim now states the largest incarnation");
}

#[test]
fn behind_records_that_were_not_read_the_wall_clock_counts_where_it_is_larger() {
    let mut bench = Bench::member();
    let theirs = TermInfo { token: token(3, 10), led_for: None };
    bench.give(Shown::Record(Record { term_info: Some(theirs), ..record(10, 1, Kind::Heartbeat) }));
    bench.give(Shown::Gap);
    bench.sleep(ms(50));
    bench.assigned();
    assert_eq!(stated(&bench, 1), Some(DAY + 50));
}

#[test]
fn a_claim_from_before_a_gap_that_is_read_behind_it_is_replaced() {
    let mut bench = Bench::member();
    let theirs = TermInfo { token: token(DAY + 7, 10), led_for: None };
    bench.give(Shown::Record(Record { term_info: Some(theirs), ..record(10, 1, Kind::Heartbeat) }));
    bench.next = 11;
    bench.assigned();
    assert_eq!(stated(&bench, 1), Some(DAY + 7));
    bench.next = 60;
    bench.appended(1);
    assert_eq!(bench.read_back(1, Kind::Claim), ["claim 2"]);
    assert_eq!(stated(&bench, 2), Some(DAY + 8));
}

#[test]
fn no_win_comes_before_the_topic_was_asked_for_its_id_after_the_claim() {
    let mut bench = Bench::member();
    bench.assigned();
    assert_eq!(bench.appended(1), ["inspect", "commit 1 11"]);
    bench.read_back(1, Kind::Claim);
    bench.committed(1);
    // No inspection is answered for four seconds, while the lease is renewed.
    let mut attempt = 2;
    let begun = bench.now;
    while bench.now.since(begun) < secs(4) {
        let (_, wait) = bench.wake().expect("a wake-up");
        bench.sleep(wait);
        for output in bench.tick() {
            assert!(!output.starts_with("won"), "{output}");
            if output == format!("heartbeat {attempt}") {
                bench.renewed(attempt);
                attempt += 1;
            }
        }
    }
    assert_eq!(bench.inspected()[0], "won 10");
}

#[test]
fn brokers_that_were_away_for_a_lease_and_a_topic_made_again_meanwhile_give_no_token_twice() {
    let mut bench = Bench::member();
    // The previous leader's term. This candidate has read only the claim of that term.
    let theirs = TermInfo { token: token(5_000, 0), led_for: None };
    bench.give(Shown::Record(Record { term_info: Some(theirs), ..record(0, 1, Kind::Claim) }));
    bench.assigned();
    bench.sleep(secs(6));
    bench.tick();
    bench.until(Timer::Renew);
    // The topic is recreated; the claim and its commit arrive before the topic's id.
    bench.give(Shown::Gap);
    bench.next = 0;
    bench.appended(2);
    bench.read_back(2, Kind::Claim);
    let outputs = bench.committed(2);
    assert!(!outputs.iter().any(|output| output.starts_with("won")), "{outputs:?}");
    let outputs = bench.inspected_as(REMADE);
    assert_eq!(outputs[0], "warning STORE_RESET");
    assert!(bench.token().is_none());
}

/// A client (librdkafka) keeps a commit while it waits for its coordinator, and sends it under its later membership. A
/// commit from an earlier membership would thus replace the token of a leader in between with a smaller one.
#[test]
fn a_member_that_gives_its_partition_up_with_an_open_commit_goes_on_with_another_client() {
    let mut bench = Bench::leader();
    bench.until(Timer::Renew);
    bench.appended(3);
    bench.read_back(3, Kind::Heartbeat);
    assert_eq!(bench.give(Answer::GroupLost(Loss::Rejoins)), ["lost 10 REVOKED", "leave", "state RELEASING"]);
    assert_eq!(bench.give(Answer::Left), ["join", "state WAITING"]);
    let mut bench = Bench::leader();
    assert_eq!(
        bench.give(Answer::GroupLost(Loss::Rejoins)),
        ["lost 10 REVOKED", "state WAITING"],
        "none is open"
    );
}

#[test]
fn no_term_begins_while_a_commit_with_a_smaller_token_is_open() {
    let open = || {
        let mut bench = Bench::claimed_above(DAY + 7);
        // The claim's commit states the smaller token. This commit is not answered, and is repeated with the larger
        // token.
        bench.until(Timer::Answer);
        assert_eq!(bench.until(Timer::Renew), ["commit 1 12"]);
        assert_eq!(bench.committed(1), ["heartbeat 2", "state HOLDING"]);
        assert_eq!(bench.appended(2), ["commit 2 13"]);
        assert_eq!(bench.committed(2), NOTHING, "the answer may have been for the repetition");
        bench
    };
    let mut bench = open();
    assert_eq!(bench.committed(1), ["won 11", "heartbeat 3", "state LEADING"]);
    assert_eq!(bench.token(), Some(token(DAY + 7, 11)));
    let mut bench = open();
    assert_eq!(bench.not_committed(1, Failure::Unknown), ["won 11", "heartbeat 3", "state LEADING"]);
}
