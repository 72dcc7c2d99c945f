//! The keys that a leaving candidate leaves behind, and hand-overs.

use incumbent::{ErrorKind, Reason};

use crate::support::{
    candidate, connect, keys, leader, leases, lost, places, put_foreign, server, servers, soon, until,
    waiting,
};

#[tokio::test]
async fn a_closed_candidate_leaves_no_key_and_a_closed_store_no_lease() {
    for server in servers().await {
        let store = connect(&server).await;
        let ada = leader(&store, "ada").await;
        let ben = waiting(&store, "ben").await;
        soon(ben.close()).await.unwrap();
        soon(ada.close()).await.unwrap();
        assert_eq!(keys(&server), [".incumbent"]);
        soon(store.close()).await.unwrap();
        assert_eq!(leases(&server), 0);
    }
}

#[tokio::test]
async fn a_store_that_is_closed_closes_its_candidates() {
    let server = server().await;
    let store = connect(&server).await;
    let ada = leader(&store, "ada").await;
    let ben = candidate(&store, "ben").await;
    soon(store.close()).await.unwrap();
    assert!(!ada.is_leader() && !ben.is_leader());
    assert_eq!(keys(&server), [".incumbent"]);
    // A lease that was granted too late for the candidate runs out.
    until(async || leases(&server) == 0).await;
}

#[tokio::test]
async fn a_dropped_candidate_leaves_no_key() {
    let server = server().await;
    let store = connect(&server).await;
    drop(leader(&store, "ada").await);
    until(async || keys(&server) == [".incumbent"]).await;
}

#[tokio::test]
async fn a_leader_hands_over_past_candidates_that_step_behind() {
    for server in servers().await {
        let (here, there) = (connect(&server).await, connect(&server).await);
        let ada = leader(&here, "ada").await;
        let ben = waiting(&there, "ben").await;
        let cleo = waiting(&there, "cleo").await;
        let mut events = ada.events();
        let token = ada.term().unwrap().token();
        soon(ada.hand_over("cleo")).await.unwrap();
        assert_eq!(lost(&mut events).await, Reason::HandedOver);
        assert!(soon(cleo.next_term()).await.unwrap().token() > token);
        assert!(!ben.is_leader());
    }
}

#[tokio::test]
async fn a_foreign_candidate_ahead_of_the_successor_is_named_and_the_term_goes_on() {
    let server = server().await;
    let store = connect(&server).await;
    let ada = leader(&store, "ada").await;
    put_foreign(&server, "gopher");
    let ben = waiting(&store, "ben").await;
    let token = ada.term().unwrap().token();
    let refused = soon(ada.hand_over("ben")).await.unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::Unsupported);
    assert_eq!(
        refused.message(),
        "cannot hand over to \"ben\": \"gopher\" arrived before it and keeps its place; the term \
         continues"
    );
    assert!(ada.is_leader() && !ben.is_leader());
    assert_eq!(ada.term().unwrap().token(), token);
    assert_eq!(places(&store).await, ["ada", "gopher", "ben"]);
}

#[tokio::test]
async fn a_hand_over_to_a_candidate_that_is_not_there_is_refused_and_the_term_goes_on() {
    let server = server().await;
    let store = connect(&server).await;
    let ada = leader(&store, "ada").await;
    for name in ["absent", "ada"] {
        let refused = soon(ada.hand_over(name)).await.unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::Unsupported);
        assert!(refused.message().contains("no such candidate is in the queue"), "{refused}");
    }
    assert!(ada.is_leader());
}

#[tokio::test]
async fn only_a_leader_hands_over() {
    let server = server().await;
    let store = connect(&server).await;
    let _ada = leader(&store, "ada").await;
    let ben = waiting(&store, "ben").await;
    assert_eq!(soon(ben.hand_over("ada")).await.unwrap_err().kind(), ErrorKind::NotLeader);
}
