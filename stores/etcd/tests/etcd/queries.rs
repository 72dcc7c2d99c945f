//! Observers, lists and properties.

use incumbent::CampaignOptions;

use crate::support::{
    JOBS, candidate, connect, leader, options, places, put_foreign, server, soon, until, waiting,
};

/// The number of watches that a server serves.
const WATCHERS: &str = "etcd_debugging_mvcc_watcher_total";

#[tokio::test]
async fn an_observer_sees_leaders_come_and_go_and_a_vacancy() {
    let server = server().await;
    let (watching, store) = (connect(&server).await, connect(&server).await);
    let mut observer = soon(watching.observe(JOBS)).await.unwrap();
    let mut seen = async || soon(observer.next()).await.unwrap().leader.map(|leader| leader.name);
    assert_eq!(seen().await, None);
    let ada = leader(&store, "ada").await;
    assert_eq!(seen().await.as_deref(), Some("ada"));
    let ben = waiting(&store, "ben").await;
    soon(ada.close()).await.unwrap();
    assert_eq!(seen().await.as_deref(), Some("ben"));
    soon(ben.close()).await.unwrap();
    assert_eq!(seen().await, None);
    put_foreign(&server, "gopher");
    assert_eq!(seen().await.as_deref(), Some("gopher"));
}

#[tokio::test]
async fn candidates_come_in_the_order_of_the_queue_foreign_ones_included() {
    let server = server().await;
    let (here, there) = (connect(&server).await, connect(&server).await);
    let _ada = leader(&here, "ada").await;
    put_foreign(&server, "gopher");
    let _ben = waiting(&there, "ben").await;
    assert_eq!(places(&here).await, ["ada", "gopher", "ben"]);
    let candidates = soon(here.candidates(JOBS)).await.unwrap().unwrap();
    let has_nonce: Vec<_> = candidates.iter().map(|one| one.nonce.is_some()).collect();
    assert_eq!(has_nonce, [true, false, true]);
    assert_eq!(soon(here.all_candidates()).await.unwrap().unwrap().len(), 3);
}

#[tokio::test]
async fn the_leader_of_an_election_is_read_with_its_metadata() {
    let server = server().await;
    let store = connect(&server).await;
    assert_eq!(soon(store.leader(JOBS)).await.unwrap(), None);
    let ada: CampaignOptions = options("ada").metadata("address", "10.0.0.7");
    let ada = soon(store.campaign(JOBS, ada)).await.unwrap();
    drop(soon(ada.next_term()).await.unwrap());
    let leader = soon(store.leader(JOBS)).await.unwrap().unwrap();
    assert_eq!(leader.name, "ada");
    assert_eq!(leader.metadata, [("address".to_owned(), "10.0.0.7".to_owned())]);
    let listed = soon(store.list()).await.unwrap();
    assert_eq!(listed.len(), 1);
    assert_eq!((&*listed[0].election, listed[0].leader.as_ref()), (JOBS, Some(&leader)));
}

#[tokio::test]
async fn many_elections_run_on_one_connection() {
    let server = server().await;
    let store = connect(&server).await;
    let names: Vec<String> = (0..30).map(|number| format!("job-{number:02}")).collect();
    let mut candidates = Vec::new();
    for name in &names {
        candidates.push(soon(store.campaign(name, options("ada"))).await.unwrap());
    }
    until(async || candidates.iter().all(|one| one.is_leader())).await;
    let listed: Vec<_> = soon(store.list()).await.unwrap().into_iter().map(|one| one.election).collect();
    assert_eq!(listed, names);
    soon(store.close()).await.unwrap();
}

#[tokio::test]
async fn an_election_that_no_candidate_and_no_observer_needs_is_watched_no_longer() {
    let server = server().await;
    let store = connect(&server).await;
    let watchers = async |number| until(async || server.gauge(WATCHERS) == number).await;
    let kept = soon(store.observe("kept")).await.unwrap();
    // One watch of the companions of all elections, and one of the places of this election.
    watchers(2).await;
    let mut candidates = Vec::new();
    let mut observers = Vec::new();
    for number in 0..10 {
        let name = format!("job-{number}");
        candidates.push(soon(store.campaign(&name, options("ada"))).await.unwrap());
        observers.push(soon(store.observe(&name)).await.unwrap());
    }
    // A single query does not count as an observer.
    soon(store.leader("asked")).await.unwrap();
    watchers(12).await;
    drop(observers.split_off(5));
    for candidate in &candidates {
        soon(candidate.close()).await.unwrap();
    }
    watchers(7).await;
    drop(observers);
    watchers(2).await;
    drop(kept);
    watchers(1).await;
    soon(store.close()).await.unwrap();
}

#[tokio::test]
async fn the_properties_of_the_store_are_those_of_its_birth_record() {
    let server = server().await;
    let store = connect(&server).await;
    let first = soon(store.store_info()).await.unwrap();
    let again = soon(connect(&server).await.store_info()).await.unwrap();
    assert_eq!(first.incarnation, again.incarnation);
    assert!(store.capabilities().own_lease && store.capabilities().expiry_pushed);
    drop(candidate(&store, "ada").await);
}
