//! Elections among components.

use std::time::Duration;

use futures_util::future::select_all;
use incumbent::incumbent_core::campaign::{Event, Settings, State};
use incumbent::{Clock, Reason};
use incumbent_wasmtime::ErrorKind;

use crate::support::*;

#[tokio::test]
async fn a_component_wins_and_another_follows_when_it_resigns() {
    let clock = Clock::system();
    let (campaigner, stores) = (campaigner(), stores("memory:", &clock).await);
    let mut first = campaigner.campaign(&stores, "elections", "jobs", settings("first")).await.unwrap();
    let token = won(&mut first).await;
    assert!(first.is_leader());
    assert_eq!(first.token(), Some(token));
    let mut second = campaigner.campaign(&stores, "elections", "jobs", settings("second")).await.unwrap();
    let leader = until(&mut second, |event| match event {
        Event::LeaderChanged(leader) => leader.as_ref().map(|leader| leader.name.clone()),
        _ => None,
    });
    assert_eq!(leader.await, "first");
    assert_eq!(second.leader().unwrap().name, "first");
    assert_eq!((first.state(), second.state()), (State::Leading, State::Waiting));
    assert!(!second.is_leader());

    first.resign().unwrap();
    draining(&mut first).await;
    assert!(first.is_leader(), "it leads while it drains");
    first.drained();
    assert_eq!(lost(&mut first).await, Reason::Resigned);
    assert!(!first.is_leader());
    assert!(won(&mut second).await > token);
    assert!(second.is_leader() && !first.is_leader());
}

#[tokio::test]
async fn a_lease_that_is_handed_over_goes_to_the_named_successor() {
    let clock = Clock::system();
    let (campaigner, stores) = (campaigner(), stores("memory:", &clock).await);
    let mut first = campaigner.campaign(&stores, "elections", "jobs", settings("first")).await.unwrap();
    won(&mut first).await;
    let mut successor =
        campaigner.campaign(&stores, "elections", "jobs", settings("successor")).await.unwrap();
    let other = campaigner.campaign(&stores, "elections", "jobs", settings("other")).await.unwrap();
    until(&mut successor, |event| matches!(event, Event::LeaderChanged(Some(_))).then_some(())).await;
    let refused = first.hand_over(" ").await.unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::Refused);
    assert_eq!(successor.hand_over("first").await.unwrap_err().kind(), ErrorKind::NotLeader);
    first.hand_over("successor").await.unwrap();
    draining(&mut first).await;
    first.drained();
    assert_eq!(lost(&mut first).await, Reason::HandedOver);
    won(&mut successor).await;
    assert!(!other.is_leader());
}

#[tokio::test]
async fn a_leader_renews_for_longer_than_its_lease() {
    let clock = manual_clock();
    let (campaigner, stores) = (campaigner(), stores("memory:", &clock).await);
    let mut leader = campaigner.campaign(&stores, "elections", "jobs", settings("a")).await.unwrap();
    let running = running(&clock);
    won(&mut leader).await;
    let first = leader.lease().unwrap();
    // A fast lease is 2 s.
    clock.sleep_until(first.deadline + Duration::from_secs(4)).await;
    assert_eq!(leader.token(), Some(first.token));
    running.abort();
}

#[tokio::test]
async fn a_closed_campaign_releases_its_lease_and_ends() {
    let clock = Clock::system();
    let (campaigner, stores) = (campaigner(), stores("memory:", &clock).await);
    // With this lease, a candidate that waited for the expiry would wait for a minute.
    let long = |name| Settings { lease: Some(Duration::from_secs(60)), ..settings(name) };
    let mut first = campaigner.campaign(&stores, "elections", "jobs", long("a")).await.unwrap();
    won(&mut first).await;
    first.close();
    draining(&mut first).await;
    first.drained();
    assert_eq!(lost(&mut first).await, Reason::Closed);
    until(&mut first, |event| matches!(event, Event::StateChanged(State::Closed)).then_some(())).await;
    assert_eq!(first.state(), State::Closed);
    assert_eq!(first.resign().unwrap_err().kind(), ErrorKind::Closed);
    assert_eq!(first.hand_over("b").await.unwrap_err().kind(), ErrorKind::Closed);
    first.ended().await.unwrap();
    let mut next = campaigner.campaign(&stores, "elections", "jobs", long("b")).await.unwrap();
    let before = clock.now();
    won(&mut next).await;
    assert!(clock.now().since(before) < Duration::from_secs(50), "no lease was waited for");
}

