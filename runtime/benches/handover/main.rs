//! The cost of an election on NATS, beside the bare client in the same run.
//!
//! Progress goes to standard error; standard output is one JSON array of figures.

#![allow(clippy::expect_used, reason = "a benchmark that cannot go on says why")]

mod bare;
mod cost;
mod fail_over;
mod hand_over;

use std::time::Duration;

use incumbent::store::nats::{InitOptions, NatsSettings, init};
use incumbent_testkit::figure::{Figure, Sample};
use incumbent_testkit::nats::{NatsServer, Options};

/// Hand-overs and bare hand-overs, in turn, so that both see the same machine.
const ROUNDS: usize = 200;
/// The rounds of one side before the other has its turn.
const TURN: usize = 10;
/// Fail-overs with and without markers.
const CRASHES: usize = 8;

#[tokio::main(flavor = "multi_thread", worker_threads = 2)]
async fn main() {
    let server = NatsServer::start(Options::new());
    let mut figures = Vec::new();

    eprintln!("hand-over: {ROUNDS} of ours, {ROUNDS} of the bare client");
    let url = bucket(&server, "HANDOVER", Duration::from_secs(15), false).await;
    let mut ours = hand_over::Pair::start(&url).await;
    let mut bare = bare::Pair::start(&server.url(), "HANDOVER").await;
    let (mut our_times, mut bare_times) = (Sample::default(), Sample::default());
    for _ in 0..ROUNDS / TURN {
        for _ in 0..TURN {
            our_times.add(ours.hand_over().await);
        }
        for _ in 0..TURN {
            bare_times.add(bare.hand_over().await);
        }
    }
    ours.close().await;
    for (percentile, most) in [(50, 1.5), (99, 3.0)] {
        let (our, bare) = (our_times.percentile(percentile), bare_times.percentile(percentile));
        let name = format!("hand-over p{percentile}");
        figures.push(Figure::plain(name.as_str(), our, "ms", ROUNDS).of(&our_times));
        figures.push(Figure::plain(format!("bare {name}"), bare, "ms", ROUNDS).of(&bare_times));
        figures.push(Figure::at_most(format!("{name} / bare"), our / bare, "ratio", most, ROUNDS));
    }

    for (name, bucket_name, markers, allowance) in
        [("with markers", "MARKED", true, 50.0), ("without markers", "PLAIN", false, 150.0)]
    {
        eprintln!("fail-over {name}: {CRASHES} crashes");
        let lease = Duration::from_secs(2);
        let url = bucket(&server, bucket_name, lease, markers).await;
        let (late, granularity) = fail_over::measure(&server.url(), bucket_name, &url, lease, CRASHES).await;
        let most = granularity.as_secs_f64() * 1e3 + allowance;
        let figure = format!("fail-over after a crash, less T, {name}, worst");
        figures.push(Figure::at_most(figure, late.percentile(100), "ms", most, CRASHES));
        let figure = format!("fail-over after a crash, less T, {name}, p50");
        figures.push(Figure::plain(figure, late.percentile(50), "ms", CRASHES).of(&late));
    }

    eprintln!("writes of a leader, alone and with candidates waiting");
    let lease = Duration::from_secs(2);
    let url = bucket(&server, "COST", lease, false).await;
    let cost = cost::writes(&server.url(), "COST", &url, lease).await;
    figures.push(Figure::at_most("writes of a leader", cost.leader, "per T", 3.1, cost.writes));
    figures.push(Figure::at_most("writes of a waiting candidate", cost.candidate, "per T", 0.0, cost.writes));

    eprintln!("is_leader()");
    let (is_leader, clock) = cost::is_leader().await;
    let most = 60.0_f64.max(2.0 * clock.value);
    figures.push(Figure::plain("a clock read", clock.value, "ns", clock.calls));
    figures.push(Figure::at_most("is_leader()", is_leader.value, "ns", most, is_leader.calls));

    println!("{}", serde_json::to_string(&figures).expect("figures are plain data"));
}

/// Makes a bucket, and returns its URL.
async fn bucket(server: &NatsServer, name: &str, lease: Duration, markers: bool) -> String {
    let url = format!("{}/{name}", server.url());
    let settings = NatsSettings::from_url(&url).expect("the test kit's URL is one");
    let options = InitOptions::new(lease).markers(markers).never_used(true);
    init(&settings, &options).await.expect("a new server makes a bucket");
    url
}
