//! Draining: the lease is held until the work of the term is done.

use std::time::Duration;

use incumbent::{Event, Handlers, Instant, Reason, State, Term};
use tokio::sync::oneshot;

use crate::support::{LEASE, alone, lost, options, soon, until};

/// Longer than any test waits: a drain that ends has ended for another reason.
const ENDLESS: Duration = Duration::from_secs(3600);

#[tokio::test]
async fn a_leader_leads_and_renews_until_the_last_holder_of_its_term_lets_go() {
    let candidate = alone(options("a").drain(ENDLESS)).await;
    let term = soon(candidate.won()).await.unwrap();
    let clone = term.clone();
    let mut events = candidate.events();
    let leaving = candidate.resign();
    soon(term.draining()).await;
    let drained_from = term.deadline();
    drop(term);
    until(|| clone.deadline() > drained_from + 2 * LEASE).await;
    assert!(candidate.is_leader());
    assert_eq!(candidate.state(), State::Draining);
    assert!(clone.drains_until().is_some_and(|until| until > drained_from + ENDLESS / 2));
    drop(clone);
    soon(leaving).await.unwrap();
    assert_eq!(lost(&mut events).await, Reason::Resigned);
}

#[tokio::test]
async fn a_term_that_nobody_holds_ends_without_a_drain() {
    let candidate = alone(options("a").drain(ENDLESS)).await;
    drop(soon(candidate.won()).await.unwrap());
    let mut events = candidate.events();
    soon(candidate.resign()).await.unwrap();
    assert_eq!(lost(&mut events).await, Reason::Resigned);
}

#[tokio::test]
async fn an_event_that_nobody_reads_does_not_hold_up_a_drain() {
    let candidate = alone(options("a").drain(ENDLESS)).await;
    let unread = candidate.events();
    drop(soon(candidate.won()).await.unwrap());
    soon(candidate.resign()).await.unwrap();
    drop(unread);
}

#[tokio::test]
async fn work_that_says_it_is_done_ends_the_drain_whoever_else_holds_the_term() {
    let candidate = alone(options("a").drain(ENDLESS)).await;
    let term = soon(candidate.won()).await.unwrap();
    let leaving = candidate.resign();
    soon(term.draining()).await;
    term.drained();
    soon(leaving).await.unwrap();
    assert_eq!(term.reason(), Some(Reason::Resigned));
}

#[tokio::test]
async fn a_drain_ends_at_its_limit() {
    let candidate = alone(options("a").drain(Duration::from_millis(50))).await;
    let term = soon(candidate.won()).await.unwrap();
    soon(candidate.resign()).await.unwrap();
    assert_eq!(term.reason(), Some(Reason::Resigned));
    assert!(!term.is_current());
}

#[tokio::test]
async fn a_loss_is_not_drained() {
    let candidate = alone(options("a").drain(ENDLESS)).await;
    let term = soon(candidate.won()).await.unwrap();
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
    let leaving = candidate.resign();
    let (was_current, until) = soon(begun).await.unwrap();
    assert!(was_current);
    assert!(until > candidate.term().unwrap().deadline());
    assert!(candidate.is_leader());
    go.send(()).unwrap();
    soon(leaving).await.unwrap();
    assert_eq!(lost(&mut events).await, Reason::Resigned);
}

#[tokio::test(flavor = "current_thread")]
async fn a_drain_handler_is_called_in_time_though_the_leader_leaves_before_any_handler_heard_of_the_win() {
    let candidate = alone(options("a")).await;
    let (tell, mut told) = tokio::sync::mpsc::unbounded_channel();
    candidate.attach(Handlers::new().on_draining(move |term: Term, _| {
        tell.send(term.is_current()).unwrap();
        async {}
    }));
    // The handlers run on this very thread: they hear of nothing before the first await.
    while !candidate.is_leader() {
        std::thread::yield_now();
    }
    soon(candidate.resign()).await.unwrap();
    assert_eq!(told.try_recv(), Ok(true));
}
