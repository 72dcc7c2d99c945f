//! Elections through handles, as a language uses them.

#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests panic as tests do")]

use std::sync::mpsc;
use std::time::Duration;

use incumbent_ffi::settings::{Dialect, Value, campaign, opening};
use incumbent_ffi::{
    Candidate, Error, ErrorKind, Event, Feed, Leave, NextItem, Operation, Reason, Store, Term,
};

const DIALECT: Dialect = Dialect::PYTHON;
const LIMIT: Duration = Duration::from_secs(60);

fn answer<T: Send + 'static>(operation: &Operation<T>) -> Result<T, Error> {
    assert!(operation.ready().wait(Some(LIMIT)), "it takes too long");
    operation.take().unwrap()
}

fn store() -> Store {
    answer(&Store::open(opening("memory:", Vec::new(), DIALECT).unwrap())).unwrap()
}

fn candidate(store: &Store, name: &str) -> Candidate {
    let settings = vec![
        ("name".to_owned(), Value::Text(name.into())),
        // The lease does not end just because the machine is busy.
        ("lease".to_owned(), Value::Number(60.0)),
        ("splay".to_owned(), Value::Number(0.0)),
    ];
    answer(&store.campaign("jobs".into(), campaign(settings, DIALECT).unwrap())).unwrap()
}

/// Reads a feed up to the next event of that kind.
fn next(feed: &Feed<Event<Term>>, code: &str) -> Event<Term> {
    loop {
        match feed.take().unwrap() {
            NextItem::Ready(event) if event.code() == code => return event,
            NextItem::Ready(_) => {}
            NextItem::Pending => assert!(feed.ready().wait(Some(LIMIT)), "no {code} comes"),
            NextItem::End => panic!("the feed is over"),
        }
    }
}

#[test]
fn a_candidate_wins_resigns_and_reports_it() {
    let store = store();
    let candidate = candidate(&store, "a");
    let events = candidate.events(|event| event.map_term(Term::from)).unwrap();
    let Event::Won(term) = next(&events, "WON") else { unreachable!() };
    assert!(candidate.is_leader() && term.is_current() && term.reason().is_none());
    answer(&candidate.leave(Leave::Resign, false)).unwrap();
    assert!(!term.is_current());
    assert_eq!((term.reason(), answer(&term.ended())), (Some(Reason::Resigned), Ok(Reason::Resigned)));
    assert!(
        matches!(next(&events, "LOST"), Event::Lost { term: lost, reason: Reason::Resigned } if lost == term)
    );
    answer(&candidate.leave(Leave::Close, false)).unwrap();
}

#[test]
fn a_drain_waits_for_a_hold_and_not_for_a_view() {
    let store = store();
    let candidate = candidate(&store, "a");
    let mut hold = answer(&candidate.next_term(None)).unwrap().unwrap();
    let term = hold.term().clone();
    let resigning = candidate.leave(Leave::Resign, false);
    answer(&term.draining()).unwrap();
    assert!(term.is_current() && term.drain_remaining().unwrap() > Duration::from_secs(1));
    assert!(resigning.take().is_none());
    hold.release();
    answer(&resigning).unwrap();
    assert!(!term.is_current());
    assert_eq!(hold.check().unwrap_err().code, ErrorKind::Closed);
}

#[test]
fn a_resignation_from_inside_of_the_work_answers_once_the_drain_has_begun() {
    let store = store();
    let candidate = candidate(&store, "a");
    let hold = answer(&candidate.next_term(None)).unwrap().unwrap();
    answer(&candidate.leave(Leave::Resign, true)).unwrap();
    assert!(hold.term().is_current() && hold.term().drain_remaining().is_some());
}

#[test]
fn a_closing_from_inside_of_the_work_answers_once_the_drain_was_reported() {
    // Repeated, because the order of the two used to depend on chance.
    for _ in 0..50 {
        let store = store();
        let candidate = candidate(&store, "a");
        let hold = answer(&candidate.next_term(None)).unwrap().unwrap();
        answer(&candidate.leave(Leave::Close, true)).unwrap();
        assert!(hold.term().is_current() && hold.term().drain_remaining().is_some());
    }
}

#[test]
fn each_term_is_answered_once_and_after_the_last_comes_none() {
    let store = store();
    let candidate = candidate(&store, "a");
    let first = answer(&candidate.next_term(None)).unwrap().unwrap();
    let next = candidate.next_term(Some(first.term().clone()));
    assert!(next.take().is_none());
    let token = first.term().token();
    drop(first);
    answer(&candidate.leave(Leave::Resign, false)).unwrap();
    let second = answer(&next).unwrap().unwrap();
    assert!(second.term().token() > token);
    let none = candidate.next_term(Some(second.term().clone()));
    drop(second);
    answer(&candidate.leave(Leave::Close, false)).unwrap();
    assert!(answer(&none).unwrap().is_none());
}

#[test]
fn an_answer_wakes_its_waiters() {
    let store = store();
    let (sender, receiver) = mpsc::channel();
    let operation = store.leader("jobs".into());
    if operation.ready().wake(Box::new(move || sender.send(()).unwrap())) {
        receiver.recv_timeout(LIMIT).unwrap();
    }
    assert_eq!(operation.take().unwrap(), Ok(None));
}

#[test]
fn an_observer_reads_the_leader() {
    let store = store();
    let watching = answer(&store.observe("jobs".into(), |seen, _| seen)).unwrap();
    let _candidate = candidate(&store, "a");
    loop {
        match watching.take().unwrap() {
            NextItem::Ready(seen) if seen.leader.as_ref().is_some_and(|leader| leader.name == "a") => break,
            NextItem::Ready(seen) => assert_eq!((&*seen.election, seen.leader), ("jobs", None)),
            NextItem::Pending => assert!(watching.ready().wait(Some(LIMIT))),
            NextItem::End => panic!("the store is open"),
        }
    }
    answer(&store.close(false)).unwrap();
    assert_eq!(answer(&store.leader("jobs".into())).unwrap_err().code, ErrorKind::Closed);
}

#[test]
fn a_dropped_candidate_lets_the_next_one_lead() {
    let store = store();
    let first = candidate(&store, "a");
    drop(answer(&first.next_term(None)).unwrap());
    let second = candidate(&store, "b");
    let term = second.next_term(None);
    drop(first);
    assert!(answer(&term).unwrap().is_some());
}

#[test]
fn a_refusal_of_the_runtime_keeps_its_code() {
    let settings = vec![("lease".to_owned(), Value::Number(0.01))];
    let asked = store().campaign("jobs".into(), campaign(settings, DIALECT).unwrap());
    let error = answer(&asked).unwrap_err();
    assert_eq!(error.code, ErrorKind::InvalidSetting);
    let message = error.message(DIALECT);
    assert!(message.starts_with("lease is 0.01 (10ms), and must be at least 5s"), "{message}");
}
