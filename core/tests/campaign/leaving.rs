//! Leaving by choice: the drain, the release, the end.

use std::sync::Arc;

use incumbent_core::campaign::{
    Answer, Backoff, Event, Input, Output, ReadId, Reason, Request, Settings, Timer,
};
use incumbent_core::record::{Attempt, Entry};
use incumbent_core::store::{Action, Expect, FaultKind, Outcome, Write};
use incumbent_core::{Incarnation, Revision};

use crate::harness::*;

#[test]
fn resigning_drains_then_loses_then_releases() {
    let mut bench = Bench::leader();
    assert_eq!(bench.give(Input::Resign), ["draining RESIGNED", "state DRAINING"]);
    assert!(bench.leads(), "a draining leader leads");
    assert_eq!(
        bench.give(Input::Drained),
        ["lost 10 RESIGNED", "release 2 over 10 owing 0ms", "state RELEASING"]
    );
    assert!(!bench.leads());
    assert_eq!(bench.applied(2, 11), ["leader vacant", "state WAITING"]);
    assert_eq!(bench.pass(secs(1)), ["acquire 3 over 11", "state ACQUIRING"]);
}

#[test]
fn a_release_is_a_compare_and_delete_of_our_own_revision_and_says_what_it_owes() {
    let mut bench = Bench::leader();
    bench.give(Input::HandOver("other".into()));
    let outputs = bench.give_in_full(Input::Drained);
    let expected = Write {
        attempt: Attempt(2),
        expect: Expect::Revision(Revision(10)),
        action: Action::Release {
            headers: vec![
                ("Incumbent-Nonce".into(), "0000000000000000000000000000000a.0000000002".into()),
                ("Incumbent-Release".into(), "0 1000".into()),
                ("Incumbent-Successor".into(), "other".into()),
            ],
        },
    };
    assert_eq!(outputs[1], Output::Ask(Request::Write(expected)));
}

#[test]
fn the_drain_says_until_when_and_ends_then_by_itself() {
    let mut bench = Bench::leader();
    let outputs = bench.give_in_full(Input::Resign);
    let until = bench.now + secs(10);
    assert!(
        matches!(outputs[0], Output::Event(Event::Draining { until: at, reason: Reason::Resigned, .. }) if at == until),
        "{outputs:?}"
    );
    bench.pass(secs(10) - ms(1));
    assert!(bench.leads());
    let outputs = bench.pass(ms(1));
    assert_eq!(outputs[0], "lost 10 RESIGNED");
    assert_eq!(bench.campaign.lease(), None);
}

/// Creates a leader whose drain ran out without a report that its work ended. Its newest record is that of attempt 1,
/// at revision 10.
fn overdrawn(asked: Input) -> Bench {
    let mut bench = Bench::leader_with(Settings { drain: secs(5), ..settings() }, bucket());
    bench.give(asked);
    bench.sleep(secs(5));
    assert_eq!(bench.tick()[0].split(' ').next(), Some("lost"), "the drain is over");
    bench
}

#[test]
fn a_drain_whose_time_is_up_loses_the_term_and_releases_nothing_before_the_work_has_ended() {
    let mut bench = Bench::leader_with(Settings { drain: secs(5), ..settings() }, bucket());
    bench.give(Input::Resign);
    bench.sleep(secs(5));
    assert_eq!(bench.tick(), ["lost 10 RESIGNED", "state RELEASING"]);
    assert_eq!(bench.pass(secs(20)), NOTHING, "nothing is renewed, and nothing is released");
    assert_eq!(bench.give(Input::Drained), ["release 2 over 10 owing 0ms"]);
    assert_eq!(bench.applied(2, 11), ["leader vacant", "state WAITING"]);
}

#[test]
fn work_that_ends_after_its_time_is_said_to_have_ended_once() {
    let mut bench = overdrawn(Input::Resign);
    assert_eq!(bench.give(Input::Drained), ["release 2 over 10 owing 0ms"]);
    assert_eq!(bench.give(Input::Drained), NOTHING);
}

