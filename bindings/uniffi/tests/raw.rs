//! The raw bindings, called as the generated code calls them.

#![allow(clippy::unwrap_used, reason = "helpers of tests panic as tests do")]

use std::collections::HashMap;
use std::future::Future;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use incumbent_uniffi::candidate::Candidate;
use incumbent_uniffi::store::{ExecutorProbe, Store, open_store};
use incumbent_uniffi::term::parse_token;
use incumbent_uniffi::testing::{Asked, ManualClock, Script};
use incumbent_uniffi::value::{Failure, Happening, Reason, Setting, State, error_codes};

fn script() -> (Arc<Script>, Arc<Candidate>) {
    let script = Script::new("jobs", "a", None).unwrap();
    let candidate = script.candidate();
    (script, candidate)
}

async fn store() -> Arc<Store> {
    open_store("memory:", HashMap::new()).unwrap().answer().await.unwrap()
}

fn code(failure: Failure) -> String {
    match failure {
        Failure::Failed { code, .. } => code,
        Failure::Cancelled => "cancelled".to_owned(),
    }
}

#[tokio::test]
async fn a_term_is_answered_with_its_hold_and_a_drain_waits_for_that() {
    let (script, candidate) = script();
    let waiting = candidate.next_term(None);
    let token = script.acquire(None).unwrap();
    let hold = waiting.answer().await.unwrap().unwrap();
    assert_eq!(hold.term().token(), token);
    script.drain(Reason::Resigned).unwrap();
    hold.term().draining().answer().await.unwrap();
    assert!(candidate.is_leader(), "a draining leader leads");
    let ended = hold.term().ended();
    hold.release();
    assert_eq!(ended.answer().await, Ok(Reason::Resigned));
    assert!(!candidate.is_leader());
}

#[tokio::test]
async fn a_call_that_is_cancelled_while_it_is_awaited_answers_that() {
    let (_script, candidate) = script();
    let waiting = candidate.next_term(None);
    let mut answer = std::pin::pin!(waiting.answer());
    assert!(answer.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending());
    waiting.cancel();
    let Poll::Ready(Err(failure)) = answer.poll(&mut Context::from_waker(Waker::noop())) else {
        panic!("it still waits, or found a term");
    };
    assert_eq!(failure, Failure::Cancelled);
}

#[tokio::test]
async fn an_answer_that_is_ready_is_taken_once_and_is_held_by_nothing_else() {
    let (script, candidate) = script();
    let waiting = candidate.next_term(None);
    script.acquire(None).unwrap();
    waiting.ready().await.unwrap();
    let hold = waiting.take().unwrap().unwrap();
    assert_eq!(waiting.take().map(drop), Err(Failure::Cancelled));
    script.drain(Reason::Resigned).unwrap();
    let ended = hold.term().ended();
    drop(hold);
    assert_eq!(ended.answer().await, Ok(Reason::Resigned));
}

#[tokio::test]
async fn a_call_that_is_ready_and_has_no_answer_any_more_is_over() {
    // This imitates a call that is cancelled after its answer arrived but before the caller looked for the answer.
    let (script, candidate) = script();
    let waiting = candidate.next_term(None);
    script.acquire(None).unwrap();
    waiting.ready().await.unwrap();
    drop(waiting.take());
    assert_eq!(waiting.answer().await.map(drop), Err(Failure::Cancelled));
}

#[tokio::test]
async fn a_term_that_comes_as_its_waiter_is_dropped_is_not_held() {
    let (script, candidate) = script();
    let waiting = candidate.next_term(None);
    script.acquire(None).unwrap();
    assert!(waiting.wait(None));
    drop(waiting);
    let ended = candidate.term().unwrap().ended();
    script.drain(Reason::Resigned).unwrap();
    assert_eq!(ended.answer().await, Ok(Reason::Resigned));
}

#[tokio::test]
async fn events_are_pulled_in_order_and_end_when_they_are_stopped() {
    let (script, candidate) = script();
    let events = candidate.events().unwrap();
    script.acquire(None).unwrap();
    script.revoke(Reason::Usurped).unwrap();
    let mut seen = Vec::new();
    while !seen.iter().any(|one| one == "lost USURPED") {
        seen.push(match events.next().await.unwrap().unwrap() {
            Happening::Won { term } => format!("won {}", term.election()),
            Happening::Lost { reason, .. } => {
                format!("lost {}", incumbent_uniffi::value::reason_code(reason))
            }
            _ => continue,
        });
    }
    assert_eq!(seen, ["won jobs", "lost USURPED"]);
    events.stop();
    assert!(events.next().await.unwrap().is_none());
}

