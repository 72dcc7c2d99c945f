//! A topic that was replaced, that lost its end, or that has no id.

use incumbent_core::campaign::Settings;
use incumbent_core::induction::{Answer, Failure, Group, Input, Kind, Record, Shown, Timer, Topic, TopicId};
use incumbent_core::record::TermInfo;
use incumbent_core::store::FaultKind;

use crate::harness::*;

const REMADE: Option<TopicId> = Some(TopicId(2));

#[test]
fn a_leader_reads_the_topics_id_once_a_second() {
    let mut bench = Bench::leader();
    let begun = bench.now;
    assert_eq!(bench.until(Timer::Inspect), ["inspect"]);
    assert_eq!(bench.now.since(begun), secs(1));
    assert_eq!(bench.inspected(), NOTHING);
}

#[test]
fn another_id_ends_the_term_and_a_claim_in_the_new_topic_follows() {
    let mut bench = Bench::leader();
    bench.until(Timer::Inspect);
    let outputs = bench.inspected_as(REMADE);
    assert_eq!(
        outputs,
        [
            "warning STORE_RESET",
            "lost 10 STORE_RESET",
            "leader none",
            "inspect",
            "claim 4",
            "state ACQUIRING"
        ]
    );
}

#[test]
fn where_brokers_disagree_about_the_topic_it_is_asked_for_twice_in_a_tenth_of_a_second_at_most() {
    let mut bench = Bench::leader();
    bench.until(Timer::Inspect);
    assert!(bench.inspected_as(REMADE).contains(&"inspect".to_owned()));
    bench.sleep(ms(3));
    let former = bench.inspected_as(Some(TOPIC));
    assert!(!former.contains(&"inspect".to_owned()), "{former:?}");
    assert_eq!(bench.give(Shown::Gap), NOTHING);
    let begun = bench.now;
    assert_eq!(bench.until(Timer::Inspect), ["inspect"]);
    assert_eq!(bench.now.since(begun), ms(100));
}

#[test]
fn the_token_in_the_new_topic_is_larger_though_its_offsets_begin_again() {
    let mut bench = Bench::leader();
    let before = bench.token();
    bench.until(Timer::Inspect);
    bench.inspected_as(REMADE);
    let begun = bench.now;
    bench.next = 0;
    bench.claimed(4);
    bench.committed(4);
    assert_eq!(bench.time_to_win(begun), T, "everything is waited for again");
    assert!(bench.token() > before, "{:?} {before:?}", bench.token());
    assert_eq!(bench.token().map(|token| token.sequence.0), Some(0));
}

#[test]
fn a_topic_that_was_made_again_before_the_claim_is_waited_for() {
    let mut bench = Bench::member();
    bench.other(1, Kind::Heartbeat);
    bench.sleep(secs(60));
    bench.assigned();
    bench.next = 0;
    assert_eq!(bench.appended(1), ["inspect", "commit 1 1"]);
    let begun = bench.now;
    let outputs = bench.inspected_as(REMADE);
    assert_eq!(outputs, ["warning STORE_RESET", "inspect", "claim 2"]);
    bench.claimed(2);
    assert_eq!(bench.committed(2), ["state HOLDING"]);
    assert_eq!(bench.time_to_win(begun), T);
}

#[test]
fn a_member_whose_topic_was_made_again_remains_a_member() {
    let mut bench = Bench::member();
    bench.other(1, Kind::Heartbeat);
    assert_eq!(bench.inspected_as(REMADE), ["warning STORE_RESET", "leader none"][..1]);
}

#[test]
fn what_a_record_of_a_former_topic_says_does_not_count_in_the_new_one() {
    let former = Some(TopicId(7));
    let mut bench = Bench::member();
    // A producer kept this record, and delivers it to the topic that has the name now.
    let theirs = TermInfo { token: token(DAY + 9, 0), led_for: None };
    bench.give(Shown::Record(Record {
        term_info: Some(theirs),
        topic: former,
        ..record(10, 1, Kind::Claim)
    }));
    bench.next = 11;
    let assigned = bench.now;
    bench.assigned();
    bench.claimed(1);
    bench.committed(1);
    assert_eq!(bench.time_to_win(assigned), T, "the win waits for the claim's lease all the same");
    assert_eq!(bench.token(), Some(token(DAY + 10, 11)), "and the incarnation is above the former one");
}

#[test]
fn a_release_of_a_former_topic_releases_nothing_in_the_new_one() {
    let mut bench = Bench::member();
    bench.other(1, Kind::Heartbeat);
    bench.other(2, Kind::Heartbeat);
    // In its own topic, the range of this release would include every record below.
    for topic in [Some(TopicId(7)), None] {
        bench.give(Shown::Record(Record { topic, ..record(bench.next, 1, released(160)) }));
        bench.next += 1;
    }
    let assigned = bench.now;
    bench.assigned();
    bench.claimed(1);
    bench.committed(1);
    assert_eq!(bench.time_to_win(assigned), T);
}