#[test]
fn a_late_release_still_names_the_successor() {
    let mut bench = overdrawn(Input::HandOver("other".into()));
    assert_eq!(bench.give(Input::Drained), ["release 2 over 10 owing 0ms to other"]);
}

#[test]
fn a_renewal_that_is_answered_after_the_drain_is_what_a_late_release_removes() {
    let mut bench = Bench::leader_with(Settings { drain: secs(11), ..settings() }, bucket());
    bench.give(Input::Resign);
    bench.sleep(secs(10));
    assert_eq!(bench.tick(), ["inspect", "renew 2 over 10"]);
    bench.sleep(secs(1));
    assert_eq!(bench.tick(), ["lost 10 RESIGNED", "state RELEASING"]);
    assert_eq!(bench.applied(2, 11), NOTHING);
    assert_eq!(bench.give(Input::Drained), ["release 3 over 11 owing 0ms"]);
}

#[test]
fn while_the_work_of_an_ended_term_continues_a_renewal_without_an_answer_is_not_repeated() {
    let mut bench = Bench::leader_with(Settings { drain: secs(11), ..settings() }, bucket());
    bench.give(Input::Resign);
    bench.sleep(secs(10));
    bench.tick();
    bench.sleep(secs(1));
    bench.tick();
    assert_eq!(bench.wrote(2, Outcome::Unknown), NOTHING);
    assert_eq!(bench.watched(mine(11, 2)), NOTHING);
    let outputs = bench.pass(secs(10));
    assert!(outputs.iter().all(|output| output == "inspect"), "{outputs:?}");
    assert_eq!(bench.give(Input::Drained), ["release 3 over 11 owing 0ms"]);
}

#[test]
fn a_lease_that_has_run_out_is_not_released_and_the_candidate_continues_behind_other_candidates() {
    let mut bench = overdrawn(Input::Resign);
    // The record is gone after the lease, the store's granularity, and the time for which a candidate that resigned
    // holds back.
    let gone = T + ms(250) + secs(1);
    assert_eq!(bench.wake(), Some((Timer::Release, gone)));
    assert_eq!(bench.pass(gone - ms(1)), NOTHING);
    assert_eq!(bench.next(), ["acquire 2 over 10", "state ACQUIRING"], "it is a candidate again");
    assert_eq!(bench.give(Input::Drained), NOTHING);
}

#[test]
fn a_successor_is_left_alone_while_the_work_continues() {
    let mut bench = overdrawn(Input::Resign);
    assert_eq!(bench.watched(theirs(11)), ["leader other", "state WAITING"]);
    assert_eq!(bench.give(Input::Drained), NOTHING);
}

#[test]
fn closing_waits_two_seconds_for_work_whose_time_is_up_and_then_leaves_the_lease_to_run_out() {
    let mut bench = overdrawn(Input::Close);
    assert_eq!(bench.wake(), Some((Timer::Close, secs(2))));
    assert_eq!(bench.next(), ["state CLOSED"]);
    assert_eq!(bench.give(Input::Drained), NOTHING);
    assert_eq!(bench.wake(), None);
}

#[test]
fn work_that_ends_within_the_two_seconds_of_a_close_is_released() {
    let mut bench = overdrawn(Input::Close);
    bench.sleep(secs(1));
    assert_eq!(bench.give(Input::Drained), ["release 2 over 10 owing 0ms"]);
    assert_eq!(bench.applied(2, 11), ["state CLOSED"]);
}

#[test]
fn an_unhealthy_leader_whose_work_never_ends_stays_out_when_its_lease_has_run_out() {
    let mut bench = overdrawn(Input::Health(false));
    assert_eq!(bench.pass(T + ms(1_250)), ["state IDLE"]);
    assert_eq!(bench.wake(), None);
}

