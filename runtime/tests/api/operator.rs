//! An operator's requests to a leader.

use incumbent::incumbent_core::record::Nonce;
use incumbent::store::{HandOver, Memory, MemorySettings};
use incumbent::{Clock, ErrorKind, Reason, State, Store};

use crate::support::{lost, options, soon, until};

fn stores() -> (Memory, Store) {
    let clock = Clock::system();
    let memory = Memory::open(&MemorySettings::private(), &clock).unwrap();
    let store = Store::from_adapter(Box::new(memory.clone()), clock).unwrap();
    (memory, store)
}

async fn nonce_of_the_leader(store: &Store) -> Nonce {
    soon(store.leader("jobs")).await.unwrap().unwrap().nonce.unwrap()
}

#[tokio::test]
async fn a_leader_that_is_asked_hands_over_to_whom_the_operator_names() {
    let (memory, store) = stores();
    let ada = store.campaign("jobs", options("ada")).await.unwrap();
    // No handle of the term is kept, so there is no work to drain.
    let first = soon(ada.next_term()).await.unwrap().token();
    let mut events = ada.events();
    let others = ["ben", "cleo", "dara"].map(|name| store.campaign("jobs", options(name)));
    let others: Vec<_> = soon(futures_util::future::try_join_all(others)).await.unwrap();
    until(|| others.iter().all(|other| other.state() == State::Waiting)).await;
    let request = HandOver { leader: nonce_of_the_leader(&store).await, to: "cleo".into() };
    soon(request.ask(&memory, "jobs")).await.unwrap();
    assert_eq!(lost(&mut events).await, Reason::HandedOver);
    let second = soon(others[1].next_term()).await.unwrap().token();
    assert!(second > first);
    // The request still exists, but it applies to no other candidate, and not twice to the same.
    soon(others[1].close()).await.unwrap();
    until(|| [&ada, &others[0], &others[2]].iter().any(|candidate| candidate.is_leader())).await;
}

#[tokio::test]
async fn a_request_for_another_campaign_is_not_honoured() {
    let (memory, store) = stores();
    let ada = store.campaign("jobs", options("ada")).await.unwrap();
    let token = soon(ada.next_term()).await.unwrap().token();
    let leader = nonce_of_the_leader(&store).await;
    let another = HandOver { leader: Nonce(leader.0 ^ 1), to: "ben".into() };
    soon(another.ask(&memory, "jobs")).await.unwrap();
    // A request for another campaign, and then one for this campaign: only the second ends the term.
    let to_itself = HandOver { leader, to: "ada".into() };
    soon(to_itself.ask(&memory, "jobs")).await.unwrap();
    let revision = soon(store.leader("jobs")).await.unwrap().unwrap().revision;
    // After one more renewal, the candidate has certainly received both requests.
    loop {
        if soon(store.leader("jobs")).await.unwrap().unwrap().revision > revision {
            break;
        }
        tokio::time::sleep(std::time::Duration::from_millis(10)).await;
    }
    assert!(ada.is_leader());
    assert_eq!(ada.term().map(|term| term.token()), Some(token));
    soon(HandOver { leader, to: "ben".into() }.ask(&memory, "jobs")).await.unwrap();
    until(|| !ada.is_leader()).await;
}

#[tokio::test]
async fn the_key_of_a_request_is_no_elections() {
    let (memory, store) = stores();
    let key = HandOver::key("jobs");
    let refused = store.campaign(&key, options("ada")).await.unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::InvalidName);
    assert_eq!(store.leader(&key).await.unwrap_err().kind(), ErrorKind::InvalidName);
    assert_eq!(store.observe(&key).await.unwrap_err().kind(), ErrorKind::InvalidName);
    let request = HandOver { leader: Nonce(1), to: "ben".into() };
    soon(request.ask(&memory, "jobs")).await.unwrap();
    assert_eq!(soon(store.list()).await.unwrap(), []);
}
