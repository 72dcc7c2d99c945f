//! The proof: which events move the deadline and which do not.

use incumbent_core::Instant;
use incumbent_core::campaign::Settings;
use incumbent_core::induction::{Answer, Failure, Group, Input, Kind, Loss, Membership, Timer};
use incumbent_core::record::Attempt;
use incumbent_core::store::FaultKind;

use crate::harness::*;

#[test]
fn a_renewal_is_a_heartbeat_that_is_appended_and_then_a_commit() {
    let mut bench = Bench::leader();
    assert_eq!(bench.until(Timer::Renew), ["heartbeat 3"]);
    assert_eq!(bench.appended(3), ["commit 3 13"]);
    assert_eq!(bench.committed(3), NOTHING);
    assert_eq!(bench.remaining(), Some(T - M));
}

#[test]
fn a_fifth_of_the_lease_after_its_send_the_next_renewal_follows() {
    let mut bench = Bench::leader();
    let begun = bench.now;
    bench.until(Timer::Renew);
    assert_eq!(bench.now.since(begun), T / 5);
}

#[test]
fn the_deadline_counts_from_the_send_of_the_heartbeat() {
    let mut bench = Bench::leader();
    bench.until(Timer::Renew);
    bench.sleep(ms(100));
    bench.appended(3);
    bench.sleep(ms(200));
    bench.committed(3);
    assert_eq!(bench.remaining(), Some(T - M - ms(300)));
}

#[test]
fn a_commit_is_sent_after_the_append_and_not_before() {
    let mut bench = Bench::leader();
    assert_eq!(bench.until(Timer::Renew), ["heartbeat 3"], "without a commit");
    assert_eq!(bench.committed(3), NOTHING, "none was asked for");
}

#[test]
fn a_heartbeat_that_comes_back_proves_nothing() {
    let mut bench = Bench::leader();
    let deadline = bench.remaining();
    bench.until(Timer::Renew);
    bench.appended(3);
    bench.read_back(3, Kind::Heartbeat);
    assert_eq!(bench.remaining(), deadline.map(|left| left - T / 5));
}

#[test]
fn a_commit_that_another_member_id_answers_for_is_ignored() {
    let mut bench = Bench::leader();
    bench.until(Timer::Renew);
    bench.appended(3);
    assert_eq!(bench.committed_as(3, "m2", 4), NOTHING);
    assert_eq!(bench.remaining(), Some(T - M - T / 5));
}

#[test]
fn a_commit_that_an_empty_group_accepted_is_ignored() {
    let mut bench = Bench::leader();
    bench.until(Timer::Renew);
    bench.appended(3);
    assert_eq!(bench.committed_as(3, "m1", -1), NOTHING);
    assert_eq!(bench.remaining(), Some(T - M - T / 5));
}

#[test]
fn an_epoch_that_moved_does_not_matter() {
    let mut bench = Bench::leader();
    bench.until(Timer::Renew);
    bench.appended(3);
    bench.committed_as(3, "m1", 9);
    assert_eq!(bench.remaining(), Some(T - M));
}

#[test]
fn a_commit_that_is_refused_or_unanswered_is_repeated_by_the_next_heartbeat() {
    for failure in [Failure::Refused, Failure::Unknown, Failure::TopicGone] {
        let mut bench = Bench::leader();
        bench.until(Timer::Renew);
        bench.appended(3);
        let outputs = bench.not_committed(3, failure.clone());
        let inspects = failure == Failure::TopicGone;
        assert_eq!(outputs, if inspects { vec!["inspect"] } else { vec![] }, "{failure:?}");
        assert_eq!(bench.until(Timer::Renew), ["heartbeat 4"]);
        assert!(bench.leads());
    }
}

#[test]
fn a_commit_that_overtakes_the_report_of_a_rebalance_is_ignored() {
    let mut bench = Bench::leader();
    bench.until(Timer::Renew);
    let before = bench.remaining();
    bench.appended(3);
    let lost = Membership { member: "m1".into(), generation: 3, owns: false };
    assert_eq!(bench.committed_with(3, lost), NOTHING);
    assert_eq!(bench.remaining(), before);
    assert_eq!(bench.give(Answer::GroupLost(Loss::Rejoins))[0], "lost 10 REVOKED");
}