#[test]
fn the_lease_is_renewed_while_the_work_drains() {
    let mut bench = Bench::leader_with(Settings { drain: secs(60), ..settings() }, bucket());
    bench.give(Input::Resign);
    for (attempt, revision) in [(2, 11), (3, 12), (4, 13), (5, 14), (6, 15)] {
        assert_eq!(bench.pass(secs(10))[0], "inspect");
        bench.inspected();
        assert_eq!(bench.applied(attempt, revision), NOTHING);
        assert_eq!(bench.remaining(), Some(T - M));
    }
    assert_eq!(
        bench.give(Input::Drained),
        ["lost 10 RESIGNED", "release 7 over 15 owing 0ms", "state RELEASING"]
    );
}

#[test]
fn a_draining_leader_that_cannot_renew_loses_at_its_deadline_and_releases_when_its_work_has_ended() {
    let mut bench = Bench::leader_with(Settings { drain: secs(60), ..settings() }, bucket());
    bench.give(Input::Resign);
    bench.sleep(T - M);
    assert_eq!(bench.tick(), ["lost 10 EXPIRED", "state RELEASING"]);
    assert_eq!(bench.give(Input::Drained), ["release 2 over 10 owing 0ms"]);
}

#[test]
fn a_draining_leader_that_is_usurped_loses_at_once() {
    let mut bench = Bench::leader();
    bench.give(Input::Resign);
    assert_eq!(bench.watched(theirs(11)), ["lost 10 USURPED", "leader other", "state WAITING"]);
    assert_eq!(bench.give(Input::Drained), NOTHING);
}

#[test]
fn resigning_twice_is_resigning_once() {
    let mut bench = Bench::leader_with(Settings { drain: secs(5), ..settings() }, bucket());
    bench.give(Input::Resign);
    bench.sleep(secs(1));
    assert_eq!(bench.give(Input::Resign), NOTHING);
    assert_eq!(bench.give(Input::HandOver("other".into())), NOTHING, "the first word counts");
    assert_eq!(bench.wake(), Some((Timer::Drain, secs(4))));
    assert_eq!(bench.next(), ["lost 10 RESIGNED", "state RELEASING"]);
}

#[test]
fn a_win_not_yet_reported_is_released_without_a_drain_and_the_wait_goes_with_it() {
    let mut bench = Bench::holder();
    bench.sleep(secs(10) - ms(1));
    assert_eq!(bench.give(Input::Resign), ["release 2 over 10 owing 20001ms", "state RELEASING"]);
    assert_eq!(bench.applied(2, 11), ["leader vacant", "state WAITING"]);
}

#[test]
fn a_release_waits_for_the_renewal_that_is_on_its_way() {
    let mut bench = Bench::leader();
    bench.pass(secs(10));
    bench.give(Input::Resign);
    assert_eq!(bench.give(Input::Drained), ["lost 10 RESIGNED", "state RELEASING"]);
    assert_eq!(bench.applied(2, 11), ["release 3 over 11 owing 0ms"]);
}

#[test]
fn a_release_without_an_answer_is_repeated_until_it_is_applied() {
    let mut bench = Bench::leader();
    bench.give(Input::Resign);
    bench.give(Input::Drained);
    assert_eq!(bench.pass(secs(2)), ["reconnect"]);
    assert_eq!(bench.next(), ["release 3 over 10 owing 0ms"]);
    assert_eq!(bench.applied(3, 11), ["leader vacant", "state WAITING"]);
}

#[test]
fn a_release_whose_acknowledgement_was_lost_is_found_applied() {
    let mut bench = Bench::leader();
    bench.give(Input::Resign);
    bench.give(Input::Drained);
    bench.pass(secs(2));
    bench.next();
    assert_eq!(bench.refused(3, 11), ["read 2"]);
    let ours = match released(11, secs(0)) {
        Entry::Released(release) => Entry::Released(incumbent_core::record::Release {
            write_id: Some(incumbent_core::record::WriteId { nonce: ME, attempt: Attempt(2) }),
            ..release
        }),
        other => other,
    };
    assert_eq!(bench.read(2, ours), ["leader vacant", "state WAITING"]);
    assert_eq!(bench.wake(), Some((Timer::Acquire, secs(1))));
}

