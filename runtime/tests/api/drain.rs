//! Draining: the lease is held until the term's work is done.

use std::sync::atomic::Ordering;
use std::time::Duration;

use incumbent::{Candidate, Clock, Event, Handlers, Instant, Reason, State, Store, Term};
use tokio::sync::oneshot;

use crate::support::{LEASE, Switched, TWO_RENEWALS, alone, lost, options, soon, until};

/// A time longer than any test waits. If a drain with this limit ends, it is for another reason.
const ENDLESS: Duration = Duration::from_secs(3600);

#[tokio::test]
async fn a_leader_leads_and_renews_until_the_last_holder_of_its_term_lets_go() {
    let candidate = alone(options("a").drain(ENDLESS)).await;
    let term = soon(candidate.next_term()).await.unwrap();
    let clone = term.clone();
    let mut events = candidate.events();
    let leaving = candidate.request_resign();
    soon(term.draining()).await;
    let drained_from = term.deadline();
    drop(term);
    until(|| clone.deadline() > drained_from + TWO_RENEWALS).await;
    assert!(candidate.is_leader());
    assert_eq!(candidate.state(), State::Draining);
    assert!(clone.drains_until().is_some_and(|until| until > drained_from + ENDLESS / 2));
    drop(clone);
    soon(leaving).await.unwrap();
    assert_eq!(lost(&mut events).await, Reason::Resigned);
}

#[tokio::test]
async fn a_term_without_work_ends_without_a_drain() {
    let candidate = alone(options("a").drain(ENDLESS)).await;
    drop(soon(candidate.next_term()).await.unwrap());
    let mut events = candidate.events();
    soon(candidate.request_resign()).await.unwrap();
    assert_eq!(lost(&mut events).await, Reason::Resigned);
}

#[tokio::test]
async fn an_unread_event_does_not_hold_up_a_drain() {
    let candidate = alone(options("a").drain(ENDLESS)).await;
    let unread = candidate.events();
    drop(soon(candidate.next_term()).await.unwrap());
    soon(candidate.request_resign()).await.unwrap();
    drop(unread);
}

#[tokio::test]
async fn work_that_says_it_is_done_ends_the_drain_for_every_holder_of_the_term() {
    let candidate = alone(options("a").drain(ENDLESS)).await;
    let term = soon(candidate.next_term()).await.unwrap();
    let leaving = candidate.request_resign();
    soon(term.draining()).await;
    term.drained();
    soon(leaving).await.unwrap();
    assert_eq!(term.reason(), Some(Reason::Resigned));
}

/// A leader on a manual clock, with its term and a store that counts releases.
async fn leader_by_hand(drain: Duration) -> (Clock, Switched, Store, Candidate, Term) {
    let clock = Clock::manual(Instant::from_nanos(1_000_000_000));
    let switched = Switched::new(&clock);
    let store = switched.store(&clock);
    let candidate = store.campaign("jobs", options("a").drain(drain)).await.unwrap();
    let term = soon(candidate.next_term()).await.unwrap();
    (clock, switched, store, candidate, term)
}

/// The number of releases that have been sent, once all earlier requests have reached the store.
async fn releases(switched: &Switched, store: &Store) -> usize {
    store.leader("jobs").await.unwrap();
    switched.switches.releases.load(Ordering::SeqCst)
}

#[tokio::test]
async fn a_drain_ends_at_its_limit_and_the_release_waits_for_the_work() {
    let (clock, switched, store, candidate, term) = leader_by_hand(LEASE / 8).await;
    let leaving = candidate.request_resign();
    soon(term.draining()).await;
    clock.advance(LEASE / 8);
    assert_eq!(soon(term.ended()).await, Reason::Resigned);
    assert!(!term.is_current());
    assert_eq!(candidate.state(), State::Releasing);
    assert_eq!(releases(&switched, &store).await, 0);
    drop(term);
    soon(leaving).await.unwrap();
    assert_eq!(releases(&switched, &store).await, 1);
}

#[tokio::test]
async fn work_that_says_that_it_has_ended_after_the_drain_is_released() {
    let (clock, switched, store, candidate, term) = leader_by_hand(LEASE / 8).await;
    let leaving = candidate.request_resign();
    soon(term.draining()).await;
    clock.advance(LEASE / 8);
    soon(term.ended()).await;
    term.drained();
    soon(leaving).await.unwrap();
    assert_eq!(releases(&switched, &store).await, 1);
}

