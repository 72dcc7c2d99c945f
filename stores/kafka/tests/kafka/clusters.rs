//! A cluster of three brokers. The coordinator of the group and the leader of the log crash, are stopped, and are cut
//! off, together and each alone.

use std::time::{Duration, Instant};

use incumbent::{Candidate, Events, Reason, Store, Token};
use incumbent_testkit::kafka::admin::Admin;
use incumbent_testkit::kafka::{KafkaCluster, Options};
use incumbent_testkit::wait;
use tokio::task::block_in_place;

use crate::support::{LIMIT, Watched, brief, election, lost, next_term, once_released, open, options, until};

/// An election, and the indices of the brokers that coordinate its group and lead its log.
struct Placed {
    election: String,
    coordinator: usize,
    log: usize,
}

/// An election whose group is coordinated by one broker, and whose log is led by another.
fn apart(cluster: &KafkaCluster, name: &str) -> Placed {
    let (admin, election) = (cluster.admin(), election(name));
    let coordinator = admin.coordinator(&election);
    let (log, third) = (coordinator % 3 + 1, (coordinator + 1) % 3 + 1);
    admin.create_topic(&format!("{election}.neli"), &format!("{log},{third},{coordinator}"), &[]);
    Placed { election, coordinator: coordinator - 1, log: log - 1 }
}

fn whole(cluster: &KafkaCluster, election: &str) {
    let in_sync = |topic: &str| {
        let topic = cluster.admin().topic(topic).unwrap();
        topic["partitions"][0]["in_sync"].as_array().unwrap().len()
    };
    wait::until("all replicas to be in sync", LIMIT, || {
        in_sync(&format!("{election}.neli")) == 3 && in_sync("__consumer_offsets") == 3
    });
}

#[tokio::test(flavor = "multi_thread")]
async fn a_term_outlives_the_crash_of_its_coordinator_and_then_of_its_logs_leader() {
    let mut cluster = block_in_place(|| KafkaCluster::start_with(3, Options::new()));
    let placed = block_in_place(|| apart(&cluster, "crash"));
    let lease = Duration::from_secs(40);
    let store = open(&cluster.addresses(), "").await;
    let ada = once_released(&store, &placed.election, options("ada").lease(lease)).await;
    let modern = open(&cluster.addresses(), "?protocol=consumer").await;
    let ben = once_released(&modern, &election("crash"), options("ben").lease(lease)).await;
    let remade = block_in_place(|| apart(&cluster, "remade"));
    let bare = open(&cluster.addresses(), "?create=false").await;
    let eve = bare.campaign(&remade.election, brief("eve")).await.unwrap();
    let terms = [next_term(&ada).await, next_term(&ben).await];
    for broker in [placed.coordinator, placed.log] {
        cluster[broker].kill();
        // The deadline passes this instant only by a heartbeat that is sent and a commit that is acknowledged after the
        // crash.
        let renewed = store.clock().now() + lease;
        for term in &terms {
            until("the lease is renewed", async || term.deadline() > renewed || !term.is_current()).await;
            assert!(term.is_current(), "lost: {:?}", term.reason());
        }
        block_in_place(|| {
            cluster[broker].restart();
            whole(&cluster, &placed.election);
        });
    }
    // Several brokers have led the log, one after the other. The new topic begins with another leader and a smaller
    // epoch.
    let before = next_term(&eve).await.token();
    let topic = format!("{}.neli", remade.election);
    block_in_place(|| {
        let admin = cluster.admin();
        let leader = admin.leader_of_log(&topic);
        let replicas = [1, 2, 3].map(|step| ((leader + step) % 3 + 1).to_string());
        admin.delete_topic(&topic);
        admin.create_topic(&topic, &replicas.join(","), &[]);
    });
    let made = Instant::now();
    let leads_again = async || eve.term().is_some_and(|term| term.is_current() && term.token() > before);
    until("a term in the new topic", leads_again).await;
    println!("a leader {:?} after the topic was made again", made.elapsed());
}

