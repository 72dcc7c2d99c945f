//! Listing the candidates of an election.

use std::time::Duration;

use incumbent::{Clock, ErrorKind, Store};

use crate::support::{Switched, options, soon};

#[tokio::test]
async fn a_store_that_cannot_know_of_others_says_so() {
    let clock = Clock::system();
    let store = Switched::new(&clock).store(&clock);
    let _ada = store.campaign("jobs", options("ada")).await.unwrap();
    assert_eq!(soon(store.candidates("jobs")).await.unwrap(), None);
    assert_eq!(soon(store.all_candidates()).await.unwrap(), None);
}

#[tokio::test]
async fn an_election_that_cannot_be_has_no_candidates() {
    let store = Store::open("memory:").await.unwrap();
    for key in ["", "_incumbent.hand-over.jobs"] {
        let refused = soon(store.candidates(key)).await.unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::InvalidName, "{key:?}");
    }
    soon(store.close()).await.unwrap();
    assert_eq!(soon(store.candidates("jobs")).await.unwrap_err().kind(), ErrorKind::Closed);
}

#[tokio::test]
async fn the_one_that_stood_longest_comes_first() {
    let clock = Clock::manual(incumbent::Instant::from_nanos(60_000_000_000));
    let store = Store::builder().clock(clock.clone()).open("memory:").await.unwrap();
    let mut candidates = Vec::new();
    for name in ["cleo", "ben", "ada"] {
        candidates.push(store.campaign("jobs", options(name)).await.unwrap());
        // The candidate is listed.
        while soon(store.candidates("jobs")).await.unwrap().unwrap().len() < candidates.len() {
            tokio::task::yield_now().await;
        }
        clock.advance(Duration::from_millis(10));
    }
    let present = soon(store.candidates("jobs")).await.unwrap().unwrap();
    let listed: Vec<_> = present.iter().map(|one| (&*one.name, one.standing_for.as_millis())).collect();
    assert_eq!(listed, [("cleo", 30), ("ben", 20), ("ada", 10)]);
}