#[tokio::test]
async fn work_that_failed_is_released_when_the_last_holder_of_its_term_lets_go() {
    let (_clock, switched, store, _candidate, term) = leader_by_hand(ENDLESS).await;
    let other = term.clone();
    term.fail();
    assert_eq!(soon(other.ended()).await, Reason::HandlerFailed);
    drop(term);
    assert_eq!(releases(&switched, &store).await, 0);
    drop(other);
    until(|| switched.switches.releases.load(Ordering::SeqCst) == 1).await;
}

#[tokio::test]
async fn the_term_of_a_reported_loss_does_not_hold_up_the_release() {
    let (_clock, switched, _store, candidate, term) = leader_by_hand(ENDLESS).await;
    let mut events = candidate.events();
    term.fail();
    let reported = loop {
        if let Event::Lost { term, .. } = soon(events.next()).await.unwrap() {
            break term;
        }
    };
    let kept = reported.clone();
    drop((events, term));
    until(|| switched.switches.releases.load(Ordering::SeqCst) == 1).await;
    assert_eq!(kept.reason(), Some(Reason::HandlerFailed));
}

#[tokio::test]
async fn a_candidate_that_is_dropped_while_it_drains_releases_as_soon_as_its_work_has_ended() {
    let (_clock, switched, store, candidate, term) = leader_by_hand(ENDLESS).await;
    let closing = candidate.request_close();
    soon(term.draining()).await;
    drop((closing, candidate));
    assert_eq!(soon(term.ended()).await, Reason::Closed);
    assert_eq!(releases(&switched, &store).await, 0);
    drop(term);
    until(|| switched.switches.releases.load(Ordering::SeqCst) == 1).await;
}

#[tokio::test]
async fn work_that_outlives_its_candidate_and_its_store_releases_when_it_ends() {
    let (_clock, switched, store, candidate, term) = leader_by_hand(ENDLESS).await;
    drop((candidate, store));
    assert_eq!(soon(term.ended()).await, Reason::Closed);
    drop(term);
    until(|| switched.switches.closed.load(Ordering::SeqCst) == 1).await;
    assert_eq!(switched.switches.releases.load(Ordering::SeqCst), 1);
}

#[tokio::test]
async fn a_loss_is_not_drained() {
    let candidate = alone(options("a").drain(ENDLESS)).await;
    let term = soon(candidate.next_term()).await.unwrap();
    let mut events = candidate.events();
    term.fail();
    let reason = loop {
        match soon(events.next()).await.unwrap() {
            Event::Draining { .. } => panic!("drained"),
            Event::Lost { reason, .. } => break reason,
            _ => continue,
        }
    };
    assert_eq!(reason, Reason::HandlerFailed);
}

#[tokio::test]
async fn a_drain_waits_for_the_handler_of_draining_to_return() {
    let candidate = alone(options("a").drain(ENDLESS)).await;
    let (go, wait) = oneshot::channel::<()>();
    let mut wait = Some(wait);
    let (began, begun) = oneshot::channel();
    let mut began = Some(began);
    let (saw, seen) = oneshot::channel();
    let mut saw = Some(saw);
    let handlers = Handlers::new()
        .on_won(move |_| {
            saw.take().unwrap().send(()).unwrap();
            async {}
        })
        .on_draining(move |term: Term, until: Instant| {
            let (wait, began) = (wait.take().unwrap(), began.take().unwrap());
            async move {
                began.send((term.is_current(), until)).unwrap();
                wait.await.unwrap();
            }
        });
    candidate.attach(handlers);
    soon(seen).await.unwrap();
    let mut events = candidate.events();
    let leaving = candidate.request_resign();
    let (was_current, until) = soon(begun).await.unwrap();
    assert!(was_current);
    assert!(until > candidate.term().unwrap().deadline());
    assert!(candidate.is_leader());
    go.send(()).unwrap();
    soon(leaving).await.unwrap();
    assert_eq!(lost(&mut events).await, Reason::Resigned);
}

#[tokio::test(flavor = "current_thread")]
async fn a_drain_handler_is_called_in_time_though_the_leader_leaves_before_any_handler_was_called_for_the_win()
 {
    let candidate = alone(options("a")).await;
    let (sender, mut receiver) = tokio::sync::mpsc::unbounded_channel();
    candidate.attach(Handlers::new().on_draining(move |term: Term, _| {
        sender.send(term.is_current()).unwrap();
        async {}
    }));
    // The handlers run on this thread, so none is called before this test first awaits something.
    while !candidate.is_leader() {
        std::thread::yield_now();
    }
    soon(candidate.request_resign()).await.unwrap();
    assert_eq!(receiver.try_recv(), Ok(true));
}
