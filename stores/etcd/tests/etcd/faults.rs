//! Servers and operators that misbehave.

use std::time::Duration;

use incumbent::{ErrorKind, Event, Store, Warning};
use incumbent_testkit::etcd::{EtcdServer, Options};
use incumbent_testkit::tools::EtcdVersion;

use crate::support::{JOBS, candidate, connect, leader, options, prepared, server, soon, url};

/// Writes to a server until it is full.
fn fill(server: &EtcdServer) {
    let filler = "x".repeat(50_000);
    while server.try_ctl(&["put", "filler", &filler]).is_ok() {}
}

/// Makes space again, like an operator.
fn make_space(server: &EtcdServer) {
    server.ctl(&["del", "filler"]);
    server.ctl(&["compact", &server.revision().to_string()]);
    server.ctl(&["defrag"]);
    server.ctl(&["alarm", "disarm"]);
}

#[tokio::test]
async fn on_a_full_store_a_lease_that_its_servers_allow_waits_with_that_reason_and_leads_once_there_is_space()
{
    // The server's shortest lease is 1 s with these settings, so a candidate's is 3 s.
    let timing = ["--heartbeat-interval=100", "--election-timeout=500"];
    let full = timing.into_iter().chain(["--quota-backend-bytes=600000"]);
    for version in EtcdVersion::tested() {
        let server = prepared(Options::new().version(version).arguments(full.clone())).await;
        fill(&server);
        let short = |name: &str| options(name).lease(Duration::from_secs(3));
        let store = connect(&server).await;
        let new = soon(Store::open(&format!("{}/new", url(&server)))).await.unwrap();
        let ada = soon(store.campaign(JOBS, short("ada"))).await.unwrap();
        let ben = soon(new.campaign(JOBS, short("ben"))).await.unwrap();
        for candidate in [&ada, &ben] {
            let mut events = candidate.events();
            loop {
                if let Event::Warning(Warning::Store(fault)) = soon(events.next()).await.unwrap() {
                    let text = fault.detail;
                    assert!(text.contains("NOSPACE") || text.contains("the store is full"), "{text}");
                    break;
                }
            }
            assert!(!candidate.is_leader());
        }
        make_space(&server);
        for candidate in [ada, ben] {
            drop(soon(candidate.next_term()).await.unwrap());
        }
        // By now the server's shortest lease is known.
        let refused =
            soon(store.campaign(JOBS, options("cleo").lease(Duration::from_secs(2)))).await.unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::InvalidSetting);
        assert!(refused.message().contains("at least 3s"), "{refused}");
    }
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
