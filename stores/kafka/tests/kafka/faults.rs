//! Crashes, stopped processes, stopped brokers, a recreated topic.

use std::thread;
use std::time::{Duration, Instant};

use incumbent::{Event, Handlers, Reason, Store};
use incumbent_testkit::kafka::{Kafka, Options};
use incumbent_testkit::tools::KafkaVersion;
use tokio::sync::watch;
use tokio::time::timeout;

use crate::process::Pair;
use crate::support::{
    GROUPS, LIMIT, SESSION, brief, broker, election, leaders, lost, next_term, once_released, open, options,
    until,
};

/// Runs `act` on a pair of candidates in a group of each kind, at the same time.
fn in_groups_of_each_kind(name: &str, act: impl Fn(Pair) + Sync) {
    let broker = broker();
    thread::scope(|scope| {
        for parameters in GROUPS {
            let (broker, act) = (&broker, &act);
            scope.spawn(move || act(Pair::start(broker, parameters, &election(name))));
        }
    });
}

#[test]
fn a_killed_leader_is_followed_once_its_session_is_over() {
    in_groups_of_each_kind("kill", |Pair { mut leader, other, token }| {
        let killed = Instant::now();
        leader.kill();
        let next: u64 = other.reports("won ").parse().unwrap();
        let took = killed.elapsed();
        println!("the next term began {took:?} after SIGKILL");
        assert!(took > SESSION / 2, "the next term did not wait for the session: {took:?}");
        assert!(next > token, "{next} after {token}");
    });
}

#[test]
fn a_stopped_leader_does_not_lead_when_it_goes_on() {
    in_groups_of_each_kind("stop", |Pair { leader, other, token }| {
        leader.pause();
        let stopped = Instant::now();
        let next: u64 = other.reports("won ").parse().unwrap();
        println!("the next term began {:?} after SIGSTOP", stopped.elapsed());
        assert!(next > token, "{next} after {token}");
        leader.resume();
        let lost = leader.reports("lost ");
        assert!(lost.ends_with("leads false"), "{lost}");
    });
}

#[tokio::test]
async fn a_store_closes_within_its_limit_while_the_broker_is_stopped() {
    let broker = Kafka::start(KafkaVersion::default());
    let stores = [open(&broker.address(), "").await, open(&broker.address(), "?protocol=consumer").await];
    let jobs = [election("silent"), election("silent")];
    let mut candidates = Vec::new();
    for (store, jobs) in stores.iter().zip(&jobs) {
        candidates.push(store.campaign(jobs, options("ada")).await.unwrap());
    }
    for candidate in &candidates {
        drop(next_term(candidate).await);
    }
    broker.pause();
    let began = Instant::now();
    for closed in futures_util::future::join_all(stores.iter().map(Store::close)).await {
        closed.unwrap();
    }
    let took = began.elapsed();
    println!("closed {took:?} after the broker was stopped");
    // The release takes two seconds and the client ten. The rest is for a busy machine.
    assert!(took < Duration::from_secs(30), "{took:?}");
    assert!(candidates.iter().all(|candidate| !candidate.is_leader()));
    broker.resume();
}

#[tokio::test]
async fn a_crash_of_the_broker_ends_terms_at_their_deadline_and_longer_ones_go_on_after_its_restart() {
    // The cluster admits a returning broker only when the broker's former session is over.
    let options_of_broker = Options::new().setting("broker.session.timeout.ms", "9000");
    let mut broker = Kafka::start_with(options_of_broker);
    let lease = Duration::from_secs(60);
    let (mut short_terms, mut long_terms) = (Vec::new(), Vec::new());
    for parameters in ["", "?protocol=consumer"] {
        let store = open(&broker.address(), parameters).await;
        let one = store.campaign(&election("crash"), brief("ada")).await.unwrap();
        let other = once_released(&store, &election("crash"), options("ben").lease(lease)).await;
        short_terms.push((one, store.clone()));
        long_terms.push((other, store));
    }
    let mut before = Vec::new();
    for (candidate, _) in &short_terms {
        let events = candidate.events();
        before.push((next_term(candidate).await.token(), events));
    }
    let mut terms = Vec::new();
    for (candidate, _) in &long_terms {
        terms.push(next_term(candidate).await);
    }
    broker.kill();
    for (_, events) in &mut before {
        assert_eq!(lost(events).await, Reason::Expired);
    }
    assert!(short_terms.iter().all(|(candidate, _)| !candidate.is_leader()));
    let restarted = tokio::task::spawn_blocking(move || {
        let began = Instant::now();
        broker.restart();
        println!("the broker served again after {:?}", began.elapsed());
        broker
    });
    let _broker = restarted.await.unwrap();
    for ((candidate, _), (token, _)) in short_terms.iter().zip(&before) {
        assert!(next_term(candidate).await.token() > *token);
    }
    for ((candidate, store), term) in long_terms.iter().zip(terms) {
        // The deadline passes this instant only by a heartbeat that is sent after the restart.
        let renewed = store.clock().now() + lease;
        let is_renewed = async || term.deadline() > renewed || !term.is_current();
        until("the long term is renewed", is_renewed).await;
        assert!(candidate.is_leader(), "{}: lost, {:?}", candidate.election(), term.reason());
    }
}

