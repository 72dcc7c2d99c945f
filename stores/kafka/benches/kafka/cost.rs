//! What leading and waiting cost the brokers per lease: heartbeats in the leader topic, and commits in the topic of all
//! commits.

use std::time::{Duration, Instant};

use incumbent::Store;
use incumbent_testkit::figure::Figure;
use rdkafka::config::ClientConfig;
use rdkafka::consumer::{BaseConsumer, Consumer};

use crate::{LEASE, options, settle};

/// The number of heartbeats that are counted: two leases, each with five.
const COUNTED: i64 = 10;
const WAITING: usize = 5;
/// The topic of all commits, which has one partition on the test kit's broker.
const COMMITS: &str = "__consumer_offsets";

/// The rates in one lease.
struct Rates {
    heartbeats: f64,
    commits: f64,
    counted: usize,
}

/// Counts from one heartbeat to another, so that no partial renewal is counted.
fn count(log: &BaseConsumer, topic: &str) -> Rates {
    let end = |topic| log.fetch_watermarks(topic, 0, Duration::from_secs(10)).expect("the broker answers").1;
    let past = |number: i64| loop {
        let (heartbeats, at) = (end(topic), Instant::now());
        if heartbeats > number {
            // Includes the commit that belongs to the heartbeat.
            std::thread::sleep(LEASE / 10);
            return (heartbeats, end(COMMITS), at);
        }
        std::thread::sleep(Duration::from_millis(5));
    };
    let (heartbeats, commits, began) = past(end(topic));
    let (last, last_commit, ended) = past(heartbeats + COUNTED - 1);
    let leases = (ended - began).as_secs_f64() / LEASE.as_secs_f64();
    let counted = usize::try_from(last - heartbeats).expect("a few");
    Rates {
        heartbeats: (last - heartbeats) as f64 / leases,
        commits: (last_commit - commits) as f64 / leases,
        counted,
    }
}

/// Counts while a leader leads quietly, alone and with others waiting on another connection; then a leader with
/// goNELI's heartbeats.
pub(crate) async fn measure(servers: &str, url: &str) -> Vec<Figure> {
    let log: BaseConsumer = ClientConfig::new()
        .set("bootstrap.servers", servers)
        .set("group.id", "counting")
        .create()
        .expect("sound settings");
    let store = Store::open(url).await.expect("the broker is up");
    let leader = store.campaign("cost", options("leader")).await.expect("sound settings");
    let term = leader.next_term().await.expect("the first candidate wins");
    let counting = |topic| tokio::task::block_in_place(|| count(&log, topic));
    let alone = counting("cost.neli");

    let waiting_store = Store::open(url).await.expect("the broker is up");
    let mut waiting = Vec::new();
    for name in 0..WAITING {
        let name = format!("waiting-{name}");
        waiting.push(waiting_store.campaign("cost", options(&name)).await.expect("sound settings"));
    }
    settle(&store, "cost", WAITING + 1).await;
    let together = counting("cost.neli");
    assert!(term.is_current(), "the leader lost its term during the count");
    drop(term);
    waiting_store.close().await.expect("closed once");
    store.close().await.expect("closed once");

    let store = Store::open(&format!("{url}/?goneli=true")).await.expect("the broker is up");
    let leader = store.campaign("goneli", options("leader")).await.expect("sound settings");
    let _term = leader.next_term().await.expect("the first candidate wins");
    let goneli = counting("goneli.neli");
    store.close().await.expect("closed once");

    // There are five heartbeats per lease. Timers fire late, never early. Between two readings, which are two leases
    // apart, one more commit may fall: half of one per lease.
    let at_most = |name: &str, value, most, counted| Figure::bounded(name, value, "per T", most, counted);
    let plain = |name: &str, value, counted| Figure::plain(name, value, "per T", counted);
    vec![
        at_most("heartbeats of a leader", alone.heartbeats, 5.3, alone.counted),
        at_most("commits of a leader", alone.commits, 5.8, alone.counted),
        at_most("heartbeats while five wait", together.heartbeats, 5.3, together.counted),
        at_most("commits while five wait", together.commits, 5.8, together.counted),
        plain("heartbeats with goneli=true", goneli.heartbeats, goneli.counted),
        plain("commits with goneli=true", goneli.commits, goneli.counted),
    ]
}
