//! Many candidates and many elections on one driver.

use std::sync::atomic::Ordering;
use std::time::Duration;

use futures_util::future::join_all;
use incumbent::store::{Memory, MemorySettings, StoreAdmin};
use incumbent::{Clock, Reason, State, Store};

use crate::support::{Switched, lost, options, soon, until};

const MANY: usize = 1000;

#[tokio::test]
async fn a_thousand_elections_share_one_watch_and_their_inspections() {
    let clock = Clock::system();
    let switched = Switched::new(&clock);
    let store = switched.store(&clock);
    let names: Vec<_> = (0..MANY).map(|n| format!("election-{n}")).collect();
    let candidates =
        join_all(names.iter().map(|key| store.campaign(key, options("a").lease(Duration::from_secs(20)))));
    let candidates: Vec<_> = soon(candidates).await.into_iter().map(Result::unwrap).collect();
    soon(join_all(candidates.iter().map(|candidate| async { drop(candidate.next_term().await.unwrap()) })))
        .await;
    assert!(candidates.iter().all(|candidate| candidate.is_leader()));
    assert_eq!(switched.switches.watches.load(Ordering::SeqCst), 1);
    let inspections = switched.switches.inspections.load(Ordering::SeqCst);
    assert!(inspections < MANY / 10, "{inspections}");
    soon(store.close()).await.unwrap();
    assert_eq!(switched.switches.releases.load(Ordering::SeqCst), MANY);
}

#[tokio::test]
async fn of_a_thousand_candidates_one_leads_and_one_follows() {
    let clock = Clock::system();
    let switched = Switched::new(&clock);
    let store = switched.store(&clock);
    let names: Vec<_> = (0..MANY).map(|n| format!("candidate-{n}")).collect();
    let candidates = join_all(
        names.iter().map(|name| store.campaign("jobs", options(name).lease(Duration::from_secs(20)))),
    );
    let mut candidates: Vec<_> = soon(candidates).await.into_iter().map(Result::unwrap).collect();
    for _ in 0..2 {
        until(|| candidates.iter().any(|candidate| candidate.is_leader())).await;
        until(|| {
            let waiting = candidates.iter().filter(|candidate| candidate.state() == State::Waiting);
            waiting.count() == candidates.len() - 1
        })
        .await;
        assert_eq!(candidates.iter().filter(|candidate| candidate.is_leader()).count(), 1);
        let leader = candidates.iter().position(|candidate| candidate.is_leader()).unwrap();
        let leader = candidates.swap_remove(leader);
        soon(leader.close()).await.unwrap();
    }
    until(|| candidates.iter().any(|candidate| candidate.is_leader())).await;
}

#[tokio::test]
async fn what_happens_to_one_election_leaves_another_in_the_same_store_alone() {
    let clock = Clock::system();
    let memory = Memory::open(&MemorySettings::private(), &clock).unwrap();
    let store = Store::from_adapter(Box::new(memory.clone()), clock).unwrap();
    let (jobs, beside) = ("jobs", "beside");
    let a = store.campaign(jobs, options("a")).await.unwrap();
    let b = store.campaign(beside, options("b")).await.unwrap();
    let (of_a, of_b) = (soon(a.next_term()).await.unwrap(), soon(b.next_term()).await.unwrap());
    let mut events = a.events();
    memory.put(jobs, b"other").await.unwrap();
    assert_eq!(lost(&mut events).await, Reason::Usurped);
    memory.delete(jobs).await.unwrap();
    assert!(soon(a.next_term()).await.unwrap().token() > of_a.token());
    soon(a.close()).await.unwrap();
    assert!(of_b.is_current() && b.is_leader());
    assert_eq!(b.leader().map(|leader| leader.name), Some("b".into()));
}

#[tokio::test]
async fn a_client_that_shares_the_drivers_thread_runs_though_the_driver_always_has_something_to_do() {
    let clock = Clock::system();
    let switched = Switched::new(&clock);
    switched.switches.floods.store(true, Ordering::SeqCst);
    let store = switched.store(&clock);
    let candidate = soon(store.campaign("jobs", options("a"))).await.unwrap();
    soon(candidate.next_term()).await.unwrap();
    soon(store.close()).await.unwrap();
}
