//! Terms of candidates on a store in memory: won, lost, handed over, drained, closed.

use crate::support::{options, soon};
use incumbent::{Event, Reason, State, Store};

#[tokio::test]
async fn a_lone_candidate_wins_and_loses_by_closing() {
    let store = Store::open("memory:").await.unwrap();
    let candidate = store.campaign("jobs", options("a")).await.unwrap();
    let term = soon(candidate.won()).await.unwrap();
    assert!(candidate.is_leader());
    assert!(term.is_current());
    assert_eq!(candidate.state(), State::Leading);
    assert_eq!(candidate.term().as_ref(), Some(&term));
    drop(term);
    let mut events = candidate.events();
    soon(candidate.close()).await.unwrap();
    assert!(!candidate.is_leader());
    assert_eq!(candidate.state(), State::Closed);
    let mut lost = Vec::new();
    while let Some(event) = soon(events.next()).await {
        if let Event::Lost { reason, .. } = event {
            lost.push(reason);
        }
    }
    assert_eq!(lost, [Reason::Closed]);
}
