//! Leaving: the drain, the release, the answer to a revocation, the end of the membership.

use incumbent_core::campaign::{Backoff, Settings, State};
use incumbent_core::induction::{Answer, Failure, Input, Loss, Timer};

use crate::harness::*;

#[test]
fn a_revocation_drains_releases_and_is_answered_then() {
    let mut bench = Bench::leader();
    assert_eq!(bench.give(Answer::Revoked), ["draining REVOKED", "state DRAINING"]);
    assert!(bench.leads());
    let outputs = bench.give(Input::Drained);
    assert_eq!(outputs, ["lost 10 REVOKED", "release 3 proven 11", "state RELEASING"]);
    assert_eq!(bench.remaining(), None);
    assert_eq!(bench.appended(3), ["yield", "state WAITING"]);
}

#[test]
fn a_leader_that_drains_keeps_its_lease() {
    let mut bench = Bench::leader();
    bench.give(Answer::Revoked);
    assert_eq!(bench.until(Timer::Renew), ["heartbeat 3"]);
    bench.renewed(3);
    assert_eq!(bench.remaining(), Some(T - M));
}

#[test]
fn a_drain_whose_time_is_up_answers_the_revocation_without_a_release() {
    let mut bench = Bench::leader_with(Settings { drain: secs(1), ..settings() });
    bench.give(Answer::Revoked);
    bench.sleep(secs(1));
    assert_eq!(bench.tick()[..2], ["lost 10 REVOKED", "yield"]);
    assert_eq!(bench.campaign.state(), State::Waiting);
    assert_eq!(bench.give(Input::Drained), NOTHING);
}

#[test]
fn a_lease_that_ends_during_the_drain_ends_it() {
    let mut bench = Bench::leader();
    bench.give(Answer::Revoked);
    bench.sleep(T - M);
    assert_eq!(bench.tick(), ["lost 10 EXPIRED", "yield", "state WAITING"]);
}

#[test]
fn a_removal_during_the_drain_ends_it_and_the_revocation_is_answered() {
    let mut bench = Bench::leader();
    bench.give(Answer::Revoked);
    bench.until(Timer::Renew);
    bench.appended(3);
    let outputs = bench.not_committed(3, Failure::GroupLost(Loss::Rejoins));
    assert_eq!(outputs, ["lost 10 REVOKED", "yield", "state WAITING"]);
}

#[test]
fn a_release_that_is_not_appended_is_waited_for_two_seconds() {
    let mut bench = Bench::leader();
    bench.give(Answer::Revoked);
    bench.give(Input::Drained);
    let begun = bench.now;
    assert_eq!(bench.until(Timer::Release), ["yield", "state WAITING"]);
    assert_eq!(bench.now.since(begun), secs(2));
    let mut bench = Bench::leader();
    bench.give(Answer::Revoked);
    bench.give(Input::Drained);
    assert_eq!(bench.not_appended(3, Failure::Unknown), ["yield", "state WAITING"]);
}

#[test]
fn a_release_names_the_newest_record_that_was_proved() {
    let mut bench = Bench::leader();
    bench.until(Timer::Renew);
    bench.appended(3);
    bench.give(Answer::Revoked);
    // Offset 12 was appended, but its commit was not answered.
    assert_eq!(bench.give(Input::Drained)[1], "release 4 proven 11");
}

#[test]
fn a_leader_that_resigns_leaves_the_group_and_joins_again_a_lease_later() {
    let mut bench = Bench::leader();
    assert_eq!(bench.give(Input::Resign), ["draining RESIGNED", "state DRAINING"]);
    let outputs = bench.give(Input::Drained);
    assert_eq!(outputs, ["lost 10 RESIGNED", "release 3 proven 11", "state RELEASING"]);
    let resigned = bench.now;
    assert_eq!(bench.appended(3), ["leave"]);
    assert_eq!(bench.give(Answer::Left), ["state WAITING"]);
    assert_eq!(bench.until(Timer::Join), ["join"]);
    assert_eq!(bench.now.since(resigned), T);
}

#[test]
fn an_owner_that_resigns_before_its_win_leaves_without_a_release() {
    let mut bench = Bench::member();
    bench.assigned();
    assert_eq!(bench.give(Input::Resign), ["leave", "state RELEASING"]);
}

#[test]
fn a_revocation_while_a_leader_resigns_is_answered_before_it_leaves() {
    let mut bench = Bench::leader();
    bench.give(Input::Resign);
    assert_eq!(bench.give(Answer::Revoked), NOTHING);
    bench.give(Input::Drained);
    assert_eq!(bench.appended(3), ["yield", "leave"]);
}

