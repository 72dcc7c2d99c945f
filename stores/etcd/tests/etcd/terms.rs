//! Terms begin, continue and end.

use std::time::Duration;

use incumbent::{Event, Reason, State, Store, Warning};

use crate::support::{
    JOBS, LEASE, candidate, connect, keys, leader, lost, options, places, server, servers, soon, until,
    until_state, url, waiting,
};

#[tokio::test]
async fn a_candidate_wins_renews_and_stands_where_etcdctl_looks() {
    for server in servers().await {
        let store = connect(&server).await;
        let ada = candidate(&store, "ada").await;
        let term = soon(ada.next_term()).await.unwrap();
        assert!(ada.is_leader() && term.is_current());
        let first = term.deadline();
        until(async || term.deadline() > first).await;
        assert!(ada.is_leader());
        let place = keys(&server).into_iter().find(|key| key.starts_with("jobs/")).unwrap();
        assert_eq!(server.ctl(&["get", &place, "--print-value-only"]).trim(), "ada");
        drop(term);
        soon(store.close()).await.unwrap();
    }
}

#[tokio::test]
async fn a_candidate_under_a_new_prefix_says_how_long_it_waits_and_what_would_shorten_that() {
    let server = server().await;
    let store = soon(Store::open(&format!("{}/another", url(&server)))).await.unwrap();
    let ada = candidate(&store, "ada").await;
    let mut events = ada.events();
    let warning = loop {
        if let Event::Warning(warning) = soon(events.next()).await.unwrap() {
            break warning;
        }
    };
    let Warning::YoungStore { left, can_be_stated: true } = warning else { panic!("{warning:?}") };
    assert!(left > LEASE / 2 && left <= LEASE, "{left:?}");
    soon(store.close()).await.unwrap();
}

#[tokio::test]
async fn a_leader_that_resigns_enters_at_the_end_with_a_larger_token() {
    for server in servers().await {
        let (here, there) = (connect(&server).await, connect(&server).await);
        let ada = leader(&here, "ada").await;
        let ben = waiting(&there, "ben").await;
        let mut tokens = vec![ada.term().unwrap().token()];
        assert!(!ben.is_leader());
        soon(ada.resign()).await.unwrap();
        assert!(!ada.is_leader());
        tokens.push(soon(ben.next_term()).await.unwrap().token());
        until(async || places(&there).await == ["ben", "ada"]).await;
        soon(ben.close()).await.unwrap();
        tokens.push(soon(ada.next_term()).await.unwrap().token());
        assert!(tokens.is_sorted_by(|one, next| one < next), "{tokens:?}");
        soon(here.close()).await.unwrap();
    }
}

#[tokio::test]
async fn two_candidates_never_lead_at_the_same_time() {
    let server = server().await;
    let (here, there) = (connect(&server).await, connect(&server).await);
    let candidates = [leader(&here, "ada").await, waiting(&there, "ben").await, waiting(&here, "cleo").await];
    let leaders = || candidates.iter().filter(|one| one.is_leader()).collect::<Vec<_>>();
    for _ in 0..6 {
        let [present] = leaders()[..] else { panic!("not one leader: {:?}", leaders()) };
        let resigning = present.request_resign();
        until(async || {
            let leaders = leaders();
            assert!(leaders.len() <= 1, "{leaders:?}");
            leaders.first().is_some_and(|now| now.name() != present.name())
        })
        .await;
        soon(resigning).await.unwrap();
    }
}

#[tokio::test]
async fn a_leader_drains_while_its_work_goes_on() {
    let server = server().await;
    let store = connect(&server).await;
    let ada = leader(&store, "ada").await;
    let ben = waiting(&store, "ben").await;
    let work = ada.term().unwrap();
    let mut events = ada.events();
    let leaving = ada.request_resign();
    until_state(&ada, State::Draining).await;
    assert!(ada.is_leader() && !ben.is_leader());
    assert!(work.drains_until().is_some());
    drop(work);
    soon(leaving).await.unwrap();
    assert_eq!(lost(&mut events).await, Reason::Resigned);
    drop(soon(ben.next_term()).await.unwrap());
}

#[tokio::test]
async fn work_that_outlasts_its_drain_keeps_the_place_until_it_has_ended() {
    let server = server().await;
    let store = connect(&server).await;
    let ada = soon(store.campaign(JOBS, options("ada").drain(Duration::from_millis(100)))).await.unwrap();
    let work = soon(ada.next_term()).await.unwrap();
    let ben = waiting(&store, "ben").await;
    let mut events = ada.events();
    let leaving = ada.request_resign();
    assert_eq!(lost(&mut events).await, Reason::Resigned);
    assert!(!ada.is_leader() && !ben.is_leader());
    assert_eq!(places(&store).await, ["ada", "ben"]);
    drop(work);
    soon(leaving).await.unwrap();
    drop(soon(ben.next_term()).await.unwrap());
}

#[tokio::test]
async fn an_unhealthy_leader_leaves_and_a_healthy_one_enters_again() {
    let server = server().await;
    let store = connect(&server).await;
    let ada = leader(&store, "ada").await;
    let ben = waiting(&store, "ben").await;
    let mut events = ada.events();
    ada.set_healthy(false);
    assert_eq!(lost(&mut events).await, Reason::Unhealthy);
    drop(soon(ben.next_term()).await.unwrap());
    until_state(&ada, State::Idle).await;
    assert_eq!(places(&store).await, ["ben"]);
    ada.set_healthy(true);
    until(async || places(&store).await == ["ben", "ada"]).await;
}

#[tokio::test]
async fn a_leader_whose_handler_failed_gives_way() {
    let server = server().await;
    let store = connect(&server).await;
    let ada = leader(&store, "ada").await;
    let ben = waiting(&store, "ben").await;
    let mut events = ada.events();
    ada.term().unwrap().fail();
    assert_eq!(lost(&mut events).await, Reason::HandlerFailed);
    drop(soon(ben.next_term()).await.unwrap());
}

#[tokio::test]
async fn a_candidate_sees_the_leader_and_its_change() {
    let server = server().await;
    let store = connect(&server).await;
    let ada = leader(&store, "ada").await;
    let ben = waiting(&store, "ben").await;
    until(async || ben.leader().is_some_and(|leader| leader.name == "ada")).await;
    let mut events = ben.events();
    soon(ada.close()).await.unwrap();
    loop {
        if let Event::LeaderChanged(Some(leader)) = soon(events.next()).await.unwrap()
            && leader.name == "ben"
        {
            break;
        }
    }
}