#[tokio::test]
async fn a_leader_is_fenced_while_the_broker_stands_still_and_leads_again_afterwards() {
    let broker = Kafka::start(KafkaVersion::default());
    let jobs = election("away");
    let store = open(&broker.address(), "").await;
    let ada = store.campaign(&jobs, brief("ada")).await.unwrap();
    let first = next_term(&ada).await.token();
    let mut events = ada.events();
    broker.pause();
    assert_eq!(lost(&mut events).await, Reason::Expired);
    assert!(!ada.is_leader());
    broker.resume();
    assert!(next_term(&ada).await.token() > first);
}

#[tokio::test]
async fn a_topic_that_is_made_again_ends_the_term_and_the_tokens_grow() {
    let broker = broker();
    let remade = async |parameters| {
        let jobs = election("remade");
        let store = open(&broker.address(), parameters).await;
        let ada = store.campaign(&jobs, options("ada")).await.unwrap();
        let first = next_term(&ada).await.token();
        let mut events = ada.events();
        let (admin, topic) = (broker.admin(), format!("{jobs}.neli"));
        let made = tokio::task::spawn_blocking(move || {
            admin.delete_topic(&topic);
            admin.create_topic(&topic, "1", &[]);
        });
        made.await.unwrap();
        let reason = lost(&mut events).await;
        // A client may learn of the deletion before the new topic exists.
        assert!(matches!(reason, Reason::StoreReset | Reason::Revoked), "{parameters}: {reason}");
        assert!(next_term(&ada).await.token() > first, "{parameters}");
    };
    tokio::join!(remade(""), remade("?protocol=consumer"));
}

/// The work runs beyond its drain time. The group waits for the member's answer no longer than that time.
#[tokio::test(flavor = "multi_thread")]
async fn a_drain_whose_handler_blocks_ends_at_its_limit_and_the_other_member_leads() {
    let (broker, jobs) = (broker(), election("blocked"));
    let (one, other) =
        (open(&broker.address(), "?goneli=true").await, open(&broker.address(), "?goneli=true").await);
    // The group chooses which of the two candidates is assigned the partition.
    let limit = Duration::from_secs(2);
    let (unblock, blocked) = watch::channel(false);
    let campaign = async |store: &Store, name: &str| {
        let candidate = store.campaign(&jobs, options(name).drain(limit)).await.unwrap();
        let blocked = blocked.clone();
        candidate.attach(Handlers::new().on_draining(move |term, _| {
            let hold = term.hold();
            while !*blocked.borrow() {
                thread::sleep(Duration::from_millis(10));
            }
            drop(hold);
            async {}
        }));
        candidate
    };
    let ada = campaign(&one, "ada").await;
    drop(next_term(&ada).await);
    let mut events = ada.events();
    let ben = campaign(&other, "ben").await;
    let draining = async {
        loop {
            match events.next().await {
                Some(Event::Draining { reason, .. }) => return reason,
                Some(_) => {}
                None => panic!("the candidate is closed, and reported no drain"),
            }
        }
    };
    assert_eq!(timeout(LIMIT, draining).await.unwrap(), Reason::Revoked);
    assert!(!ben.is_leader());
    let began = Instant::now();
    assert_eq!(lost(&mut events).await, Reason::Revoked);
    println!("lost {:?} after the drain began", began.elapsed());
    until("one of them leads", async || leaders([&ada, &ben].into_iter()) == 1).await;
    unblock.send(true).unwrap();
}

/// A handler may block, because polls run on a separate thread.
#[tokio::test(flavor = "multi_thread")]
async fn a_handler_that_blocks_hides_no_removal_from_the_group() {
    let (broker, jobs) = (broker(), election("hidden"));
    let store = open(&broker.address(), "").await;
    let ada = store.campaign(&jobs, options("ada")).await.unwrap();
    let (unblock, blocked) = watch::channel(false);
    ada.attach(Handlers::new().on_won(move |term| {
        while term.is_current() && !*blocked.borrow() {
            thread::sleep(Duration::from_millis(10));
        }
        async {}
    }));
    let first = next_term(&ada).await.token();
    let mut events = ada.events();
    let (admin, group) = (broker.admin(), jobs.clone());
    let removed = tokio::task::spawn_blocking(move || {
        let owner = admin.owner(&group, 1);
        admin.remove(&group, &owner.id);
    });
    removed.await.unwrap();
    assert_eq!(lost(&mut events).await, Reason::Revoked);
    assert!(next_term(&ada).await.token() > first);
    unblock.send(true).unwrap();
}