#[tokio::test]
async fn invalid_settings_and_names_are_errors_at_once() {
    let clock = Clock::system();
    let (campaigner, stores) = (campaigner(), stores("memory:", &clock).await);
    let kind = async |bucket: &str, key: &str, settings: Settings| {
        campaigner.campaign(&stores, bucket, key, settings).await.map(drop).unwrap_err()
    };
    let short = Settings { lease: Some(Duration::from_millis(10)), ..settings("a") };
    let error = kind("elections", "jobs", short).await;
    assert_eq!((error.kind(), error.setting()), (ErrorKind::Refused, Some("lease")));
    assert_eq!(
        error.to_string(),
        "lease is 10ms, and must be at least 1s: use a lease (or a bucket TTL) of 1s or more"
    );
    assert_eq!(kind("elections", "jobs", settings("")).await.kind(), ErrorKind::Refused);
    let error = kind("elsewhere", "jobs", settings("a")).await;
    assert_eq!(error.kind(), ErrorKind::Store);
    assert_eq!(error.to_string(), "the host has no bucket \"elsewhere\"; it has elections");
    assert_eq!(kind("elections", "", settings("a")).await.kind(), ErrorKind::Store);
}

#[tokio::test]
async fn a_component_and_the_runtime_share_an_election_in_a_file() {
    let folder = tempfile::tempdir().unwrap();
    let url = format!("sqlite:{}", folder.path().join("elections.db").display());
    let clock = Clock::system();
    let (campaigner, stores) = (campaigner(), stores(&url, &clock).await);
    let mut guest = campaigner.campaign(&stores, "elections", "jobs", settings("guest")).await.unwrap();
    let token = won(&mut guest).await;

    let store = incumbent::Store::open(&url).await.unwrap();
    let options = incumbent::CampaignOptions::new().name("native").preset(incumbent::Preset::Fast);
    let native = store.campaign("jobs", options).await.unwrap();
    assert_eq!(store.leader("jobs").await.unwrap().unwrap().name, "guest");
    assert!(!native.is_leader());
    guest.close();
    draining(&mut guest).await;
    guest.drained();
    let term = native.next_term().await.unwrap();
    assert!(!guest.is_leader());
    assert!(term.token() > token);
    store.close().await.unwrap();
}

#[tokio::test]
async fn the_watch_shows_a_release_long_before_a_poll_would() {
    let clock = Clock::system();
    let (campaigner, stores) = (campaigner(), stores("memory:", &clock).await);
    // Leases of a minute: no candidate would read the key again before that.
    let long = |name| Settings { lease: Some(Duration::from_secs(60)), ..settings(name) };
    let mut first = campaigner.campaign(&stores, "elections", "jobs", long("first")).await.unwrap();
    won(&mut first).await;
    let mut others = Vec::new();
    for name in ["b", "c", "d", "e"] {
        others.push(campaigner.campaign(&stores, "elections", "jobs", long(name)).await.unwrap());
    }
    for other in &mut others {
        until(other, |event| matches!(event, Event::LeaderChanged(Some(_))).then_some(())).await;
    }
    first.close();
    draining(&mut first).await;
    let before = clock.now();
    first.drained();
    select_all(others.iter_mut().map(|other| Box::pin(won(other)))).await;
    assert!(clock.now().since(before) < Duration::from_secs(30));
}

#[tokio::test]
async fn a_leader_whose_host_stood_still_for_a_lease_leads_no_more_before_anything_runs() {
    let clock = manual_clock();
    let (campaigner, stores) = (campaigner(), stores("memory:", &clock).await);
    let mut leader = campaigner.campaign(&stores, "elections", "jobs", settings("a")).await.unwrap();
    let running = running(&clock);
    won(&mut leader).await;
    running.abort();
    let _ = running.await;
    assert!(leader.is_leader());
    clock.advance(Duration::from_secs(2));
    assert!(!leader.is_leader(), "no task ran in between");
    assert_eq!(lost(&mut leader).await, Reason::Expired);
}
