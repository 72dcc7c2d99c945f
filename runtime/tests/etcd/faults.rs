//! Servers and operators that do what they should not.

use incumbent::{ErrorKind, Event, Reason, Store, Warning};

use crate::support::{
    JOBS, LEASE, candidate, connect, leader, lost, options, server, servers, soon, until, url,
};

#[tokio::test]
async fn a_leader_whose_server_is_gone_stops_in_time_and_leads_again_when_it_is_back() {
    for mut server in servers().await {
        let store = connect(&server).await;
        let ada = leader(&store, "ada").await;
        let term = ada.term().unwrap();
        let (token, mut events) = (term.token(), ada.events());
        server.kill();
        assert_eq!(lost(&mut events).await, Reason::Expired);
        assert!(!ada.is_leader());
        assert!(store.clock().now() >= term.deadline(), "not before the deadline");
        drop(term);
        server.restart();
        assert!(soon(ada.next_term()).await.unwrap().token() > token);
    }
}

#[tokio::test]
async fn a_server_that_stops_for_less_than_a_lease_ends_no_term() {
    let server = server().await;
    let store = connect(&server).await;
    let ada = leader(&store, "ada").await;
    let term = ada.term().unwrap();
    server.pause();
    tokio::time::sleep(LEASE / 6).await;
    server.resume();
    let deadline = term.deadline();
    // On a machine that is stopped for a lease itself, the term ends rightly.
    until(async || term.deadline() > deadline || term.reason() == Some(Reason::Expired)).await;
}

#[tokio::test]
async fn a_place_that_an_operator_deletes_ends_the_term_and_another_begins() {
    let server = server().await;
    let store = connect(&server).await;
    let ada = leader(&store, "ada").await;
    let (token, mut events) = (ada.term().unwrap().token(), ada.events());
    server.ctl(&["del", "--prefix", "jobs/"]);
    assert_eq!(lost(&mut events).await, Reason::Deleted);
    assert!(soon(ada.next_term()).await.unwrap().token() > token);
}

#[tokio::test]
async fn a_wiped_store_is_a_reset_and_its_tokens_are_larger() {
    let mut server = server().await;
    let store = connect(&server).await;
    let ada = leader(&store, "ada").await;
    let (token, mut events) = (ada.term().unwrap().token(), ada.events());
    server.wipe();
    server.restart();
    loop {
        if let Event::Warning(Warning::StoreReset { barred, .. }) = soon(events.next()).await.unwrap() {
            assert!(!barred);
            break;
        }
    }
    assert!(soon(ada.next_term()).await.unwrap().token() > token);
}

#[tokio::test]
async fn a_place_without_a_lease_is_reported() {
    let server = server().await;
    server.ctl(&["put", "jobs/stray", "left behind"]);
    let store = connect(&server).await;
    let ada = candidate(&store, "ada").await;
    let mut events = ada.events();
    loop {
        if let Event::Warning(Warning::Store(fault)) = soon(events.next()).await.unwrap() {
            assert!(fault.detail.starts_with("a place has no lease"), "{fault}");
            break;
        }
    }
    assert!(!ada.is_leader());
    server.ctl(&["del", "jobs/stray"]);
    drop(soon(ada.next_term()).await.unwrap());
}

#[tokio::test]
async fn a_store_that_is_down_is_waited_for_or_refused() {
    let mut server = server().await;
    server.kill();
    let url = url(&server);
    let refused = soon(Store::builder().fail_fast(true).open(&url)).await.unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::StoreUnavailable);
    let opening = tokio::spawn(async move { Store::open(&url).await });
    server.restart();
    let store = soon(opening).await.unwrap().unwrap();
    let ada = soon(store.campaign(JOBS, options("ada"))).await.unwrap();
    drop(soon(ada.next_term()).await.unwrap());
}
