//! Time: the deadline, and the rules that hold when the caller comes late.

use incumbent_core::Instant;
use incumbent_core::campaign::{Event, Input, Output, Timer};
use incumbent_core::record::Entry;
use incumbent_core::store::Outcome;

use crate::harness::*;

#[test]
fn a_leader_that_was_stopped_and_resumes_before_its_deadline_still_leads() {
    let mut bench = Bench::leader();
    bench.sleep(T - M - ms(1));
    assert!(bench.leads());
    assert_eq!(bench.tick(), ["inspect", "renew 2 over 10"]);
    assert!(bench.leads());
}

#[test]
fn a_leader_that_was_stopped_for_longer_leads_no_more_before_any_call() {
    let mut bench = Bench::leader();
    bench.sleep(T - M);
    assert!(!bench.leads(), "no call, no timer, no message");
    assert_eq!(bench.tick()[0], "lost 10 EXPIRED");
}

#[test]
fn a_clock_at_the_end_of_its_numbers_ends_the_term_and_not_the_machine() {
    let mut bench = Bench::leader();
    bench.now = Instant::NEVER;
    assert_eq!(bench.tick()[0], "lost 10 EXPIRED");
    assert_eq!(bench.tick(), Vec::<String>::new(), "what is due never is not due");
}

#[test]
fn a_machine_that_was_suspended_for_a_day_wakes_up_without_a_lease() {
    let mut bench = Bench::leader();
    bench.pass(secs(10));
    bench.inspected();
    bench.sleep(secs(86_400));
    assert!(!bench.leads());
    assert_eq!(bench.applied(2, 11)[0], "lost 10 EXPIRED", "whatever the first call brings");
    assert!(!bench.leads());
}

#[test]
fn the_deadline_is_met_though_no_timer_ever_fires() {
    let bench = Bench::leader();
    let lease = bench.campaign.lease().expect("a lease");
    assert_eq!(lease.deadline, bench.now + (T - M));
    assert!(bench.campaign.is_leader(lease.deadline.before(std::time::Duration::from_nanos(1))));
    assert!(!bench.campaign.is_leader(lease.deadline));
}

#[test]
fn whatever_a_late_call_brings_the_term_ends_first() {
    for input in [
        Input::Tick,
        Input::Resign,
        Input::Close,
        Input::Drained,
        Input::Health(false),
        Input::Reconnected,
        Input::Watched(mine(11, 2)),
        Input::HandlerFailed,
    ] {
        let mut bench = Bench::leader();
        bench.pass(secs(10));
        bench.inspected();
        bench.sleep(T);
        assert_eq!(bench.give(input.clone())[0], "lost 10 EXPIRED", "{input:?}");
        assert_eq!(bench.campaign.lease(), None);
    }
}

#[test]
fn the_deadline_is_one_of_the_timers() {
    let mut bench = Bench::leader();
    bench.pass(secs(10));
    bench.inspected();
    let mut last = None;
    while bench.leads() {
        let (timer, wait) = bench.wake().expect("a wake-up");
        last = Some(timer);
        bench.sleep(wait);
        if bench.leads() {
            bench.tick();
        }
    }
    assert_eq!(last, Some(Timer::Deadline));
}

#[test]
fn an_answer_that_comes_with_a_late_call_counts_before_the_timers() {
    let mut bench = Bench::leader();
    bench.pass(secs(10));
    bench.inspected();
    bench.sleep(secs(3));
    assert_eq!(bench.applied(2, 11), NOTHING, "the late call does not count the write as unanswered");
}

#[test]
fn a_clock_that_goes_back_changes_nothing() {
    let mut bench = Bench::leader();
    let wake = bench.campaign.poll();
    let now = bench.now;
    bench.now = now.before(secs(3000));
    assert_eq!(bench.tick(), NOTHING);
    assert_eq!(bench.campaign.poll(), wake);
    assert_eq!(bench.campaign.lease().map(|lease| lease.deadline), Some(now + (T - M)));
    bench.now = Instant::ZERO;
    let outputs = bench.give_in_full(Input::Resign);
    let Output::Event(Event::Draining { until, .. }) = &outputs[0] else { panic!("{outputs:?}") };
    assert_eq!(*until, now + secs(10), "everything counts from the latest reading of the clock");
    assert_eq!(bench.give(Input::Drained)[0], "lost 10 RESIGNED");
}