#[tokio::test]
async fn the_clock_of_a_test_ends_a_lease() {
    let clock = ManualClock::new();
    let script = Script::new("jobs", "a", Some(Arc::clone(&clock))).unwrap();
    script.acquire(Some(Duration::from_secs(5))).unwrap();
    let term = script.candidate().term().unwrap();
    clock.advance(Duration::from_secs(4));
    assert_eq!((term.is_current(), term.remaining()), (true, Duration::from_secs(1)));
    clock.advance(Duration::from_secs(1));
    assert_eq!((term.is_current(), term.reason()), (false, Some(Reason::Expired)));
}

#[tokio::test]
async fn the_requests_of_the_code_under_test_are_listed() {
    let (script, candidate) = script();
    candidate.set_healthy(false).unwrap();
    candidate.close(false).answer().await.unwrap();
    let asked =
        |what: &str, value: Option<&str>| Asked { what: what.to_owned(), value: value.map(str::to_owned) };
    assert_eq!(script.asked().unwrap(), [asked("set_healthy", Some("false")), asked("close", None)]);
    assert_eq!(candidate.state(), State::Closed);
}

#[tokio::test]
async fn a_store_elects_and_reports_its_candidates() {
    let store = store().await;
    let settings = HashMap::from([
        ("name".to_owned(), Setting::Text { value: "a".to_owned() }),
        ("splay".to_owned(), Setting::Time { value: Duration::ZERO }),
        ("preset".to_owned(), Setting::Text { value: "fast".to_owned() }),
    ]);
    let candidate = store.campaign("jobs".to_owned(), settings, None, None).unwrap().answer().await.unwrap();
    let hold = candidate.next_term(None).answer().await.unwrap().unwrap();
    let token = hold.term().token();
    assert_eq!(parse_token(&token.text), Some(token));
    assert_eq!(store.leader("jobs".to_owned()).answer().await.unwrap().unwrap().name, "a");
    let names = store.candidates("jobs".to_owned()).answer().await.unwrap().unwrap();
    assert_eq!(names.into_iter().map(|one| one.name).collect::<Vec<_>>(), ["a"]);
    hold.release();
    store.close(false).answer().await.unwrap();
    candidate.closed().answer().await.unwrap();
    let refused = candidate.hand_over("b", false).answer().await;
    assert_eq!(refused.map_err(code), Err("CLOSED".to_owned()));
}

#[tokio::test]
async fn an_executor_that_does_not_answer_makes_the_leader_unhealthy_until_it_does() {
    let store = store().await;
    let settings = HashMap::from([
        ("splay".to_owned(), Setting::Time { value: Duration::ZERO }),
        ("preset".to_owned(), Setting::Text { value: "fast".to_owned() }),
        ("watch_loop".to_owned(), Setting::Time { value: Duration::from_millis(100) }),
    ]);
    let probe = ExecutorProbe::new();
    let campaign = store.campaign("jobs".to_owned(), settings, None, Some(Arc::clone(&probe))).unwrap();
    let candidate = campaign.answer().await.unwrap();
    let hold = candidate.next_term(None).answer().await.unwrap().unwrap();
    let ended = hold.term().ended();
    let first = hold.term();
    hold.release();
    assert_eq!(ended.answer().await, Ok(Reason::Unhealthy));
    // From now on the executor answers.
    let answering = tokio::spawn(async move {
        loop {
            probe.asked().await;
            probe.answered();
        }
    });
    let next = candidate.next_term(Some(first)).answer().await.unwrap();
    assert!(next.is_some());
    answering.abort();
    drop(next);
    store.close(false).answer().await.unwrap();
}

#[tokio::test]
async fn a_setting_that_does_not_exist_is_refused_with_its_name() {
    let store = store().await;
    let settings = HashMap::from([("leese".to_owned(), Setting::Flag { value: true })]);
    match store.campaign("jobs".to_owned(), settings, None, None) {
        Err(Failure::Failed { code, text, .. }) => {
            assert_eq!(code, "INVALID_SETTING");
            assert!(text.contains("did you mean lease?"), "{text}");
        }
        _ => panic!("it was accepted"),
    }
}

#[test]
fn the_codes_are_those_of_all_languages() {
    let codes = error_codes();
    assert_eq!(codes.len(), incumbent_ffi::Code::all().count());
    assert_eq!((codes.get("STORE_UNAVAILABLE"), codes.get("NOT_LEADER")), (Some(&true), Some(&false)));
}