#[test]
fn a_late_renewal_that_lands_before_the_release_is_released_as_well() {
    let mut bench = Bench::leader();
    bench.pass(secs(10));
    bench.pass(secs(2));
    bench.give(Input::Resign);
    assert_eq!(
        bench.give(Input::Drained),
        ["lost 10 RESIGNED", "release 3 over 10 owing 0ms", "state RELEASING"]
    );
    assert_eq!(bench.refused(3, 11), ["read 2"]);
    assert_eq!(bench.read(2, mine(11, 2)), ["release 4 over 11 owing 0ms"]);
    assert_eq!(bench.applied(4, 12), ["leader vacant", "state WAITING"]);
}

#[test]
fn a_release_continues_when_what_was_read_is_out_of_date_by_then() {
    let mut bench = Bench::leader();
    bench.pass(secs(10));
    bench.pass(secs(2));
    bench.give(Input::Resign);
    bench.give(Input::Drained);
    assert_eq!(bench.refused(3, 11), ["read 2"]);
    assert_eq!(
        bench.refused(2, 12),
        NOTHING,
        "the refusal shows a newer revision than the read in flight will find"
    );
    assert_eq!(bench.read(2, mine(11, 2)), ["release 4 over 10 owing 0ms"]);
    assert_eq!(bench.refused(4, 12), ["read 3"]);
    assert_eq!(bench.read(3, theirs(12)), ["leader other", "state WAITING"]);
}

#[test]
fn a_late_release_leaves_a_successor_alone() {
    let mut bench = Bench::leader();
    bench.give(Input::Resign);
    bench.give(Input::Drained);
    bench.pass(secs(2));
    assert_eq!(bench.watched(theirs(12)), ["leader other", "state WAITING"]);
    assert_eq!(bench.refused(2, 12), NOTHING);
    assert_eq!(bench.wake(), Some((Timer::Poll, T + ms(250))));
}

#[test]
fn a_release_is_given_up_when_the_lease_has_passed_since_it_was_first_sent() {
    let mut bench = Bench::leader();
    bench.give(Input::Resign);
    bench.give(Input::Drained);
    let outputs = bench.pass(T - ms(1));
    assert!(outputs.iter().filter(|output| output.starts_with("release")).count() > 5, "{outputs:?}");
    assert!(!outputs.iter().any(|output| output.starts_with("state")), "{outputs:?}");
    let outputs = bench.pass(ms(1));
    assert!(
        outputs.iter().any(|output| output == "state WAITING" || output == "state ACQUIRING"),
        "{outputs:?}"
    );
}

#[test]
fn a_term_never_leads_again_once_its_release_was_sent() {
    let mut bench = Bench::leader();
    bench.pass(secs(10));
    bench.inspected();
    bench.give(Input::Resign);
    bench.give(Input::Drained);
    assert_eq!(bench.applied(2, 11), ["release 3 over 11 owing 0ms"]);
    assert!(!bench.leads());
    bench.wrote(3, Outcome::Unknown);
    assert_eq!(bench.watched(mine(11, 2)), NOTHING);
    assert!(!bench.leads());
    assert_eq!(bench.campaign.lease(), None);
}

#[test]
fn closing_drains_loses_releases_and_ends() {
    let mut bench = Bench::leader();
    assert_eq!(bench.give(Input::Close), ["draining CLOSED", "state DRAINING"]);
    assert_eq!(
        bench.give(Input::Drained),
        ["lost 10 CLOSED", "release 2 over 10 owing 0ms", "state RELEASING"]
    );
    assert_eq!(bench.applied(2, 11), ["state CLOSED"]);
    assert_eq!(bench.wake(), None);
}

