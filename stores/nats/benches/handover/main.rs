//! The cost of an election on NATS, compared with the bare client in the same run.
//!
//! Progress goes to standard error; standard output is one JSON array of figures.

#![allow(clippy::expect_used, reason = "a benchmark that cannot continue reports why")]

mod bare;
#[path = "../shared/bucket.rs"]
mod bucket;
mod cost;
mod fail_over;
#[path = "../../../bench/pair.rs"]
mod pair;

use std::time::Duration;

use bucket::bucket;
use incumbent::CampaignOptions;
use incumbent_testkit::drawn::Drawn;
use incumbent_testkit::figure::{self, Figure, Sample, compared};
use incumbent_testkit::nats::{NatsServer, Options};

/// The number of hand-overs of each side, immediately one after another. It is slightly more than a 99th percentile
/// needs.
const HOT: usize = 400;
/// The number of hand-overs of each side with a pause before each. In the pause both processes and the server fall
/// asleep.
const COLD: usize = 40;
/// The shortest pause, and the largest random addition to it.
const PAUSE: Duration = Duration::from_millis(100);
const MORE: Duration = Duration::from_millis(50);
/// The hand-overs of one side before the other side's turn, so that both see the same machine.
const TURN: usize = 10;
/// The largest allowed ratios between the two sides' times: of the medians, and of the 99th percentiles.
const LIMIT: f64 = 1.5;
const LIMIT_OF_P99: f64 = 3.0;
/// Fail-overs with and without markers.
const CRASHES: usize = 3;
/// The time between a NATS server's removals of expired records: the minimum of `resetAgeChk` in its file store.
const SWEEP: Duration = Duration::from_millis(250);

#[tokio::main(flavor = "multi_thread", worker_threads = 2)]
async fn main() {
    let server = NatsServer::start(Options::new());
    let mut drawn = Drawn::of_this_run("pauses before hand-overs and phases of crashes");
    let mut figures = Vec::new();

    let url = bucket(&server, "HANDOVER", Duration::from_secs(15), false).await;
    let mut ours = pair::Pair::start(&url, &CampaignOptions::new(), Duration::ZERO).await;
    let mut bare = bare::Pair::start(&server.url(), "HANDOVER").await;
    for (what, rounds) in [("hot hand-over", HOT), ("cold hand-over", COLD)] {
        eprintln!("{what}: {rounds} of ours, {rounds} of the bare client");
        let (mut our_times, mut bare_times) = (Sample::default(), Sample::default());
        let mut pause = || if rounds == COLD { PAUSE + drawn.below(MORE) } else { Duration::ZERO };
        for _ in 0..rounds / TURN {
            for _ in 0..TURN {
                tokio::time::sleep(pause()).await;
                our_times.add(ours.hand_over().await);
            }
            for _ in 0..TURN {
                tokio::time::sleep(pause()).await;
                bare_times.add(bare.hand_over().await);
            }
        }
        figures.extend(compared(what, &our_times, "bare client", &bare_times, LIMIT));
        if rounds == HOT {
            let ratio = our_times.percentile(99) / bare_times.percentile(99);
            figures.push(Figure::at_most(
                format!("{what} p99 / bare client"),
                ratio,
                "ratio",
                LIMIT_OF_P99,
                rounds,
            ));
        }
    }
    ours.close().await;

    for (name, bucket_name, markers, allowance) in
        [("with markers", "MARKED", true, 50), ("without markers", "PLAIN", false, 150)]
    {
        eprintln!("fail-over {name}: {CRASHES} crashes");
        let lease = Duration::from_secs(2);
        let url = bucket(&server, bucket_name, lease, markers).await;
        let phases: Vec<Duration> = (0..CRASHES).map(|_| drawn.below(SWEEP)).collect();
        eprintln!("records are written at these phases of the server's sweep: {phases:?}");
        let late = fail_over::measure(&server.url(), bucket_name, &url, lease, &phases).await;
        let most = (SWEEP + Duration::from_millis(allowance)).as_secs_f64() * 1e3;
        let name = format!("fail-over after a crash, less T, {name}");
        figures.push(Figure::median(format!("{name}, p50"), &late));
        let worst = late.percentile(100);
        figures.push(Figure::at_most(format!("{name}, worst of a run"), worst, "ms", most, CRASHES));
    }

    eprintln!("writes of a leader, alone and with candidates waiting");
    let lease = Duration::from_secs(2);
    let url = bucket(&server, "COST", lease, false).await;
    let cost = cost::writes(&server.url(), "COST", &url, lease).await;
    figures.push(Figure::bounded("writes of a leader", cost.leader, "per T", 3.1, cost.writes));
    figures.push(Figure::bounded("writes of a waiting candidate", cost.candidate, "per T", 0.0, cost.writes));

    eprintln!("is_leader()");
    let (is_leader, clock) = cost::is_leader().await;
    figures.push(Figure::plain("a clock read", clock.value, "ns", clock.calls));
    figures.push(Figure::at_most("is_leader()", is_leader.value, "ns", 60.0, is_leader.calls));

    figure::print(&figures);
}
