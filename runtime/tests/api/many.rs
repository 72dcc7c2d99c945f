//! Many candidates and many elections on one hub.

use std::sync::atomic::Ordering;
use std::time::Duration;

use futures_util::future::join_all;
use incumbent::{Clock, State};

use crate::support::{Switched, options, soon, until};

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
    soon(join_all(candidates.iter().map(|candidate| async { drop(candidate.won().await.unwrap()) }))).await;
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
