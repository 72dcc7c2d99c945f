//! Losing, and *end*.

use incumbent_core::reconcile::{Message, Settings, State, Timer};

use crate::harness::*;

#[test]
fn a_loss_runs_end_and_only_its_success_ends_the_leaders_state() {
    let mut bench = Bench::leader();
    assert_eq!(bench.says(Message::NotLeader), ["run end 2"]);
    assert_eq!(bench.reconciler.state(), State::Leader);
    assert_eq!(bench.succeeds(2), ["relinquish", "state NOTLEADER"]);
    assert_eq!(bench.reconciler.state(), State::NotLeader);
}

#[test]
fn a_candidate_that_does_not_lead_ends_nothing() {
    let mut bench = Bench::new();
    assert_eq!(bench.says(Message::NotLeader), NOTHING);
    assert_eq!(bench.reconciler.state(), State::NotLeader);
}

#[test]
fn a_win_while_end_runs_waits_for_it() {
    let mut bench = Bench::leader();
    bench.says(Message::NotLeader);
    assert_eq!(bench.says(Message::Leader), NOTHING);
    assert_eq!(bench.succeeds(2), ["relinquish", "state NOTLEADER", "run begin 3"]);
}

#[test]
fn of_what_comes_while_end_runs_the_last_counts() {
    let mut bench = Bench::leader();
    bench.says(Message::NotLeader);
    bench.says(Message::Leader);
    bench.says(Message::NotLeader);
    assert_eq!(bench.succeeds(2), ["relinquish", "state NOTLEADER"]);
}

#[test]
fn an_error_while_end_runs_is_handled_after_it() {
    let mut bench = Bench::leader();
    bench.says(Message::NotLeader);
    assert_eq!(bench.says(Message::Error), NOTHING);
    let reported = ["relinquish", "state NOTLEADER", "stand down", "state ERROR", "run error 3"];
    assert_eq!(bench.succeeds(2), reported);
}

#[test]
fn an_end_that_fails_is_an_error_in_which_it_is_run_at_once_and_again_after_five_seconds() {
    let mut bench = Bench::leader();
    bench.says(Message::NotLeader);
    assert_eq!(bench.fails(2), ["stand down", "state ERROR", "end failed", "run end 3"]);
    assert_eq!(bench.fails(3), ["end failed"]);
    assert_eq!(bench.wake(), Some((Timer::Retry, secs(5))));
    assert_eq!(bench.pass(secs(4)), NOTHING);
    assert_eq!(bench.pass(secs(1)), ["run end 4"]);
}

#[test]
fn an_end_that_succeeds_in_the_end_leads_to_the_error_handler() {
    let mut bench = Bench::retrying();
    bench.pass(secs(5));
    assert_eq!(bench.succeeds(4), ["relinquish", "run error 5"]);
}

#[test]
fn after_twelve_runs_in_an_error_it_gives_up_and_says_how_things_stand() {
    let mut bench = Bench::mending();
    bench.says(Message::NotLeader);
    for run in 3..14 {
        assert_eq!(bench.fails(run), ["end failed"]);
        assert_eq!(bench.pass(secs(5)), [format!("run end {}", run + 1)]);
    }
    let reported = [
        "end failed",
        "give up: the end handler failed 13 times, so what the begin handler began may still be running \
         here; this candidate gives up the election, and another may lead at the same time. Messages dropped meanwhile: 1",
    ];
    assert_eq!(bench.fails(14), reported);
    assert_eq!(bench.reconciler.state(), State::Closed);
    assert_eq!(bench.wake(), None);
    assert_eq!(bench.says(Message::Leader), NOTHING);
}

#[test]
fn how_often_and_how_soon_it_is_run_again_can_be_set() {
    let settings = Settings { retries: 2, retry_every: secs(2), ..Settings::default() };
    let mut bench = Bench::leader_with(settings);
    bench.says(Message::NotLeader);
    bench.fails(2);
    bench.fails(3);
    assert_eq!(bench.pass(secs(2)), ["run end 4"]);
    let [failed, gave_up] = &bench.fails(4)[..] else { panic!("two outputs") };
    assert_eq!(failed, "end failed");
    assert!(gave_up.starts_with("give up: the end handler failed 3 times, "), "{gave_up}");
}

#[test]
fn without_retries_the_first_failure_gives_up() {
    let mut bench = Bench::leader_with(Settings { retries: 0, ..Settings::default() });
    bench.says(Message::NotLeader);
    let reported = bench.fails(2);
    assert_eq!(&reported[..3], ["stand down", "state ERROR", "end failed"]);
    assert!(reported[3].starts_with("give up: the end handler failed 1 time, "), "{reported:?}");
}
