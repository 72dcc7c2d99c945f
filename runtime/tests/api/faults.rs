//! The driver on a store with faults.

use std::sync::atomic::Ordering;

use incumbent::store::{Memory, MemorySettings, StoreAdmin};
use incumbent::testing::Faulty;
use incumbent::{Clock, ErrorKind, Event, Reason, State, Store};

use crate::support::{LEASE, SHORT, Switched, lost, options, soon, until};

#[tokio::test]
async fn renewals_whose_answers_are_lost_cost_no_term() {
    let clock = Clock::system();
    let memory = Memory::open(&MemorySettings::private(), &clock).unwrap();
    let (faulty, faults) = Faulty::new(memory);
    let store = Store::from_adapter(Box::new(faulty), clock).unwrap();
    let candidate = store.campaign("jobs", options("a")).await.unwrap();
    let term = soon(candidate.next_term()).await.unwrap();
    for _ in 0..3 {
        // One renewal, or the next.
        let goal = term.deadline() + LEASE / 4;
        faults.lose_answers(1);
        until(|| term.deadline() > goal).await;
    }
    assert!(term.is_current());
}

#[tokio::test]
async fn a_leader_that_is_cut_off_loses_by_its_deadline_and_leads_again_after() {
    let clock = Clock::system();
    let memory = Memory::open(&MemorySettings::private(), &clock).unwrap();
    let (faulty, faults) = Faulty::new(memory);
    let store = Store::from_adapter(Box::new(faulty), clock.clone()).unwrap();
    let candidate = store.campaign("jobs", options("a").lease(SHORT)).await.unwrap();
    let term = soon(candidate.next_term()).await.unwrap();
    let mut events = candidate.events();
    faults.partition();
    let deadline = term.deadline();
    assert_eq!(lost(&mut events).await, Reason::Expired);
    assert!(clock.now() >= deadline);
    assert!(!candidate.is_leader());
    faults.heal();
    assert!(soon(candidate.next_term()).await.unwrap().token() > term.token());
}

#[tokio::test]
async fn a_watch_that_dies_silently_slows_an_election_down_and_no_more() {
    let clock = Clock::system();
    let memory = Memory::open(&MemorySettings::private(), &clock).unwrap();
    let leaders = Store::from_adapter(Box::new(memory.clone()), clock.clone()).unwrap();
    let leader = leaders.campaign("jobs", options("leader").lease(SHORT)).await.unwrap();
    drop(soon(leader.next_term()).await.unwrap());
    let (faulty, faults) = Faulty::new(memory);
    let store = Store::from_adapter(Box::new(faulty), clock).unwrap();
    let follower = store.campaign("jobs", options("follower").lease(SHORT)).await.unwrap();
    until(|| follower.leader().is_some()).await;
    faults.kill_watches();
    soon(leader.close()).await.unwrap();
    soon(follower.next_term()).await.unwrap();
}

#[tokio::test]
async fn a_watch_that_ends_is_begun_again_and_what_vanished_meanwhile_is_seen() {
    let clock = Clock::system();
    let switched = Switched::new(&clock);
    let store = switched.store(&clock);
    let candidate = store.campaign("jobs", options("a")).await.unwrap();
    let term = soon(candidate.next_term()).await.unwrap();
    let mut events = candidate.events();
    // No candidate acquires this key again, so the vacancy lasts.
    switched.memory.put("other", b"other").await.unwrap();
    let mut observer = store.observe("other").await.unwrap();
    let leader = soon(observer.next()).await.unwrap().leader;
    assert_eq!(leader.map(|leader| leader.name), Some("other".into()));
    switched.memory.reset();
    assert_eq!(lost(&mut events).await, Reason::StoreReset);
    assert_eq!(soon(observer.next()).await.unwrap().leader, None);
    until(|| switched.switches.watches.load(Ordering::SeqCst) >= 2).await;
    // A new incarnation of the store has larger tokens, so the candidate may lead in it.
    let again = loop {
        match soon(events.next()).await.unwrap() {
            Event::Won(again) => break again,
            _ => continue,
        }
    };
    assert!(again.token() > term.token());
}

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
