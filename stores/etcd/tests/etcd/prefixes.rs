//! Elections and prefixes of several teams on one cluster, where each team's elections would take the keys of the other
//! for its own.

use std::time::Duration;

use incumbent::incumbent_core::store::FaultKind;
use incumbent::store::Settings as _;
use incumbent::store::etcd::{EtcdSettings, init};
use incumbent::{CampaignOptions, Candidate, ErrorKind, Event, Events, Store, Warning};
use incumbent_testkit::etcd::EtcdServer;

use crate::support::{keys, options, server, servers, soon, until, url};

/// A candidate with a short lease. No test here needs a longer one, and a wait on an old server lasts two leases.
fn short(name: &str) -> CampaignOptions {
    options(name).lease(Duration::from_secs(6))
}

async fn candidate(store: &Store, election: &str, name: &str) -> Candidate {
    soon(store.campaign(election, short(name))).await.unwrap()
}

async fn leader(store: &Store, election: &str, name: &str) -> Candidate {
    let candidate = candidate(store, election, name).await;
    drop(soon(candidate.next_term()).await.unwrap());
    candidate
}

/// The store of the team whose prefix is `app/`.
async fn team(server: &EtcdServer, user: &str) -> Store {
    soon(Store::open(&format!("{}/app", url(server).replace("://", &format!("://{user}"))))).await.unwrap()
}

/// A new store of the team whose prefix is `app/`, on which no election ever ran.
async fn new_team(server: &EtcdServer) -> Store {
    let settings = EtcdSettings::from_url(&format!("{}/app", url(server))).unwrap();
    soon(init(&settings, true)).await.unwrap();
    team(server, "").await
}

/// The store without a prefix.
async fn others(server: &EtcdServer) -> Store {
    soon(Store::open(&url(server))).await.unwrap()
}

#[track_caller]
fn names_both(text: &str) {
    for part in ["\"app\" under the prefix \"\"", "the prefix \"app/\""] {
        assert!(text.contains(part), "no {part:?} in: {text}");
    }
    for part in ["delete", "evict", "remove", ".incumbent"] {
        assert!(!text.contains(part), "{part:?} in: {text}");
    }
}

async fn warned(events: &mut Events, part: &str) -> (FaultKind, String) {
    loop {
        if let Event::Warning(Warning::Store(fault)) = soon(events.next()).await.unwrap()
            && fault.detail.contains(part)
        {
            return (fault.kind, fault.detail);
        }
    }
}

#[tokio::test]
async fn an_election_that_is_named_like_the_prefix_of_another_team_is_refused_with_both() {
    for server in servers().await {
        let team = new_team(&server).await;
        let ada = leader(&team, "jobs", "ada").await;
        let before = keys(&server);
        let others = others(&server).await;
        let refused = soon(others.campaign("app", short("ben"))).await.unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::InvalidName);
        names_both(refused.message());
        assert_eq!(keys(&server), before, "nothing was written");
        // No key of the other team is shown as a candidate either.
        assert_eq!(soon(others.candidates("app")).await.unwrap().unwrap(), []);
        assert_eq!(soon(others.leader("app")).await.unwrap(), None);
        assert_eq!(soon(others.list()).await.unwrap(), []);
        assert!(ada.is_leader());
    }
}

#[tokio::test]
async fn a_prefix_that_is_named_like_an_election_of_others_is_refused_with_both() {
    for server in servers().await {
        let others = others(&server).await;
        let ben = leader(&others, "app", "ben").await;
        let before = keys(&server);
        let team = team(&server, "").await;
        let refused = soon(team.campaign("jobs", short("ada"))).await.unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::Broken);
        assert!(refused.message().contains("the prefix \"app/\" of etcd shares keys"), "{refused}");
        names_both(refused.message());
        assert_eq!(keys(&server), before, "no birth record was written");
        assert!(ben.is_leader());
    }
}

#[tokio::test]
async fn where_the_keys_under_a_prefix_may_not_be_read_a_warning_says_so_and_nothing_is_refused() {
    let server = server().await;
    for command in [
        &["user", "add", "root:secret"][..],
        &["user", "grant-role", "root", "root"],
        &["role", "add", "jobs"],
        &["role", "grant-permission", "jobs", "readwrite", "--prefix", "app/jobs/"],
        &["role", "grant-permission", "jobs", "readwrite", "--prefix", "app/.incumbent"],
        &["user", "add", "ada:pw"],
        &["user", "grant-role", "ada", "jobs"],
        &["auth", "enable"],
    ] {
        server.ctl(command);
    }
    let store = team(&server, "ada:pw@").await;
    let ada = candidate(&store, "jobs", "ada").await;
    let (kind, text) = warned(&mut ada.events(), "the prefix \"app/\"").await;
    assert_eq!(kind, FaultKind::Denied);
    assert!(text.contains("may not read"), "{text}");
    drop(soon(ada.next_term()).await.unwrap());
}

#[tokio::test]
async fn a_candidate_that_is_inside_already_says_which_prefix_blocks_it() {
    let server = server().await;
    let others = others(&server).await;
    let ben = leader(&others, "app", "ben").await;
    let mut events = ben.events();
    // A longer prefix inside the election's keys, created after the election.
    server.ctl(&["put", "app/deep/.incumbent", "42"]);
    soon(ben.resign()).await.unwrap();
    let (kind, text) = warned(&mut events, "app/deep/").await;
    assert_eq!(kind, FaultKind::Broken);
    assert!(text.contains("shares keys with the prefix \"app/deep/\" of etcd"), "{text}");
    assert!(!text.contains("delete") && !text.contains("evict"), "{text}");
    let listed = async || soon(others.candidates("app")).await.unwrap().unwrap();
    until(async || listed().await.iter().map(|one| one.name.as_str()).eq(["ben"])).await;
    assert_eq!(soon(others.leader("app")).await.unwrap(), None);
    assert!(!ben.is_leader());
    // Once the key that blocks the election is deleted, the candidate wins.
    server.ctl(&["del", "app/deep/.incumbent"]);
    drop(soon(ben.next_term()).await.unwrap());
}
