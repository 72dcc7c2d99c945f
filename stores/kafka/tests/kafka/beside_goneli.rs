//! goNELI's own integration tests with candidates of ours, and groups of both.

use std::time::Duration;

use incumbent_testkit::kafka::Kafka;
use incumbent_testkit::kafka::neli::GoNeli;
use incumbent_testkit::tools::KafkaVersion;
use tokio::task::block_in_place;
use tokio::time::timeout;

use crate::support::{LIMIT, Watched, brief, broker, election, leaders, next_term, open, options, until};

#[tokio::test]
async fn four_candidates_that_are_closed_in_order_hand_on_and_never_lead_together() {
    let (broker, jobs) = (broker(), election("four"));
    let mut nodes = Vec::new();
    for number in 1..=4 {
        let store = open(&broker.address(), "?goneli=true").await;
        let candidate = store.campaign(&jobs, options(&format!("node-{number}"))).await.unwrap();
        nodes.push((store, candidate));
        until("one of them leads", async || leaders(nodes.iter().map(|(_, candidate)| candidate)) == 1).await;
    }
    while !nodes.is_empty() {
        let (store, candidate) = nodes.remove(0);
        timeout(LIMIT, store.close()).await.unwrap().unwrap();
        assert!(!candidate.is_leader());
        until("one of the rest leads", async || {
            nodes.is_empty() || leaders(nodes.iter().map(|(_, candidate)| candidate)) == 1
        })
        .await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn candidates_of_ours_and_of_goneli_follow_each_other_in_one_group() {
    follow_each_other(KafkaVersion::Newest).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn so_they_do_on_the_version_that_goneli_s_own_client_can_read() {
    follow_each_other(KafkaVersion::V3_9).await;
}

async fn follow_each_other(version: KafkaVersion) {
    let (broker, jobs) = (Kafka::start(version), election("mixed"));
    broker.admin().create_topic(&format!("{jobs}.neli"), "1", &[]);
    let short = Duration::from_secs(2);
    let start = |name| GoNeli::start(version, &broker.address(), &jobs, name, short, &[]);
    let mut first = start("go-1");
    block_in_place(|| first.received());
    let store = open(&broker.address(), "?goneli=true").await;
    let ada = store.campaign(&jobs, brief("ada")).await.unwrap();
    until("both are members", async || store.candidates(&jobs).await.unwrap().unwrap().len() == 2).await;
    block_in_place(|| first.child().kill());
    drop(next_term(&ada).await);

    let mut second = start("go-2");
    until("both are members", async || store.candidates(&jobs).await.unwrap().unwrap().len() == 2).await;
    timeout(LIMIT, ada.close()).await.unwrap().unwrap();
    block_in_place(|| second.received());
    assert!(!ada.is_leader());
    block_in_place(|| second.close());
}

#[tokio::test(flavor = "multi_thread")]
async fn after_a_goneli_leader_that_is_stopped_or_held_up_one_of_ours_leads_until_it_comes_back() {
    let broker = broker();
    let followed = async |held_up: bool| {
        let jobs = election("back");
        broker.admin().create_topic(&format!("{jobs}.neli"), "1", &[]);
        // The assignor orders members by their ids, which begin with their clients' ids, so goNELI's member is the
        // first.
        let settings = ["client.id=aaa", "max.poll.interval.ms=6000"];
        let short = Duration::from_secs(2);
        let mut go = GoNeli::start(KafkaVersion::Newest, &broker.address(), &jobs, "go", short, &settings);
        block_in_place(|| go.received());
        let stores =
            [open(&broker.address(), "?goneli=true").await, open(&broker.address(), "?goneli=true").await];
        let ada = stores[0].campaign(&jobs, brief("ada")).await.unwrap();
        let ben = stores[1].campaign(&jobs, brief("ben")).await.unwrap();
        let watched = Watched::new(&[&ada, &ben]);
        block_in_place(|| {
            broker.admin().owner(&jobs, 3);
            go.received();
            if held_up { go.block() } else { go.child().pause() }
        });
        watched.one_leads().await;
        block_in_place(|| {
            if held_up {
                go.unblock();
            } else {
                go.child().resume();
            }
            // All three are members again, and goNELI's member owns the partition.
            broker.admin().owner(&jobs, 3);
            go.received();
        });
        until("ours do not lead any more", async || !ada.is_leader() && !ben.is_leader()).await;
        block_in_place(|| go.close());
        watched.one_leads().await;
        watched.never_two();
    };
    tokio::join!(followed(false), followed(true));
}