#[test]
fn a_missing_permission_is_reported_once_and_the_deadline_remains() {
    let mut bench = Bench::leader();
    bench.until(Timer::Renew);
    bench.appended(3);
    let denied = || Failure::Denied(fault(FaultKind::Denied));
    assert_eq!(bench.not_committed(3, denied()), ["warning Denied"]);
    bench.until(Timer::Renew);
    bench.appended(4);
    assert_eq!(bench.not_committed(4, denied()), NOTHING);
    assert!(bench.leads());
}

#[test]
fn brokers_that_are_silent_twice_are_reported() {
    let mut bench = Bench::leader();
    bench.until(Timer::Renew);
    assert_eq!(
        bench.not_appended(3, Failure::Unknown),
        ["ask token 2"],
        "the question shows whether the group still holds the member"
    );
    bench.until(Timer::Renew);
    assert_eq!(bench.until(Timer::Answer), ["warning Unreachable"]);
}

#[test]
fn an_answer_counts_for_its_own_heartbeat_whenever_it_comes() {
    let mut bench = Bench::leader();
    bench.until(Timer::Renew);
    let sent = bench.now;
    bench.appended(3);
    bench.until(Timer::Answer);
    assert_eq!(bench.until(Timer::Renew), ["heartbeat 4"]);
    bench.committed(3);
    assert_eq!(bench.remaining(), Some(T - M - bench.now.since(sent)));
}

#[test]
fn an_older_answer_does_not_move_the_deadline_back() {
    let mut bench = Bench::leader();
    bench.until(Timer::Renew);
    bench.appended(3);
    bench.until(Timer::Answer);
    bench.until(Timer::Renew);
    bench.appended(4);
    bench.committed(4);
    let deadline = bench.remaining();
    assert_eq!(bench.committed(3), NOTHING);
    assert_eq!(bench.remaining(), deadline);
}

#[test]
fn an_append_that_is_slower_than_its_limit_is_committed_all_the_same() {
    let mut bench = Bench::leader();
    bench.until(Timer::Renew);
    bench.until(Timer::Answer);
    bench.until(Timer::Renew);
    assert_eq!(bench.appended(3), ["commit 3 13"]);
    assert_eq!(bench.appended(4), NOTHING, "one commit at a time");
    assert_eq!(bench.committed(3), ["commit 4 14"]);
    bench.committed(4);
    assert_eq!(bench.remaining(), Some(T - M));
}

#[test]
fn without_a_proof_the_term_ends_at_the_deadline() {
    let mut bench = Bench::leader();
    bench.sleep(T - M - ms(1));
    assert!(bench.leads());
    bench.sleep(ms(1));
    assert!(!bench.leads(), "no call is needed for that");
    assert_eq!(bench.tick()[..1], ["lost 10 EXPIRED"]);
}

#[test]
fn an_expired_candidate_publishes_nothing_before_a_commit_is_acknowledged() {
    let mut bench = Bench::leader();
    bench.until(Timer::Renew);
    bench.appended(3);
    bench.sleep(T);
    assert_eq!(bench.tick(), ["lost 10 EXPIRED", "inspect", "leader none", "state ACQUIRING"]);
    for _ in 0..20 {
        assert_eq!(bench.until(Timer::Renew), ["commit 3 13"]);
        bench.not_committed(3, Failure::Unknown);
    }
    assert_eq!(bench.until(Timer::Renew), ["commit 3 13"]);
    assert_eq!(bench.committed(3), ["claim 4"]);
}

#[test]
fn a_commit_acknowledged_after_the_deadline_saves_nothing_and_a_new_term_follows() {
    let mut bench = Bench::leader();
    bench.until(Timer::Renew);
    bench.appended(3);
    bench.read_back(3, Kind::Heartbeat);
    bench.sleep(T);
    assert_eq!(bench.committed(3)[..2], ["lost 10 EXPIRED", "claim 4"]);
    bench.claimed(4);
    assert_eq!(bench.committed(4), ["won 13", "heartbeat 5", "state LEADING"]);
}

