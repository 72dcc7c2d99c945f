//! Handlers are called in order, and a slow handler delays only those after it.

use std::time::Duration;

use incumbent::{Event, Handlers, Reason, State, Term};
use tokio::sync::mpsc;

use crate::support::{LEASE, alone, lost, options, soon};

#[tokio::test]
async fn handlers_are_called_in_the_order_of_the_events() {
    let candidate = alone(options("a")).await;
    let (sender, mut receiver) = mpsc::unbounded_channel::<String>();
    let [won, draining, lost, campaigned] = std::array::from_fn(|_| sender.clone());
    drop(sender);
    soon(candidate.next_term()).await.unwrap();
    candidate.attach(
        Handlers::new()
            .on_won(move |term| {
                won.send(format!("won {}", term.is_current())).unwrap();
                async {}
            })
            .on_draining(move |term, _| {
                draining.send(format!("draining {}", term.is_current())).unwrap();
                async {}
            })
            .on_lost(move |term, reason| {
                lost.send(format!("lost {} {reason:?}", term.is_current())).unwrap();
                async {}
            })
            .on_state_changed(move |state: State| {
                campaigned.send(state.code().to_owned()).unwrap();
                async {}
            }),
    );
    let mut seen = vec![soon(receiver.recv()).await.unwrap()];
    soon(candidate.close()).await.unwrap();
    while let Some(next) = soon(receiver.recv()).await {
        seen.push(next);
    }
    assert_eq!(
        seen,
        ["won true", "LEADING", "draining true", "DRAINING", "lost false Closed", "RELEASING", "CLOSED"]
    );
}

/// The test blocks the only thread of the user's runtime for more than a lease.
#[tokio::test(flavor = "current_thread")]
async fn a_handler_that_blocks_its_thread_for_longer_than_a_lease_keeps_no_renewal_waiting() {
    let candidate = alone(options("a")).await;
    let (sender, mut receiver) = mpsc::unbounded_channel();
    candidate.attach(Handlers::new().on_won(move |term: Term| {
        let goal = term.deadline() + LEASE;
        while term.deadline() < goal {
            assert!(term.is_current());
            std::thread::sleep(Duration::from_millis(2));
        }
        sender.send(term.clone()).unwrap();
        async {}
    }));
    let term = soon(receiver.recv()).await.unwrap();
    assert!(candidate.is_leader());
    assert!(term.is_current());
    assert_eq!(candidate.term(), Some(term));
}

#[tokio::test]
async fn a_handler_that_panics_is_isolated_and_those_after_it_are_called() {
    let candidate = alone(options("a")).await;
    let (sender, mut receiver) = mpsc::unbounded_channel();
    let handlers = Handlers::new().on_won(async |_| panic!("on purpose")).on_lost(move |_, reason| {
        sender.send(reason).unwrap();
        async {}
    });
    candidate.attach(handlers);
    drop(soon(candidate.next_term()).await.unwrap());
    soon(candidate.resign()).await.unwrap();
    assert_eq!(soon(receiver.recv()).await, Some(Reason::Resigned));
}

#[tokio::test]
async fn a_handler_that_panics_ends_the_term_where_asked() {
    let candidate = alone(options("a")).await;
    let mut events = candidate.events();
    candidate.attach(Handlers::new().on_won(async |_| panic!("on purpose")).panic_ends_term());
    assert_eq!(lost(&mut events).await, Reason::HandlerFailed);
}

#[tokio::test]
async fn a_handler_may_resign_and_wait_for_it() {
    let candidate = alone(options("a").drain(Duration::from_secs(3600))).await;
    let mut events = candidate.events();
    let inner = candidate.clone();
    let (sender, mut receiver) = mpsc::unbounded_channel();
    candidate.attach(Handlers::new().on_won(move |term| {
        let (inner, sender) = (inner.clone(), sender.clone());
        async move {
            inner.resign().await.unwrap();
            // Inside the handler, the work continues while the lease is held.
            sender.send(term.is_current()).unwrap();
        }
    }));
    assert_eq!(soon(receiver.recv()).await, Some(true));
    assert_eq!(lost(&mut events).await, Reason::Resigned);
}

#[tokio::test]
async fn a_handler_may_close_its_candidate_and_wait_for_it() {
    let candidate = alone(options("a").drain(Duration::from_secs(3600))).await;
    let mut events = candidate.events();
    let inner = candidate.clone();
    candidate.attach(Handlers::new().on_won(move |_| {
        let inner = inner.clone();
        async move { inner.close().await.unwrap() }
    }));
    assert_eq!(lost(&mut events).await, Reason::Closed);
    while let Some(event) = soon(events.next()).await {
        assert!(!matches!(event, Event::Won(_)));
    }
}

#[tokio::test]
async fn closing_waits_for_the_last_handler_to_return() {
    let candidate = alone(options("a")).await;
    drop(soon(candidate.next_term()).await.unwrap());
    let (sender, mut receiver) = mpsc::unbounded_channel();
    candidate.attach(Handlers::new().on_lost(move |_, reason| {
        let sender = sender.clone();
        async move {
            tokio::task::yield_now().await;
            sender.send(reason).unwrap();
        }
    }));
    soon(candidate.close()).await.unwrap();
    assert_eq!(receiver.try_recv(), Ok(Reason::Closed));
}
