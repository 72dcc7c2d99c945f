//! A driver that panics ends every term, exactly once.

use std::sync::atomic::Ordering;

use incumbent::{Clock, ErrorKind, Event, Reason, State};

use crate::support::{Switched, options, soon};

#[tokio::test]
async fn a_driver_that_panics_ends_every_term_once() {
    let clock = Clock::system();
    let switched = Switched::new(&clock);
    let store = switched.store(&clock);
    let mut observer = store.observe("a").await.unwrap();
    let candidates =
        [store.campaign("a", options("a")).await.unwrap(), store.campaign("b", options("b")).await.unwrap()];
    let mut terms = Vec::new();
    for candidate in &candidates {
        terms.push(soon(candidate.next_term()).await.unwrap());
    }
    let streams = candidates.each_ref().map(|candidate| candidate.events());
    switched.switches.panics.store(true, Ordering::SeqCst);
    for (term, mut events) in terms.into_iter().zip(streams) {
        assert_eq!(soon(term.ended()).await, Reason::Closed);
        assert!(!term.is_current());
        let mut lost = 0;
        while let Some(event) = soon(events.next()).await {
            lost += usize::from(matches!(event, Event::Lost { .. }));
        }
        assert_eq!(lost, 1);
    }
    assert_eq!(candidates.each_ref().map(|candidate| candidate.is_leader()), [false; 2]);
    assert_eq!(candidates.each_ref().map(|candidate| candidate.state()), [State::Closed; 2]);
    let [a, _] = &candidates;
    assert_eq!(soon(a.resign()).await.unwrap_err().kind(), ErrorKind::Closed);
    assert_eq!(soon(store.leader("a")).await.unwrap_err().kind(), ErrorKind::Closed);
    soon(a.close()).await.unwrap();
    soon(store.close()).await.unwrap();
    while soon(observer.next()).await.is_some() {}
}
