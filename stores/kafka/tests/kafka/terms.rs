//! Winning and leaving, and what other candidates and observers see of both.

use std::io::Write;
use std::net::TcpListener;
use std::thread;
use std::time::{Duration, Instant};

use incumbent::{ErrorKind, Event, Reason, Store};
use tokio::time::timeout;

use crate::support::{LIMIT, LONG, broker, election, lost, next_term, open, options, until};

#[tokio::test]
async fn the_first_candidate_wins_and_others_see_it() {
    let (broker, jobs) = (broker(), election("first"));
    let (one, other) = (open(&broker.address(), "").await, open(&broker.address(), "").await);
    assert_eq!(other.leader(&jobs).await.unwrap(), None);
    let mut observer = other.observe(&jobs).await.unwrap();
    let ada = one.campaign(&jobs, options("ada").metadata("port", "80")).await.unwrap();
    let term = next_term(&ada).await;
    assert!(ada.is_leader() && term.remaining() <= LONG);
    until("the leader is seen", async || other.leader(&jobs).await.unwrap().is_some()).await;
    let leader = other.leader(&jobs).await.unwrap().unwrap();
    assert_eq!((leader.name.as_str(), leader.metadata), ("ada", vec![("port".into(), "80".into())]));
    let seen =
        async { while observer.next().await.unwrap().leader.is_none_or(|leader| leader.name != "ada") {} };
    timeout(LIMIT, seen).await.expect("an observation");
    let ago = other.written(&jobs).await.unwrap().expect("a heartbeat's age").ago;
    assert!(ago < LIMIT);
    let candidates = other.candidates(&jobs).await.unwrap().unwrap();
    assert_eq!(candidates.iter().map(|one| one.name.as_str()).collect::<Vec<_>>(), ["ada"]);
    assert!(other.list().await.unwrap().iter().any(|listed| listed.election == jobs));
    ada.close().await.unwrap();
    assert!(!ada.is_leader());
    until("the leader is gone", async || other.leader(&jobs).await.unwrap().is_none()).await;
}

#[tokio::test]
async fn a_leader_that_closes_is_followed_at_once_with_a_larger_token() {
    let (broker, jobs) = (broker(), election("close"));
    let (one, other) = (open(&broker.address(), "").await, open(&broker.address(), "").await);
    let ada = one.campaign(&jobs, options("ada")).await.unwrap();
    let first = next_term(&ada).await.token();
    let ben = other.campaign(&jobs, options("ben")).await.unwrap();
    until("both are members", async || other.candidates(&jobs).await.unwrap().unwrap().len() == 2).await;
    assert!(ada.is_leader(), "a cooperative group leaves the leader its partition when another joins");
    let began = Instant::now();
    timeout(LIMIT, one.close()).await.unwrap().unwrap();
    let second = next_term(&ben).await;
    assert!(second.token() > first);
    assert!(began.elapsed() < LONG, "the next term waited for a session: {:?}", began.elapsed());
    timeout(LIMIT, other.close()).await.unwrap().unwrap();
}

#[tokio::test]
async fn a_leader_that_resigns_is_followed_and_campaigns_again() {
    let (broker, jobs) = (broker(), election("resign"));
    let (one, other) = (open(&broker.address(), "").await, open(&broker.address(), "").await);
    let ada = one.campaign(&jobs, options("ada")).await.unwrap();
    let mut events = ada.events();
    drop(next_term(&ada).await);
    let ben = other.campaign(&jobs, options("ben")).await.unwrap();
    until("both are members", async || other.candidates(&jobs).await.unwrap().unwrap().len() == 2).await;
    timeout(LIMIT, ada.resign()).await.unwrap().unwrap();
    drop(next_term(&ben).await);
    assert_eq!(lost(&mut events).await, Reason::Resigned);
    timeout(LIMIT, other.close()).await.unwrap().unwrap();
    drop(next_term(&ada).await);
}

