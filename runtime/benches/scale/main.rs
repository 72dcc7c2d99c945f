//! Many elections in one process on NATS, beside the bare client that sends the same writes.
//!
//! Each side is a process of its own, this program again, so that its memory and its processor time are its own. Progress
//! goes to standard error; standard output is one JSON array of figures. Linux alone: it reads `/proc`.
//!
//! Numbers of elections as its arguments restrict it to these sizes.

#![allow(clippy::expect_used, reason = "a benchmark that cannot go on says why")]

mod bare;
mod counted;
mod ours;
mod side;

use std::thread::sleep;
use std::time::Duration;

use incumbent::store::nats::{InitOptions, NatsSettings, init};
use incumbent_testkit::figure::{Figure, Sample};
use incumbent_testkit::nats::{NatsServer, Options};
use incumbent_testkit::process::processor_time;
use side::{Side, now};

/// The numbers of elections, and their leases: renewals of a hundred thousand in ten seconds are more than this machine's
/// server takes.
const SIZES: [(u32, Duration); 3] = [
    (1_000, Duration::from_secs(30)),
    (10_000, Duration::from_secs(30)),
    (100_000, Duration::from_secs(300)),
];

/// The number of elections that the goals are about.
const GOALS_AT: u32 = 10_000;

/// The most elections whose fail-over is measured: it takes a lease.
const FAIL_OVER_UP_TO: u32 = 10_000;

/// The time over which processor time is counted: two thirds of the lease of 30 s, in which each leader renews twice.
const REST: Duration = Duration::from_secs(20);

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
    let runtime = runtime.expect("threads start");
    match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["ours", url, elections, name] => runtime.block_on(ours::campaign(url, number(elections), name)),
        ["bare", url, elections, lease] => {
            runtime.block_on(bare::lead(url, number(elections), Duration::from_secs(number(lease).into())));
        }
        ["reads", url, elections] => runtime.block_on(bare::read_and_lead(url, number(elections))),
        _ => {
            let named: Vec<u32> = arguments.iter().filter_map(|argument| argument.parse().ok()).collect();
            let is_wanted = |(size, _): &(u32, Duration)| named.is_empty() || named.contains(size);
            measure(&runtime, SIZES.into_iter().filter(is_wanted));
        }
    }
}

fn number(text: &str) -> u32 {
    text.parse().expect("a number")
}

fn measure(runtime: &tokio::runtime::Runtime, sizes: impl Iterator<Item = (u32, Duration)>) {
    let mut figures = Vec::new();
    for (elections, lease) in sizes {
        let server = NatsServer::start(Options::new());
        let bucket = |name: &str| runtime.block_on(bucket(&server, name, lease));
        figures.extend(one_size(&server, bucket, elections, lease));
    }
    println!("{}", serde_json::to_string(&figures).expect("figures are plain data"));
}

fn one_size(
    server: &NatsServer,
    bucket: impl Fn(&str) -> String,
    elections: u32,
    lease: Duration,
) -> Vec<Figure> {
    let mut figures = Vec::new();
    let samples = elections as usize;
    let has_goals = elections == GOALS_AT;
    let mut figure = |what: &str, value: f64, unit: &'static str, most: Option<f64>| {
        let name = format!("{elections} elections: {what}");
        figures.push(match most.filter(|_| has_goals) {
            Some(most) => Figure::at_most(name, value, unit, most, samples),
            None => Figure::plain(name, value, unit, samples),
        });
    };
    let count = elections.to_string();

    eprintln!("{elections} elections: the bare client");
    let mut bare = Side::start(&["bare", &bucket("BARE"), &count, &lease.as_secs().to_string()]);
    let bare_elected = bare.all_won();
    let bare_rest = bare.cpu_over(REST);
    drop(bare);
    let mut reading = Side::start(&["reads", &bucket("READS"), &count]);
    let read_and_elected = reading.all_won();
    drop(reading);

    eprintln!("{elections} elections: one process that leads them");
    let url = bucket("OURS");
    let mut leader = Side::start(&["ours", &url, &count, "ada"]);
    let empty = leader.memory();
    let elected = leader.all_won();
    let led = leader.memory().saturating_sub(empty);
    let server_before = processor_time(server.pid());
    let rest = leader.cpu_over(REST);
    let server_rest = (processor_time(server.pid()) - server_before).as_secs_f64() / REST.as_secs_f64();
    figure("all led, bare", bare_elected.as_secs_f64() * 1e3, "ms", None);
    figure("all led", elected.as_secs_f64() * 1e3, "ms", None);
    figure("all led / bare", elected.as_secs_f64() / bare_elected.as_secs_f64(), "ratio", Some(1.3));
    let with_all = elected.as_secs_f64() / read_and_elected.as_secs_f64();
    figure("all led / bare with reads and a watch", with_all, "ratio", None);
    figure("memory of one led", led as f64 / f64::from(elections), "bytes", Some(2048.0));
    figure("memory of one led, kept", leader.keeps as f64 / f64::from(elections), "bytes", None);
    figure("processor of the bare client that renews", 100.0 * bare_rest, "% of a core", None);
    figure("processor, led", 100.0 * rest, "% of a core", None);
    figure("processor, led, beyond the bare client", 100.0 * (rest - bare_rest), "% of a core", Some(10.0));
    figure("processor of the server, led", 100.0 * server_rest, "% of a core", None);

    eprintln!("{elections} elections: another process that waits");
    let mut waiter = Side::start(&["ours", &url, &count, "ben"]);
    let empty = waiter.memory();
    waiter.all_wait();
    let waiting = waiter.memory().saturating_sub(empty);
    let rest = waiter.cpu_over(REST);
    figure("memory of one that waits", waiting as f64 / f64::from(elections), "bytes", Some(2048.0));
    figure("memory of one that waits, kept", waiter.keeps as f64 / f64::from(elections), "bytes", None);
    // It observes the leader's renewals.
    figure("processor, waiting beside a leader", 100.0 * rest, "% of a core", Some(2.0));

    if elections <= FAIL_OVER_UP_TO {
        eprintln!("{elections} elections: the leader's process dies");
        let died = now();
        drop(leader);
        let mut late = Sample::default();
        for won in waiter.wins() {
            late.add(won.saturating_sub(died));
        }
        for percent in [50, 99, 100] {
            let of_lease = late.percentile(percent) / (lease.as_secs_f64() * 1e3);
            figure(&format!("led again after a crash, of T, p{percent}"), of_lease, "ratio", None);
        }
    }
    figures
}

/// Makes a bucket for leases of that length, and returns its URL.
async fn bucket(server: &NatsServer, name: &str, lease: Duration) -> String {
    let url = format!("{}/{name}", server.url());
    let settings = NatsSettings::from_url(&url).expect("the test kit's URL is one");
    init(&settings, &InitOptions::new(lease).never_used(true)).await.expect("a new server makes a bucket");
    // The server's first work for the bucket is not measured.
    sleep(Duration::from_millis(200));
    url
}