#[test]
fn a_renewal_sent_while_the_clock_went_back_counts_from_the_latest_reading() {
    let mut bench = Bench::leader();
    bench.pass(secs(10));
    let sent = bench.now;
    bench.inspected();
    bench.now = sent.before(secs(5));
    bench.applied(2, 11);
    assert_eq!(bench.campaign.lease().map(|lease| lease.deadline), Some(sent + (T - M)));
}

#[test]
fn renewals_are_due_a_third_of_the_lease_after_the_last_was_sent() {
    let mut bench = Bench::leader();
    for (attempt, revision) in [(2, 10), (3, 11), (4, 12)] {
        assert_eq!(bench.wake(), Some((Timer::Renew, secs(10))));
        assert_eq!(bench.pass(secs(10)), ["inspect".to_string(), format!("renew {attempt} over {revision}")]);
        bench.inspected();
        bench.applied(attempt, revision + 1);
    }
}

#[test]
fn an_attempt_is_waited_for_two_seconds_and_retried_after_a_tenth() {
    let mut bench = Bench::leader();
    bench.pass(secs(10));
    bench.inspected();
    assert_eq!(bench.wake(), Some((Timer::Attempt, secs(2))));
    assert_eq!(bench.pass(secs(2)), ["reconnect"]);
    let (timer, wait) = bench.wake().expect("a retry");
    assert!(timer == Timer::Retry && (ms(80)..=ms(120)).contains(&wait), "{wait:?}");
}

#[test]
fn retries_come_after_a_tenth_of_a_second_doubled_up_to_one_and_stray_by_a_fifth() {
    let mut bench = Bench::leader();
    bench.pass(secs(10));
    for (attempt, mean) in [(2, 100), (3, 200), (4, 400), (5, 800), (6, 1000), (7, 1000)] {
        bench.inspected();
        bench.wrote(attempt, Outcome::Busy);
        let (timer, wait) = bench.wake().expect("a retry");
        assert!(timer == Timer::Retry, "{timer:?}");
        assert!((ms(mean * 8 / 10)..=ms(mean * 12 / 10)).contains(&wait), "{attempt}: {wait:?}");
        bench.pass(wait);
    }
}

#[test]
fn a_leader_cut_off_from_the_store_loses_at_its_deadline_and_leads_again_when_it_can() {
    let mut bench = Bench::leader();
    let deadline = bench.now + (T - M);
    let outputs = bench.pass(T - M - ms(1));
    assert!(bench.leads());
    assert!(!outputs.iter().any(|output| output.starts_with("lost")));
    let outputs = bench.pass(ms(1));
    assert_eq!(bench.now, deadline);
    assert!(outputs.contains(&"lost 10 EXPIRED".to_string()), "{outputs:?}");
    assert!(!bench.pass(secs(60)).iter().any(|output| output.starts_with("won")));
    let mut outputs = bench.reconnected();
    outputs.extend(bench.pass(secs(4)));
    let retaking = outputs.iter().rfind(|output| output.starts_with("acquire"));
    let attempt = retaking.and_then(|output| output.split(' ').nth(1)?.parse().ok()).expect("it is retaken");
    assert_eq!(bench.applied(attempt, 11), ["inspect", "state HOLDING"]);
    bench.sleep(ms(1));
    assert_eq!(bench.inspected(), ["won 11", "state LEADING"]);
}

#[test]
fn a_candidate_that_slept_through_a_vacancy_campaigns_as_ever() {
    let mut bench = Bench::candidate(theirs(10));
    bench.sleep(secs(86_400));
    assert_eq!(bench.tick(), ["read 2"]);
    assert_eq!(bench.read(2, Entry::Vacant), ["acquire 1 over absent", "leader vacant", "state ACQUIRING"]);
}
