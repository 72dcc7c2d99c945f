//! An operator's requests and unconditional writes.

use incumbent::incumbent_core::record::Nonce;
use incumbent::store::{AcceptReset, HandOver, StoreAdmin, StoreSettings};
use incumbent::{Event, Reason, Store, Token, Warning};
use incumbent_testkit::etcd::EtcdServer;

use crate::support::{
    JOBS, LEASE, connect, leader, lost, places, put_foreign, server, soon, until, url, waiting,
};

async fn admin(server: &EtcdServer, store: &Store) -> Box<dyn StoreAdmin> {
    let settings: StoreSettings = url(server).parse().unwrap();
    settings.operate(store.clock()).await.unwrap()
}

async fn nonce_of_the_leader(store: &Store) -> Nonce {
    soon(store.leader(JOBS)).await.unwrap().unwrap().nonce.unwrap()
}

#[tokio::test]
async fn a_leader_hands_over_to_the_candidate_that_an_operator_names() {
    let server = server().await;
    let store = connect(&server).await;
    let ada = leader(&store, "ada").await;
    let ben = waiting(&store, "ben").await;
    let cleo = waiting(&store, "cleo").await;
    let admin = admin(&server, &store).await;
    let leader = nonce_of_the_leader(&store).await;
    let mut events = ada.events();
    // A request for another campaign is not honoured.
    let another = HandOver { leader: Nonce(leader.0 ^ 1), to: "ben".into() };
    soon(another.ask(&*admin, JOBS)).await.unwrap();
    soon(HandOver { leader, to: "cleo".into() }.ask(&*admin, JOBS)).await.unwrap();
    assert_eq!(lost(&mut events).await, Reason::HandedOver);
    drop(soon(cleo.next_term()).await.unwrap());
    assert!(!ben.is_leader());
}

#[tokio::test]
async fn a_request_that_stood_before_the_watch_is_honoured() {
    let mut server = server().await;
    let store = connect(&server).await;
    let ada = leader(&store, "ada").await;
    let ben = waiting(&store, "ben").await;
    let mut events = ada.events();
    let admin = admin(&server, &store).await;
    let leader = nonce_of_the_leader(&store).await;
    // The watch ends with the server; the leader's lease does not.
    server.restart();
    soon(HandOver { leader, to: "ben".into() }.ask(&*admin, JOBS)).await.unwrap();
    let reason = lost(&mut events).await;
    // If the restart takes a whole lease on a busy machine, the term rightly expires.
    assert!(matches!(reason, Reason::HandedOver | Reason::Expired), "{reason:?}");
    drop(soon(ben.next_term()).await.unwrap());
}

#[tokio::test]
async fn an_evicted_leader_loses_its_term_and_the_next_candidate_follows() {
    let server = server().await;
    let store = connect(&server).await;
    let ada = leader(&store, "ada").await;
    let ben = waiting(&store, "ben").await;
    let (token, mut events) = (ada.term().unwrap().token(), ada.events());
    let admin = admin(&server, &store).await;
    soon(admin.delete(JOBS)).await.unwrap();
    assert_eq!(lost(&mut events).await, Reason::Deleted);
    assert!(soon(ben.next_term()).await.unwrap().token() > token);
    until(async || places(&store).await == ["ben", "ada"]).await;
}

#[tokio::test]
async fn a_candidate_that_stays_out_campaigns_again_once_an_operator_accepts_the_reset() {
    let server = server().await;
    let store = connect(&server).await;
    let ada = leader(&store, "ada").await;
    let mut events = ada.events();
    // After this, tokens are smaller than the token seen before, because their incarnation is older.
    server.ctl(&["put", ".incumbent", "1"]);
    let barred_by: Token = loop {
        if let Event::Warning(Warning::StoreReset { seen, barred: true, .. }) =
            soon(events.next()).await.unwrap()
        {
            break seen.unwrap();
        }
    };
    assert!(!ada.is_leader());
    let incarnation = soon(store.store_info()).await.unwrap().incarnation;
    let admin = admin(&server, &store).await;
    let acceptance = AcceptReset { seen: barred_by, incarnation };
    // A candidate that has not yet inspected the replaced store ignores the request, so the request is repeated.
    let term = loop {
        soon(acceptance.ask(&*admin, JOBS)).await.unwrap();
        if let Ok(term) = tokio::time::timeout(LEASE * 2, ada.next_term()).await {
            break term.unwrap();
        }
    };
    assert!(term.token() < barred_by);
    assert_eq!(term.token().incarnation, incarnation);
}

#[tokio::test]
async fn a_request_that_cannot_be_met_leaves_the_leader_in_place() {
    let server = server().await;
    let store = connect(&server).await;
    let ada = leader(&store, "ada").await;
    put_foreign(&server, "gopher");
    let ben = waiting(&store, "ben").await;
    let token = ada.term().unwrap().token();
    let leader = nonce_of_the_leader(&store).await;
    let admin = admin(&server, &store).await;
    let asked = HandOver { leader, to: "ben".into() };
    let revision = soon(asked.ask(&*admin, JOBS)).await.unwrap();
    assert!(revision.0 > 0);
    // The refusal of a later command shows that the request was considered and that the leader is still in its term.
    assert!(soon(ada.hand_over("ben")).await.unwrap_err().message().contains("gopher"));
    assert!(ada.is_leader() && !ben.is_leader());
    assert_eq!(ada.term().unwrap().token(), token);
}