/// A group with a leader and another member, which are constantly checked.
struct Two {
    election: String,
    watched: Watched,
    /// The leader.
    ada: Candidate,
    events: Events,
    first: Token,
    /// The other member.
    ben: Candidate,
    _stores: [Store; 2],
}

impl Two {
    async fn start(election: String, parameters: &str, way_of_ada: &str, way_of_ben: &str) -> Self {
        let (one, other) = (open(way_of_ada, parameters).await, open(way_of_ben, parameters).await);
        let ada = one.campaign(&election, brief("ada")).await.unwrap();
        let events = ada.events();
        let first = next_term(&ada).await.token();
        let ben = other.campaign(&election, brief("ben")).await.unwrap();
        let admin = Admin::new(way_of_ben);
        block_in_place(|| admin.owner(&election, 2));
        let watched = Watched::new(&[&ada, &ben]);
        Self { election, watched, ada, events, first, ben, _stores: [one, other] }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_leader_that_is_cut_off_from_its_coordinator_only_stops_at_its_deadline_and_another_leads() {
    let cluster = block_in_place(|| KafkaCluster::start_with(3, Options::new().routes(1)));
    let mut groups = Vec::new();
    let mut coordinators = Vec::new();
    for parameters in ["", "?protocol=consumer"] {
        let placed = block_in_place(|| apart(&cluster, "cut"));
        coordinators.push(placed.coordinator);
        groups.push(Two::start(placed.election, parameters, &cluster.route(0), &cluster.addresses()).await);
    }
    // All commits are in one partition, so all groups have the same coordinator.
    assert_eq!(coordinators[0], coordinators[1]);
    // The leader is cut off from the coordinator, but its records still reach the log.
    cluster[coordinators[0]].proxy(0).cut();
    for group in &mut groups {
        // The reason is `Revoked` only if this process stalled for a session.
        assert!(matches!(lost(&mut group.events).await, Reason::Expired | Reason::Revoked));
        assert!(next_term(&group.ben).await.token() > group.first);
        assert!(!group.ada.is_leader());
    }
    cluster[coordinators[0]].proxy(0).heal();
    for group in &groups {
        block_in_place(|| cluster.admin().owner(&group.election, 2));
        group.watched.one_leads().await;
        group.watched.never_two();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_broker_that_stood_still_and_goes_on_makes_no_second_leader() {
    let cluster = block_in_place(|| KafkaCluster::start_with(3, Options::new()));
    let (admin, addresses) = (cluster.admin(), cluster.addresses());
    let mut groups = Vec::new();
    let still = block_in_place(|| admin.coordinator("still"));
    for parameters in ["", "?protocol=consumer"] {
        let election = election("still");
        // The same broker is the coordinator of the group and the leader of the log.
        let replicas = format!("{still},{},{}", still % 3 + 1, (still + 1) % 3 + 1);
        block_in_place(|| admin.create_topic(&format!("{election}.neli"), &replicas, &[]));
        groups.push(Two::start(election, parameters, &addresses, &addresses).await);
    }
    cluster[still - 1].pause();
    let mut tokens = Vec::new();
    for group in &mut groups {
        // The lease runs out after 2 s, before the brokers give up silent members after 6 s.
        assert_eq!(lost(&mut group.events).await, Reason::Expired);
        let term = group.watched.one_leads().await.term();
        // The term may have ended again by now, if the machine stalled.
        let token = term.map_or(group.first, |term| term.token());
        assert!(token >= group.first);
        tokens.push(token);
    }
    cluster[still - 1].resume();
    for (group, before) in groups.iter().zip(tokens) {
        block_in_place(|| whole(&cluster, &group.election));
        let term = group.watched.one_leads().await.term();
        assert!(term.is_none_or(|term| term.token() >= before), "tokens grow");
        group.watched.never_two();
    }
}