#[test]
fn every_record_names_the_topic_for_which_it_was_written_where_that_is_known() {
    let mut bench = Bench::member();
    bench.assigned();
    assert_eq!(bench.header(1, "Incumbent-Topic").as_deref(), Some("00000000000000000000000000000001"));
    let mut bench = nameless();
    bench.assigned();
    assert_eq!(bench.header(1, "Incumbent-Topic"), None);
}

#[test]
fn an_append_below_our_last_one_ends_the_term() {
    let mut bench = Bench::leader();
    bench.until(Timer::Renew);
    let outputs = bench.appended_at(3, 11);
    assert_eq!(outputs[..2], ["warning STORE_RESET", "lost 10 STORE_RESET"]);
    assert!(outputs.contains(&"claim 4".into()), "{outputs:?}");
}

#[test]
fn a_renewal_below_a_heartbeat_for_gonelis_members_ends_the_term() {
    let group = Group { goneli: true, ..Group::default() };
    let mut bench = Bench::with(Settings::new("me"), group);
    bench.give(Input::Campaign);
    let mut bench = bench.lead();
    for attempt in [3, 4] {
        assert_eq!(bench.until(Timer::Heartbeat), [format!("heartbeat {attempt}")]);
    }
    bench.appended_at(3, 20);
    // The topic is recreated without an id: its first offsets are above those of the last renewal and below those of
    // the heartbeats.
    let outputs = bench.appended_at(4, 15);
    assert_eq!(outputs[..2], ["warning STORE_RESET", "lost 10 STORE_RESET"]);
}

#[test]
fn a_renewal_whose_append_is_reported_late_is_compared_with_those_before_it() {
    let mut bench = Bench::leader();
    bench.until(Timer::Renew);
    bench.until(Timer::Answer);
    bench.until(Timer::Renew);
    // Both records were kept until the topic had been recreated, and the later one happens to lie above the proved
    // offset.
    bench.appended_at(4, 12);
    let outputs = bench.appended_at(3, 11);
    assert_eq!(outputs[..2], ["warning STORE_RESET", "lost 10 STORE_RESET"]);
}

#[test]
fn a_record_below_the_readers_position_is_a_gap_and_the_topic_is_inspected() {
    let mut bench = Bench::member_after(&[(1, Kind::Heartbeat), (1, released(10))]);
    bench.next = 10;
    assert_eq!(bench.other(1, released(9)), ["inspect"]);
    bench.assigned();
    bench.claimed(1);
    assert!(bench.committed(1).contains(&"won 11".into()), "after the gap only the release was read");
}

#[test]
fn an_older_inspection_than_the_newest_is_not_believed() {
    let mut bench = Bench::leader();
    let asked_at = bench.now.before(secs(2));
    bench.until(Timer::Inspect);
    bench.inspected();
    let topic = Topic { asked_at, id: REMADE, time_of_day: ms(DAY) };
    assert_eq!(bench.give(Answer::Inspected(Ok(topic))), NOTHING);
    assert!(bench.leads());
}

#[test]
fn an_inspection_that_fails_is_reported_once_and_ends_nothing() {
    let mut bench = Bench::leader();
    let failed = || Answer::Inspected(Err(fault(FaultKind::Denied)));
    assert_eq!(bench.give(failed()), ["warning Denied"]);
    assert_eq!(bench.give(failed()), NOTHING);
    bench.inspected();
    assert_eq!(bench.give(failed()), ["warning Denied"]);
    assert!(bench.leads());
}

#[test]
fn a_topic_that_is_gone_is_inspected_at_once() {
    let mut bench = Bench::leader();
    bench.until(Timer::Renew);
    assert_eq!(bench.not_appended(3, Failure::TopicGone), ["inspect"]);
}

/// Creates a candidate that does not know to which topic its log belongs.
fn nameless() -> Bench {
    let mut bench = Bench::without_an_id();
    assert_eq!(bench.give(Input::Campaign), ["inspect", "join", "state WAITING"]);
    bench
}

#[test]
fn a_candidate_that_knows_no_id_asks_for_it_when_it_enters_the_race() {
    let mut bench = nameless();
    assert_eq!(bench.inspected_as(Some(TOPIC)), NOTHING);
    bench.other(1, released(9));
    assert_eq!(bench.lead_at(1), "won 11", "the release was read after the id was known");
}

#[test]
fn what_was_read_before_the_id_was_known_counts_as_first_observed_then() {
    let mut bench = nameless();
    bench.other(1, released(9));
    bench.sleep(secs(60));
    let known = bench.now;
    bench.inspected_as(Some(TOPIC));
    bench.assigned();
    bench.claimed(1);
    bench.committed(1);
    assert_eq!(bench.time_to_win(known), T);
}

#[test]
fn a_claim_that_was_read_back_before_the_id_was_known_waits_from_the_assignment() {
    let mut bench = nameless();
    bench.other(1, released(9));
    bench.sleep(secs(60));
    let assigned = bench.now;
    bench.assigned();
    bench.appended(1);
    bench.read_back(1, Kind::Claim);
    bench.inspected_as(Some(TOPIC));
    bench.inspected();
    bench.committed(1);
    assert_eq!(bench.time_to_win(assigned), T);
}
