//! What an election costs on Kafka, beside two bare consumers on the same client in the same run and on the same broker.
//!
//! Progress goes to standard error; standard output is one JSON array of figures.

#![allow(clippy::expect_used, reason = "a benchmark that cannot go on says why")]

mod bare;
mod cost;
mod fail_over;
mod hand_over;

use std::time::Duration;

use incumbent::{CampaignOptions, Preset, Store};
use incumbent_testkit::figure::{Figure, Sample};
use incumbent_testkit::kafka::Kafka;
use incumbent_testkit::tools::KafkaVersion;

/// Hand-overs of each side, in turn, so that both see the same machine.
const ROUNDS: usize = 25;
/// The rounds of one side before the other has its turn.
const TURN: usize = 5;
/// Leaders that are killed.
const KILLS: usize = 5;
/// The time that a group is given after a new member has joined, on both sides.
const SETTLED: Duration = Duration::from_millis(300);
/// The lease, and with it the session of both sides: three leases, which is the shortest that brokers allow by default.
const LEASE: Duration = Duration::from_secs(2);
const SESSION: Duration = Duration::from_secs(6);
/// The members' heartbeats to the group, on both sides: a member learns of a rebalance by the answer to one.
const HEARTBEAT: Duration = Duration::from_millis(600);
/// The largest ratio of the times of both sides.
const LIMIT: f64 = 1.5;
/// The longest fail-over beyond the session.
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
    // A member that waits learns of a leave by its next heartbeat: both sides leave at all phases between two of them.
    let phase = |round: usize| HEARTBEAT * u32::try_from(round % ROUNDS).expect("few") / ROUNDS as u32;
    for first in (0..ROUNDS).step_by(TURN) {
        for round in first..first + TURN {
            our_times.add(ours.hand_over(phase(round)).await);
        }
        for round in first..first + TURN {
            bare_times.add(tokio::task::block_in_place(|| bare.hand_over(phase(round))));
        }
    }
    ours.close().await;
    drop(bare);
    for (percentile, most) in [(50, Some(LIMIT)), (90, None), (99, None)] {
        let (our, bare) = (our_times.percentile(percentile), bare_times.percentile(percentile));
        eprintln!("p{percentile}: {our:.0} ms, bare {bare:.0} ms");
        let name = format!("hand-over on close p{percentile}");
        figures.push(Figure::plain(name, our, "ms", ROUNDS).of(&our_times));
        let name = format!("bare hand-over p{percentile}");
        figures.push(Figure::plain(name, bare, "ms", ROUNDS).of(&bare_times));
        let (name, ratio) = (format!("hand-over p{percentile} / bare"), our / bare);
        figures.push(match most {
            Some(most) => Figure::at_most(name, ratio, "ratio", most, ROUNDS),
            None => Figure::plain(name, ratio, "ratio", ROUNDS),
        });
    }

    eprintln!("what a leader costs, alone and with candidates waiting");
    figures.extend(cost::measure(&broker.address(), &url(&broker)).await);

    eprintln!("fail-over: {KILLS} leaders are killed");
    let late = fail_over::measure(&url(&broker)).await;
    let most = (SESSION + LATE).as_secs_f64() * 1e3;
    let median = late.percentile(50);
    figures.push(Figure::plain("fail-over after SIGKILL p50", median, "ms", KILLS).of(&late));
    let worst = late.percentile(100);
    figures.push(Figure::at_most("fail-over after SIGKILL, worst", worst, "ms", most, KILLS));

    println!("{}", serde_json::to_string(&figures).expect("figures are plain data"));
}

fn url(broker: &Kafka) -> String {
    format!("kafka://{}", broker.address())
}

fn options(name: &str) -> CampaignOptions {
    CampaignOptions::new().name(name).preset(Preset::Fast).lease(LEASE)
}

/// Waits until the group of an election has so many members and has settled.
async fn settle(store: &Store, election: &str, members: usize) {
    while store.candidates(election).await.ok().flatten().is_none_or(|present| present.len() != members) {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    tokio::time::sleep(HEARTBEAT + SETTLED).await;
}