#[test]
fn closing_waits_two_seconds_for_its_release_and_no_longer() {
    let mut bench = Bench::leader();
    bench.give(Input::Close);
    bench.give(Input::Drained);
    bench.wrote(2, Outcome::Unknown);
    let outputs = bench.pass(secs(2) - ms(1));
    assert!(!outputs.contains(&"state CLOSED".to_string()));
    let outputs = bench.pass(ms(1));
    assert_eq!(outputs.last().map(String::as_str), Some("state CLOSED"));
    assert_eq!(bench.wake(), None);
}

#[test]
fn closing_while_releasing_waits_two_seconds_from_then() {
    let mut bench = Bench::leader();
    bench.give(Input::Resign);
    bench.give(Input::Drained);
    bench.pass(secs(5));
    assert_eq!(bench.give(Input::Close), NOTHING);
    let outputs = bench.pass(secs(2) - ms(1));
    assert!(!outputs.contains(&"state CLOSED".to_string()), "{outputs:?}");
    let outputs = bench.pass(ms(1));
    assert_eq!(outputs.last().map(String::as_str), Some("state CLOSED"));
}

#[test]
fn an_absence_delivered_by_the_watch_is_read_before_a_release_is_over() {
    let mut bench = Bench::leader();
    bench.give(Input::Resign);
    bench.give(Input::Drained);
    assert_eq!(bench.watched(Entry::Vacant), ["read 2"], "the watch may be behind");
    assert_eq!(bench.read(2, Entry::Vacant), ["leader vacant", "state WAITING"]);
}

#[test]
fn closing_while_draining_keeps_the_reason_and_ends_the_campaign() {
    let mut bench = Bench::leader();
    bench.give(Input::Resign);
    assert_eq!(bench.give(Input::Close), NOTHING);
    assert_eq!(bench.give(Input::Drained)[0], "lost 10 RESIGNED");
    assert_eq!(bench.applied(2, 11), ["state CLOSED"]);
}

#[test]
fn closing_a_candidate_or_an_idle_campaign_ends_it_at_once() {
    assert_eq!(Bench::new().give(Input::Close), ["state CLOSED"]);
    let mut bench = Bench::candidate(theirs(10));
    assert_eq!(bench.give(Input::Close), ["state CLOSED"]);
    assert_eq!(bench.wake(), None);
}

#[test]
fn a_closed_campaign_says_nothing_more() {
    let mut bench = Bench::leader();
    bench.give(Input::Close);
    bench.give(Input::Drained);
    bench.applied(2, 11);
    for input in [
        Input::Campaign,
        Input::Tick,
        Input::Close,
        Input::Resign,
        Input::Health(true),
        Input::Watched(mine(12, 1)),
        Input::Reconnected,
        Input::Accept,
    ] {
        assert_eq!(bench.give(input), NOTHING);
        assert_eq!(bench.wake(), None);
    }
    assert_eq!(bench.applied(1, 12), NOTHING);
    assert_eq!(bench.inspected(), NOTHING);
}

#[test]
fn a_closing_leader_that_observes_another_incarnation_ends_without_a_wake_up() {
    let store = incumbent_core::store::Capabilities { incarnation_acked: true, ..bucket() };
    let mut bench = Bench::leader_with(settings(), store);
    bench.pass(secs(10));
    bench.give(Input::Close);
    let outputs = bench.wrote(2, acknowledged(11, Some(Incarnation(2_000))));
    assert_eq!(outputs, ["lost 10 STORE_RESET", "state CLOSED"]);
    assert_eq!(bench.wake(), None);
}

#[test]
fn a_handler_that_failed_ends_the_term_at_once_and_the_release_waits_for_its_work() {
    let mut bench = Bench::leader();
    assert_eq!(bench.give(Input::HandlerFailed), ["lost 10 HANDLER_FAILED", "state RELEASING"]);
    assert_eq!(bench.give(Input::Drained), ["release 2 over 10 owing 0ms"]);
}