#[test]
fn work_that_has_not_ended_holds_the_release_back_for_a_lease() {
    let mut bench = Bench::leader_with(Settings { drain: secs(1), ..settings() });
    bench.give(Input::Resign);
    bench.sleep(secs(1));
    let outputs = bench.tick();
    assert!(outputs.contains(&"lost 10 RESIGNED".into()), "{outputs:?}");
    assert_eq!(bench.campaign.state(), State::Releasing);
    assert_eq!(bench.until(Timer::Work), ["leave"]);
}

#[test]
fn work_that_ends_late_is_released_while_the_lease_lasts() {
    let mut bench = Bench::leader();
    assert_eq!(bench.give(Input::HandlerFailed), ["lost 10 HANDLER_FAILED", "state RELEASING"]);
    assert_eq!(bench.give(Input::Drained), ["release 3 proven 11"]);
    let mut bench = Bench::leader();
    bench.give(Input::HandlerFailed);
    bench.sleep(T - M);
    assert_eq!(bench.give(Input::Drained), ["leave"], "and not after it");
}

#[test]
fn a_revocation_while_the_work_has_not_ended_is_answered_at_once() {
    let mut bench = Bench::leader();
    bench.give(Input::HandlerFailed);
    assert_eq!(bench.give(Answer::Revoked), ["yield", "leave"]);
}

#[test]
fn a_handler_that_failed_rests_its_candidate() {
    let backoff = Backoff::Fixed(secs(7));
    let mut bench = Bench::leader_with(Settings { backoff, ..settings() });
    let failed = bench.now;
    bench.give(Input::HandlerFailed);
    bench.give(Input::Drained);
    bench.appended(3);
    bench.give(Answer::Left);
    assert_eq!(bench.until(Timer::Join), ["join"]);
    assert_eq!(bench.now.since(failed), secs(7));
}

#[test]
fn an_unhealthy_leader_drains_and_stays_out_until_it_is_well() {
    let mut bench = Bench::leader();
    assert_eq!(bench.give(Input::Health(false)), ["draining UNHEALTHY", "state DRAINING"]);
    bench.give(Input::Drained);
    assert_eq!(bench.appended(3), ["leave"]);
    assert_eq!(bench.give(Answer::Left), ["state IDLE"]);
    assert_eq!(bench.give(Input::Health(true)), ["join", "state WAITING"]);
}

#[test]
fn an_unhealthy_member_leaves_the_group() {
    let mut bench = Bench::member();
    assert_eq!(bench.give(Input::Health(false)), ["leave", "state RELEASING"]);
}

#[test]
fn a_member_that_is_closed_leaves_and_settles() {
    let mut bench = Bench::member();
    assert_eq!(bench.give(Input::Close), ["leave", "state RELEASING"]);
    assert_eq!(bench.give(Answer::Left), ["state CLOSED"]);
    assert!(bench.campaign.is_settled());
}

#[test]
fn a_leader_that_is_closed_drains_releases_and_leaves() {
    let mut bench = Bench::leader();
    assert_eq!(bench.give(Input::Close), ["draining CLOSED", "state DRAINING"]);
    assert_eq!(bench.give(Input::Drained)[..2], ["lost 10 CLOSED", "release 3 proven 11"]);
    assert_eq!(bench.appended(3), ["leave"]);
    assert_eq!(bench.give(Answer::Left), ["state CLOSED"]);
}

#[test]
fn a_close_answers_the_revocation_that_is_pending() {
    let mut bench = Bench::leader();
    bench.give(Answer::Revoked);
    assert_eq!(bench.give(Input::Close), NOTHING);
    assert_eq!(bench.give(Input::Drained)[0], "lost 10 REVOKED");
    assert_eq!(bench.appended(3), ["yield", "leave"]);
    // When the client closes, it revokes the partitions that it still has.
    assert_eq!(bench.give(Answer::Revoked), ["yield"]);
}

#[test]
fn a_close_waits_ten_seconds_for_the_client_and_reports_that_it_goes_on() {
    let mut bench = Bench::member();
    bench.give(Input::Close);
    assert_eq!(bench.wake(), Some((Timer::Close, secs(10))));
    assert_eq!(bench.until(Timer::Close), ["warning Unreachable", "state CLOSED"]);
    assert!(!bench.campaign.is_settled());
    bench.give(Answer::Left);
    assert!(bench.campaign.is_settled());
}

#[test]
fn a_close_waits_two_seconds_for_work_that_has_not_ended() {
    let mut bench = Bench::leader();
    bench.give(Input::HandlerFailed);
    bench.give(Input::Close);
    assert_eq!(bench.wake(), Some((Timer::Work, secs(2))));
    assert_eq!(bench.until(Timer::Work), ["leave"]);
}

#[test]
fn a_closed_campaign_stays_closed() {
    let mut bench = Bench::new();
    assert_eq!(bench.give(Input::Close), ["state CLOSED"]);
    assert_eq!(bench.give(Input::Campaign), NOTHING);
    assert_eq!(bench.assigned(), NOTHING);
}
