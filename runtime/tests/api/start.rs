//! Campaigns on a store that does not answer yet, or does not fit.

use std::sync::atomic::Ordering;

use incumbent::incumbent_core::store::FaultKind;
use incumbent::{Clock, ErrorKind, Event, Reason, State, Store, Warning};

use crate::support::{Switched, lost, options, soon};

#[tokio::test]
async fn a_store_that_does_not_answer_is_waited_for_with_a_warning() {
    let clock = Clock::system();
    let switched = Switched::new(&clock);
    switched.switches.unreachable.store(true, Ordering::SeqCst);
    let store = switched.store(&clock);
    let candidate = soon(store.campaign("jobs", options("a"))).await.unwrap();
    // The first subscriber receives the warning even if it subscribes only after the warning.
    let mut events = candidate.events();
    let fault = loop {
        match soon(events.next()).await.unwrap() {
            Event::Warning(Warning::Store(fault)) => break fault,
            _ => continue,
        }
    };
    assert_eq!((fault.kind, fault.detail.as_str()), (FaultKind::Unreachable, "switched off"));
    assert_eq!(candidate.state(), State::Idle);
    switched.switches.unreachable.store(false, Ordering::SeqCst);
    soon(candidate.next_term()).await.unwrap();
}

#[tokio::test]
async fn a_store_that_does_not_answer_is_an_error_when_failing_fast() {
    let clock = Clock::system();
    let switched = Switched::new(&clock);
    switched.switches.unreachable.store(true, Ordering::SeqCst);
    let store = Store::builder().fail_fast(true).clock(clock).adapter(Box::new(switched)).unwrap();
    let error = soon(store.campaign("jobs", options("a"))).await.unwrap_err();
    assert_eq!((error.kind(), error.message()), (ErrorKind::StoreUnavailable, "switched off"));
    assert_eq!(soon(store.store_info()).await.unwrap_err().kind(), ErrorKind::StoreUnavailable);
}

#[tokio::test]
async fn a_candidate_that_waits_for_its_store_can_be_unhealthy_resign_and_close() {
    let clock = Clock::system();
    let switched = Switched::new(&clock);
    switched.switches.unreachable.store(true, Ordering::SeqCst);
    let store = switched.store(&clock);
    let candidate = soon(store.campaign("jobs", options("a"))).await.unwrap();
    soon(candidate.resign()).await.unwrap();
    assert_eq!(soon(candidate.hand_over("b")).await.unwrap_err().kind(), ErrorKind::NotLeader);
    soon(candidate.close()).await.unwrap();
    assert_eq!(candidate.state(), State::Closed);

    let candidate = soon(store.campaign("jobs", options("a"))).await.unwrap();
    candidate.set_healthy(false);
    switched.switches.unreachable.store(false, Ordering::SeqCst);
    let other = soon(store.campaign("jobs", options("b"))).await.unwrap();
    let mut events = other.events();
    drop(soon(other.next_term()).await.unwrap());
    soon(other.resign()).await.unwrap();
    assert_eq!(lost(&mut events).await, Reason::Resigned);
    // `other` is the only healthy candidate, so it wins again.
    soon(other.next_term()).await.unwrap();
    assert!(!candidate.is_leader());
    candidate.set_healthy(true);
    soon(other.close()).await.unwrap();
    soon(candidate.next_term()).await.unwrap();
}

#[tokio::test]
async fn a_url_that_cannot_be_read_is_refused() {
    assert_eq!(Store::open("nothing").await.unwrap_err().kind(), ErrorKind::InvalidUrl);
    assert_eq!(Store::open("memory:?x=1").await.unwrap_err().kind(), ErrorKind::InvalidUrl);
}