#[tokio::test]
async fn a_hand_over_is_refused_with_the_reason() {
    let (broker, jobs) = (broker(), election("handover"));
    let store = open(&broker.address(), "").await;
    let ada = store.campaign(&jobs, options("ada")).await.unwrap();
    drop(next_term(&ada).await);
    let refused = ada.hand_over("ben").await.unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::Unsupported);
    assert!(refused.message().contains("the group chooses"), "{refused}");
    assert!(ada.is_leader());
}

#[tokio::test]
async fn what_a_group_cannot_keep_is_refused() {
    let broker = broker();
    let store = open(&broker.address(), "?session=7s").await;
    for (election, options, kind) in [
        ("a/b", options("ada"), ErrorKind::InvalidName),
        ("jobs", options("50%"), ErrorKind::InvalidName),
        ("jobs", options("ada"), ErrorKind::InvalidSetting),
    ] {
        assert_eq!(store.campaign(election, options).await.unwrap_err().kind(), kind);
    }
    let one = open(&broker.address(), "?topic=shared").await;
    assert_eq!(one.leader("first").await.unwrap(), None);
    let refused = one.leader("second").await.unwrap_err();
    assert!(refused.message().contains("{group}"), "{refused}");
}

#[tokio::test]
async fn a_missing_topic_is_created_only_where_that_is_wanted() {
    let (broker, jobs) = (broker(), election("missing"));
    let store = open(&broker.address(), "?create=false").await;
    let ada = store.campaign(&jobs, options("ada")).await.unwrap();
    let mut events = ada.events();
    let warned = async {
        loop {
            if let Some(Event::Warning(warning)) = events.next().await {
                return warning.to_string();
            }
        }
    };
    let warning = timeout(LIMIT, warned).await.unwrap();
    assert!(
        warning.contains("does not exist") && warning.contains("prepare the store with this election"),
        "{warning}"
    );
    broker.admin().create_topic(&format!("{jobs}.neli"), "1", &[]);
    drop(next_term(&ada).await);
}

#[tokio::test]
async fn a_cluster_that_does_not_answer_is_an_error_where_that_is_wanted_with_address_and_cause() {
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let other = TcpListener::bind("127.0.0.1:0").unwrap();
    let (of_silent, of_other) = (silent.local_addr().unwrap(), other.local_addr().unwrap());
    thread::spawn(move || {
        for mut stream in other.incoming().flatten() {
            // The client may have disconnected.
            let _ = stream.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n");
        }
    });
    let refused = async |address: String, cause: &str| {
        let url = format!("kafka://{address}/?fail_fast=true");
        let error = timeout(LIMIT, Store::open(&url)).await.unwrap().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::StoreUnavailable);
        assert!(error.message().contains(&address) && error.message().contains(cause), "{error}");
    };
    tokio::join!(
        refused("127.0.0.1:1".into(), "Connection refused"),
        refused(of_silent.to_string(), "did not answer within 3s"),
        refused(of_other.to_string(), "that is not a Kafka broker"),
        refused("no-such-host.invalid:9092".into(), "resolve"),
    );
    drop(silent);
    let late = timeout(Duration::from_secs(2), Store::open("kafka://127.0.0.1:1")).await;
    assert!(late.is_err(), "it waits");
}

#[tokio::test]
async fn an_observer_finds_the_topic_that_is_created_after_its_first_question() {
    let (broker, jobs) = (broker(), election("later"));
    let watching = open(&broker.address(), "").await;
    let leader = async || watching.leader(&jobs).await.unwrap();
    // This takes long enough for several of the reader's attempts, which cannot be observed from outside.
    for _ in 0..50 {
        assert_eq!(leader().await, None);
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    let store = open(&broker.address(), "").await;
    let candidate = store.campaign(&jobs, options("a")).await.unwrap();
    let term = next_term(&candidate).await;
    until("the leader is shown", async || leader().await.is_some()).await;
    drop(term);
    timeout(LIMIT, candidate.close()).await.unwrap().unwrap();
}
