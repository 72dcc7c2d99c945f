//! Late releases: whatever a producer delivers, and whenever it does, never makes a second leader.

use std::time::Duration;

use incumbent_core::induction::{Answer, Input, Kind, Loss, Record, Shown, Timer, TopicId};
use incumbent_core::record::TermInfo;

use crate::harness::*;

const REMADE: Option<TopicId> = Some(TopicId(2));

/// Creates a leader whose handler has failed and whose work has not ended.
fn ending() -> Bench {
    let mut bench = Bench::leader();
    bench.until(Timer::Renew);
    bench.renewed(3);
    assert_eq!(bench.give(Input::HandlerFailed), ["lost 10 HANDLER_FAILED", "state RELEASING"]);
    bench
}

#[test]
fn once_the_topic_is_another_no_release_is_sent_and_the_partition_is_given_up() {
    let mut bench = ending();
    assert_eq!(bench.inspected_as(REMADE), ["warning STORE_RESET", "leader none", "leave"]);
    assert_eq!(bench.give(Input::Drained), NOTHING);
}

#[test]
fn a_release_names_the_topic_in_which_its_term_was_proven() {
    let mut bench = ending();
    assert_eq!(bench.give(Input::Drained), ["release 4 proven 12"]);
    assert_eq!(bench.header(4, "Incumbent-Topic").as_deref(), Some("00000000000000000000000000000001"));
    // The release is appended to the topic that was recreated meanwhile.
    assert_eq!(bench.inspected_as(REMADE)[0], "warning STORE_RESET");
    assert_eq!(bench.appended_at(4, 2), ["leave"]);
}

#[test]
fn over_a_late_release_of_its_authors_former_term_the_win_waits() {
    let mut bench = Bench::member();
    // The other candidate won with the claim at 10, lost the partition, and won again with the claim at 12.
    for kind in [Kind::Claim, Kind::Heartbeat, Kind::Claim, Kind::Heartbeat] {
        bench.other(1, kind);
    }
    // Another producer of the same process delivers the release of the former term.
    let former = Some(TermInfo { token: token(DAY, 10), led_for: Some(secs(20)) });
    bench.give(Shown::Record(Record { term_info: former, ..record(14, 1, released(11)) }));
    bench.next = 15;
    let assigned = bench.now;
    bench.assigned();
    bench.claimed(1);
    bench.committed(1);
    assert_eq!(bench.time_to_win(assigned), T);
}

#[test]
fn over_a_release_of_the_newest_term_the_win_is_at_once_though_its_author_claimed_before() {
    let mut bench = Bench::member();
    for kind in [Kind::Claim, Kind::Heartbeat, Kind::Claim, Kind::Heartbeat, released(13)] {
        bench.other(1, kind);
    }
    assert_eq!(bench.lead_at(1), "won 15");
}

#[test]
fn a_group_that_is_lost_while_the_release_is_under_way_changes_nothing_of_it() {
    let mut bench = ending();
    bench.give(Input::Drained);
    assert_eq!(bench.give(Answer::GroupLost(Loss::Rejoins))[0], "leave");
    assert_eq!(bench.campaign.lease(), None);
    assert_eq!(bench.remaining(), None::<Duration>);
}
