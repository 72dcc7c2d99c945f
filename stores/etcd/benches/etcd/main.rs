//! What an election costs on etcd, compared with etcd's own Go client in the same run and on the same server.
//!
//! Progress goes to standard error; standard output is one JSON array of figures.

#![allow(clippy::expect_used, reason = "a benchmark that cannot continue reports why")]

mod cost;
mod go;
#[path = "../../../bench/pair.rs"]
mod pair;

use std::time::Duration;

use incumbent::CampaignOptions;
use incumbent::store::Settings as _;
use incumbent::store::etcd::{EtcdSettings, init};
use incumbent_testkit::etcd::{EtcdServer, Options};
use incumbent_testkit::figure::{self, Sample, compared};

/// The number of hand-overs of each side. The sides take turns, so that both see the same machine.
const ROUNDS: usize = 40;
/// The hand-overs of one side before the other side's turn.
const TURN: usize = 10;
/// The time between a new waiter's start and the leader's leaving, on both sides. The server registers a watch of the
/// Go client within 100 ms.
const SETTLED: Duration = Duration::from_millis(150);
/// The leases of both sides during hand-overs.
const LEASE: Duration = Duration::from_secs(15);
/// The largest accepted ratio of our time for a hand-over to the Go client's.
const LIMIT: f64 = 1.3;

#[tokio::main(flavor = "multi_thread", worker_threads = 2)]
async fn main() {
    let server = EtcdServer::start(Options::new());
    let mut figures = Vec::new();

    eprintln!("hand-over: {ROUNDS} of ours, {ROUNDS} of the Go client");
    let url = new_prefix(&server, "ours").await;
    let mut ours = pair::Pair::start(&url, &CampaignOptions::new().lease(LEASE), SETTLED).await;
    let mut go = go::Pair::start(&server.address(), "go/jobs");
    let (mut our_times, mut go_times) = (Sample::default(), Sample::default());
    for _ in 0..ROUNDS / TURN {
        for _ in 0..TURN {
            our_times.add(ours.hand_over().await);
        }
        go_times.extend(go.hand_over(TURN));
    }
    ours.close().await;
    go.close();
    figures.extend(compared("hand-over", &our_times, "Go", &go_times, LIMIT));

    eprintln!("what a leader costs, alone and with candidates waiting");
    let url = new_prefix(&server, "cost").await;
    figures.extend(cost::measure(&server, &url).await);

    figure::print(&figures);
}

/// The URL of elections under a prefix that was never used, so that the first leader need not wait.
async fn new_prefix(server: &EtcdServer, name: &str) -> String {
    let url = format!("etcd://{}/{name}", server.address());
    let settings = EtcdSettings::from_url(&url).expect("the test kit's address is one");
    init(&settings, true).await.expect("a new server takes the record");
    url
}
