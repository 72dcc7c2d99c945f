//! Watching an election without taking part.

use std::time::Duration;

use incumbent::store::{Memory, MemorySettings, StoreAdmin};
use incumbent::{Clock, Instant, Observation, Observer, Store};

use crate::support::{options, soon};

async fn next(observer: &mut Observer) -> Observation {
    soon(observer.next()).await.expect("the store is closed")
}

async fn names(observer: &mut Observer, count: usize) -> Vec<Option<String>> {
    let mut names = Vec::new();
    for _ in 0..count {
        names.push(next(observer).await.leader.map(|leader| leader.name));
    }
    names
}

#[tokio::test]
async fn an_observer_receives_vacancy_leader_and_metadata_and_no_renewals() {
    let store = Store::open("memory:").await.unwrap();
    let mut observer = store.observe("jobs").await.unwrap();
    assert_eq!(next(&mut observer).await.leader, None);
    let first = options("first").metadata("address", "10.0.0.7:80");
    let first = store.campaign("jobs", first).await.unwrap();
    let term = soon(first.next_term()).await.unwrap();
    let seen = next(&mut observer).await;
    assert!(observer.age(&seen) < Duration::from_secs(30));
    let leader = seen.leader.unwrap();
    assert_eq!(leader.name, "first");
    assert_eq!(leader.revision, term.token().sequence);
    assert_eq!(leader.metadata, [("address".to_owned(), "10.0.0.7:80".to_owned())]);
    let goal = term.deadline() + crate::support::TWO_RENEWALS;
    crate::support::until(|| term.deadline() > goal).await;
    drop(term);
    soon(first.close()).await.unwrap();
    assert_eq!(names(&mut observer, 1).await, [None]);
}

#[tokio::test]
async fn a_late_observer_receives_the_present_leader() {
    let store = Store::open("memory:").await.unwrap();
    let candidate = store.campaign("jobs", options("a")).await.unwrap();
    drop(soon(candidate.next_term()).await.unwrap());
    let mut first = store.observe("jobs").await.unwrap();
    assert_eq!(names(&mut first, 1).await, [Some("a".to_owned())]);
    let mut second = store.observe("jobs").await.unwrap();
    assert_eq!(names(&mut second, 1).await, [Some("a".to_owned())]);
}

#[tokio::test]
async fn a_deletion_and_an_overwrite_are_seen_at_once() {
    let clock = Clock::manual(Instant::from_nanos(1));
    let memory = Memory::open(&MemorySettings::private(), &clock).unwrap();
    let store = Store::from_adapter(Box::new(memory.clone()), clock.clone()).unwrap();
    let mut observer = store.observe("jobs").await.unwrap();
    assert_eq!(names(&mut observer, 1).await, [None]);
    memory.put("jobs", b"one").await.unwrap();
    assert_eq!(names(&mut observer, 1).await, [Some("one".to_owned())]);
    memory.put("jobs", b"two").await.unwrap();
    assert_eq!(names(&mut observer, 1).await, [Some("two".to_owned())]);
    memory.delete("jobs").await.unwrap();
    assert_eq!(names(&mut observer, 1).await, [None]);
}

#[tokio::test]
async fn an_expiry_that_the_store_does_not_report_is_found_when_the_lease_is_over() {
    let clock = Clock::manual(Instant::from_nanos(1));
    let memory = Memory::open(&MemorySettings::private(), &clock).unwrap();
    let store = Store::from_adapter(Box::new(memory.clone()), clock.clone()).unwrap();
    memory.put("jobs", b"one").await.unwrap();
    let mut observer = store.observe("jobs").await.unwrap();
    assert_eq!(names(&mut observer, 1).await, [Some("one".to_owned())]);
    // In a store without another lease, a bare record lives for 30 s.
    clock.advance(Duration::from_secs(30));
    let seen = next(&mut observer).await;
    assert_eq!(seen.leader, None);
    assert_eq!(seen.since, clock.now());
}

#[tokio::test]
async fn observers_end_with_their_store() {
    let store = Store::open("memory:").await.unwrap();
    let mut observer = store.observe("jobs").await.unwrap();
    assert_eq!(names(&mut observer, 1).await, [None]);
    soon(store.close()).await.unwrap();
    assert_eq!(soon(observer.next()).await, None);
}

#[tokio::test]
async fn the_store_lists_its_leaders_and_describes_itself() {
    let store = Store::open("memory:").await.unwrap();
    for (key, name) in [("b", "two"), ("a", "one")] {
        let candidate = store.campaign(key, options(name)).await.unwrap();
        drop(soon(candidate.next_term()).await.unwrap());
        if key == "a" {
            // Closing the candidate releases the key, and leaves a tombstone.
            soon(candidate.close()).await.unwrap();
        } else {
            std::mem::forget(candidate);
        }
    }
    assert_eq!(store.leader("b").await.unwrap().map(|leader| leader.name), Some("two".into()));
    assert_eq!(store.leader("a").await.unwrap(), None);
    assert_eq!(store.leader("c").await.unwrap(), None);
    let listed = store.list().await.unwrap();
    let listed: Vec<_> = listed
        .iter()
        .map(|one| (one.election.as_str(), one.leader.as_ref().map(|l| l.name.as_str())))
        .collect();
    assert_eq!(listed, [("a", None), ("b", Some("two"))]);
    assert!(store.capabilities().own_lease);
    assert!(store.store_info().await.unwrap().newest.is_some());
}