#[test]
fn a_claim_whose_append_is_not_reported_is_replaced_at_the_next_proof() {
    let mut bench = Bench::leader();
    bench.until(Timer::Renew);
    bench.appended(3);
    bench.read_back(3, Kind::Heartbeat);
    bench.sleep(T);
    assert_eq!(bench.committed(3)[..2], ["lost 10 EXPIRED", "claim 4"]);
    bench.until(Timer::Answer);
    assert_eq!(bench.until(Timer::Renew), ["commit 3 13"]);
    assert_eq!(bench.committed(3), ["claim 5"]);
    bench.claimed(5);
    assert_eq!(bench.committed(5), ["won 13", "heartbeat 6", "state LEADING"]);
}

#[test]
fn a_claim_that_is_on_its_way_is_not_published_twice() {
    let mut bench = Bench::leader();
    bench.until(Timer::Renew);
    bench.appended(3);
    bench.sleep(T);
    assert_eq!(bench.committed(3)[..2], ["lost 10 EXPIRED", "claim 4"]);
    assert_eq!(bench.committed(3), NOTHING, "the same commit, answered twice");
}

#[test]
fn a_proof_of_a_record_below_the_claim_wins_nothing() {
    let mut bench = Bench::leader();
    // A heartbeat is appended only after the lease has run out. Its commit extends nothing; the commit of the next
    // heartbeat does.
    bench.until(Timer::Renew);
    bench.appended(3);
    bench.until(Timer::Answer);
    bench.sleep(T - M - ms(1_500));
    assert!(bench.tick().contains(&"heartbeat 4".into()));
    bench.appended(4);
    bench.sleep(ms(1_500));
    assert_eq!(bench.committed(3)[..2], ["lost 10 EXPIRED", "claim 5"]);
    // The client reports the commit of the previous term's heartbeat, whose lease would still last.
    bench.committed(4);
    bench.read_back_at(3, Kind::Heartbeat, 12);
    bench.read_back_at(4, Kind::Heartbeat, 13);
    bench.claimed(5);
    assert!(!bench.leads(), "the partition may have been another member's in between");
    assert_eq!(bench.committed(5)[0], "won 14");
}

#[test]
fn an_assignment_after_the_removal_leads_to_no_deadline() {
    let mut bench = Bench::member();
    bench.assigned();
    bench.claimed(1);
    let lost = Failure::GroupLost(Loss::Rejoins);
    assert_eq!(bench.not_committed(1, lost), ["state WAITING"]);
    assert_eq!(bench.remaining(), None);
}

#[test]
fn a_clock_that_goes_back_changes_nothing() {
    let mut bench = Bench::leader();
    let deadline = bench.campaign.lease();
    bench.campaign.handle(Instant::ZERO, Input::Tick).expect("no misuse");
    assert_eq!(bench.campaign.lease(), deadline);
}

#[test]
fn an_answer_to_what_was_never_published_is_a_misuse() {
    let mut bench = Bench::leader();
    let input = Answer::Committed { attempt: Attempt(99), result: Err(Failure::Unknown) };
    assert!(bench.campaign.handle(bench.now, input.into()).is_err());
    assert!(bench.leads());
}

#[test]
fn among_gonelis_members_a_leader_heartbeats_ten_times_a_second_and_commits_as_ever() {
    let group = Group { goneli: true, ..Group::default() };
    let mut bench = Bench::with(Settings::new("me"), group);
    bench.give(Input::Campaign);
    let mut bench = bench.lead();
    let begun = bench.now;
    let mut heartbeats = 0;
    while bench.wake().expect("a wake-up").0 != Timer::Renew {
        let (_, wait) = bench.wake().expect("a wake-up");
        bench.sleep(wait);
        let outputs = bench.tick();
        assert!(!outputs.iter().any(|output| output.starts_with("commit")), "{outputs:?}");
        heartbeats += outputs.iter().filter(|output| output.starts_with("heartbeat")).count();
        if bench.now.since(begun) >= T / 5 {
            break;
        }
    }
    assert!((9..=11).contains(&heartbeats), "{heartbeats}");
    bench.sleep(T);
    let outputs = bench.tick();
    assert_eq!(outputs[0], "lost 10 EXPIRED");
    assert!(!outputs.iter().any(|output| output.starts_with("heartbeat")), "{outputs:?}");
}