#[test]
fn a_handler_that_fails_while_draining_ends_the_term_at_once() {
    let mut bench = Bench::leader();
    bench.give(Input::Resign);
    assert_eq!(bench.give(Input::HandlerFailed)[0], "lost 10 HANDLER_FAILED");
}

#[test]
fn after_a_handler_failed_candidacy_resumes_after_the_back_off_and_not_before() {
    let backoff = Backoff::Custom(Arc::new(|failures| secs(30 * u64::from(failures))));
    let mut bench = Bench::leader_with(Settings { backoff, ..settings() }, bucket());
    bench.give(Input::HandlerFailed);
    bench.give(Input::Drained);
    bench.applied(2, 11);
    bench.reconnected();
    bench.inspected();
    assert_eq!(bench.watched(theirs(12)), ["leader other"]);
    assert_eq!(bench.watched(deleted(13)), ["leader vacant"]);
    assert_eq!(bench.wake(), Some((Timer::Acquire, secs(30))));
    assert_eq!(bench.pass(secs(30)), ["acquire 3 over 13", "state ACQUIRING"]);
}

#[test]
fn a_handler_that_fails_again_and_again_is_waited_for_longer() {
    let backoff = Backoff::Custom(Arc::new(|failures| secs(30 * u64::from(failures))));
    let mut bench = Bench::leader_with(Settings { backoff, ..settings() }, bucket());
    bench.give(Input::HandlerFailed);
    bench.give(Input::Drained);
    bench.applied(2, 11);
    bench.pass(secs(30));
    bench.applied(3, 12);
    bench.sleep(ms(1));
    assert_eq!(bench.inspected(), ["won 12", "state LEADING"]);
    bench.give(Input::HandlerFailed);
    bench.give(Input::Drained);
    bench.applied(4, 13);
    assert_eq!(bench.wake(), Some((Timer::Acquire, secs(60))));
}

#[test]
fn a_failed_read_does_not_cut_the_wait_after_a_handlers_failure_short() {
    let backoff = Backoff::Custom(Arc::new(|failures| if failures == 1 { secs(30) } else { ms(1) }));
    let mut bench = Bench::leader_with(Settings { backoff, ..settings() }, bucket());
    bench.give(Input::HandlerFailed);
    bench.give(Input::Drained);
    assert_eq!(bench.refused(2, 11), ["read 2"]);
    assert_eq!(bench.watched(deleted(13)), ["leader vacant", "state WAITING"]);
    let fault = fault(FaultKind::Unreachable);
    assert_eq!(
        bench.give(Input::Answered(Answer::Read { read: ReadId(2), result: Err(fault) })),
        ["warning Unreachable"]
    );
    assert_eq!(bench.wake(), Some((Timer::Acquire, secs(30))));
}

#[test]
fn the_late_acknowledgement_of_an_old_release_changes_nothing_for_a_leader() {
    let mut bench = Bench::leader();
    bench.give(Input::Resign);
    assert_eq!(bench.give(Input::Drained)[1], "release 2 over 10 owing 0ms");
    // No answer comes, but the watch shows that the write was applied.
    let ours = match released(11, secs(0)) {
        Entry::Released(release) => Entry::Released(incumbent_core::record::Release {
            write_id: Some(incumbent_core::record::WriteId { nonce: ME, attempt: Attempt(2) }),
            ..release
        }),
        other => other,
    };
    bench.watched(ours);
    let outputs = bench.pass(secs(3));
    assert!(outputs.contains(&"acquire 3 over 11".to_owned()), "{outputs:?}");
    bench.applied(3, 12);
    bench.inspected();
    assert!(bench.leads());
    assert_eq!(bench.applied(2, 11), NOTHING);
    assert_eq!(bench.campaign.leader().map(|leader| leader.name.as_str()), Some("me"));
    assert!(bench.leads());
}
