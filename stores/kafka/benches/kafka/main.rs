//! What an election costs on Kafka, compared with two bare consumers on the same client in the same run and on the same
//! broker.
//!
//! Progress goes to standard error; standard output is one JSON array of figures.

#![allow(clippy::expect_used, reason = "a benchmark that cannot continue reports why")]

mod bare;
mod cost;
mod fail_over;
mod hand_over;

use std::time::Duration;

use incumbent::{CampaignOptions, Preset, Store};
use incumbent_testkit::drawn::Drawn;
use incumbent_testkit::figure::{self, Figure, Sample, compared};
use incumbent_testkit::kafka::Kafka;
use incumbent_testkit::tools::KafkaVersion;

/// The number of hand-overs of each side. The sides take turns, so that both see the same machine.
const ROUNDS: usize = 5;
/// Leaders that are killed.
const KILLS: usize = 1;
/// The time for a group to settle after a new member has joined, on both sides.
const SETTLED: Duration = Duration::from_millis(300);
/// The lease of our candidates. Both sides' session is three leases long, the shortest that brokers allow by default.
const LEASE: Duration = Duration::from_secs(2);
const SESSION: Duration = Duration::from_secs(6);
/// The interval of the members' heartbeats to the group, on both sides. The answer to a heartbeat tells a member of a
/// rebalance.
const HEARTBEAT: Duration = Duration::from_millis(600);
/// The largest accepted ratio of our time for a hand-over to the consumers'.
const LIMIT: f64 = 1.5;
/// The longest accepted time from the end of the session to the win.
const LATE: Duration = Duration::from_secs(2);

#[tokio::main(flavor = "multi_thread", worker_threads = 2)]
async fn main() {
    if let Some(order) = fail_over::order() {
        return fail_over::campaign(&order).await;
    }
    let broker = Kafka::start(KafkaVersion::Newest);
    let mut figures = Vec::new();

    eprintln!("hand-over on close: {ROUNDS} of ours, {ROUNDS} of bare consumers");
    broker.admin().create_topic("bare", "1", &[]);
    let mut ours = hand_over::Pair::start(&url(&broker)).await;
    let mut bare = bare::Pair::start(&broker.address(), "bare");
    let (mut our_times, mut bare_times) = (Sample::default(), Sample::default());
    // A waiting member learns of another member's leave by its own next heartbeat, so both sides leave at the same
    // random phases between two heartbeats.
    let mut drawn = Drawn::of_this_run("phases between two heartbeats");
    for _ in 0..ROUNDS {
        let phase = drawn.below(HEARTBEAT);
        our_times.add(ours.hand_over(phase).await);
        bare_times.add(tokio::task::block_in_place(|| bare.hand_over(phase)));
    }
    ours.close().await;
    drop(bare);
    figures.extend(compared("hand-over on close", &our_times, "bare consumer", &bare_times, LIMIT));

    eprintln!("what a leader costs, alone and with candidates waiting");
    figures.extend(cost::measure(&broker.address(), &url(&broker)).await);

    eprintln!("fail-over: {KILLS} leaders are killed");
    let late = fail_over::measure(&url(&broker)).await;
    let most = (SESSION + LATE).as_secs_f64() * 1e3;
    figures.push(Figure::median("fail-over after SIGKILL p50", &late));
    let worst = late.percentile(100);
    figures.push(Figure::at_most("fail-over after SIGKILL, worst of a run", worst, "ms", most, KILLS));

    figure::print(&figures);
}

fn url(broker: &Kafka) -> String {
    format!("kafka://{}", broker.address())
}

fn options(name: &str) -> CampaignOptions {
    CampaignOptions::new().name(name).preset(Preset::Fast).lease(LEASE)
}

/// Waits until the group of an election has this many members and has settled.
async fn settle(store: &Store, election: &str, members: usize) {
    while store.candidates(election).await.ok().flatten().is_none_or(|present| present.len() != members) {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    tokio::time::sleep(HEARTBEAT + SETTLED).await;
}
