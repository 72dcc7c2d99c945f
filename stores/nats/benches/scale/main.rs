//! Many elections in one process on NATS, compared with two bare clients. One of them sends the same writes, and the
//! other leads with the messages that a candidate must have. `overload` is the same with little processor time, a slow
//! disk and a slow watcher.
//!
//! Each side is a separate process of this program, so that its memory and its processor time can be measured. Progress
//! goes to standard error; standard output is one JSON array of figures. Linux only: it reads `/proc`.
//!
//! The arguments, if any, are the numbers of elections to measure.

#![allow(clippy::expect_used, reason = "a benchmark that cannot continue reports why")]

mod bare;
#[path = "../shared/bucket.rs"]
mod bucket;
mod counted;
mod ours;
mod overload;
#[path = "../shared/settled.rs"]
mod settled;
mod side;

use std::thread::sleep;
use std::time::Duration;

use bucket::bucket;
use incumbent_testkit::figure::{self, Figure, Sample};
use incumbent_testkit::nats::{NatsServer, Options};
use incumbent_testkit::process::processor_time;
use side::{Side, now};
use tokio::runtime::Runtime;

/// The numbers of elections.
const SIZES: [u32; 3] = [1_000, 10_000, 100_000];

/// The lease, our default on NATS.
const LEASE: Duration = Duration::from_secs(30);

/// The number of elections to which the goals apply. One of the goals applies to 100,000 as well.
const GOALS_AT: u32 = 10_000;

/// The name of a ratio: our time from nothing until all elections are led, to the time of a client that does only what
/// safety requires.
const FROM_NOTHING: &str = "time until all elections are led / bare client that watches and inspects";

/// The most elections whose fail-over is measured, because each such measurement takes a lease.
const FAIL_OVER_UP_TO: u32 = 10_000;

/// The time over which processor time is counted: a third of the lease, in which each leader renews once.
const REST: Duration = Duration::from_secs(10);

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
    let runtime = runtime.expect("threads start");
    match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["ours", url, elections, name] => runtime.block_on(ours::campaign(url, number(elections), name)),
        ["bare", url, elections] => runtime.block_on(bare::lead(url, number(elections), LEASE)),
        ["watches", url, elections] => runtime.block_on(bare::watch_and_lead(url, number(elections))),
        ["watcher", url] => runtime.block_on(bare::watch(url)),
        ["overload", ref arguments @ ..] => overload::measure(&runtime, arguments),
        _ => {
            let named: Vec<u32> = arguments.iter().filter_map(|argument| argument.parse().ok()).collect();
            let sizes = if named.is_empty() { SIZES.to_vec() } else { named };
            let figures: Vec<Figure> = sizes.into_iter().flat_map(|size| one_size(&runtime, size)).collect();
            figure::print(&figures);
        }
    }
}

fn number(text: &str) -> u32 {
    text.parse().expect("a number")
}

fn one_size(runtime: &Runtime, elections: u32) -> Vec<Figure> {
    let server = NatsServer::start(Options::new());
    let bucket = |name: &str| {
        let url = runtime.block_on(bucket(&server, name, LEASE, false));
        // Waits for the server's first work for the bucket, which is not measured.
        sleep(Duration::from_millis(200));
        url
    };
    let mut figures = Vec::new();
    let samples = elections as usize;
    let mut figure = |what: &str, value: f64, unit: &'static str, most: Option<f64>| {
        let name = format!("{elections} elections: {what}");
        figures.push(
            match most.filter(|_| elections == GOALS_AT || elections > GOALS_AT && what == FROM_NOTHING) {
                Some(most) => Figure::at_most(name, value, unit, most, samples),
                None => Figure::plain(name, value, unit, samples),
            },
        );
    };
    let count = elections.to_string();

    eprintln!("{elections} elections: the bare client");
    let mut bare = Side::start(&["bare", &bucket("BARE"), &count]);
    let bare_elected = bare.all_won();
    let bare_rest = bare.cpu_over(REST);
    drop(bare);
    let mut watching = Side::start(&["watches", &bucket("WATCHES"), &count]);
    let watched_and_elected = watching.all_won();
    drop(watching);

    eprintln!("{elections} elections: one process that leads them");
    let url = bucket("OURS");
    let mut leader = Side::start(&["ours", &url, &count, "ada"]);
    let empty = leader.memory();
    let elected = leader.all_won();
    let led = leader.memory().saturating_sub(empty);
    let server_before = processor_time(server.pid());
    let rest = leader.cpu_over(REST);
    let server_rest = (processor_time(server.pid()) - server_before).as_secs_f64() / REST.as_secs_f64();
    figure("time until all elections are led, bare client", bare_elected.as_secs_f64() * 1e3, "ms", None);
    figure("time until all elections are led", elected.as_secs_f64() * 1e3, "ms", None);
    figure(
        "time until all elections are led / bare client",
        elected.as_secs_f64() / bare_elected.as_secs_f64(),
        "ratio",
        None,
    );
    figure(
        "time until all elections are led, bare client that watches and inspects",
        watched_and_elected.as_secs_f64() * 1e3,
        "ms",
        None,
    );
    let with_all = elected.as_secs_f64() / watched_and_elected.as_secs_f64();
    let most = if elections <= GOALS_AT { 1.5 } else { 2.0 };
    figure(FROM_NOTHING, with_all, "ratio", Some(most));
    figure("memory of a leading candidate", led as f64 / f64::from(elections), "bytes", None);
    figure(
        "memory of a leading candidate, kept",
        leader.keeps as f64 / f64::from(elections),
        "bytes",
        Some(2048.0),
    );
    figure("processor time of the bare client", 100.0 * bare_rest, "% of a core", None);
    figure("processor time of the leaders' process", 100.0 * rest, "% of a core", None);
    figure(
        "processor time of the leaders' process, less the bare client's",
        100.0 * (rest - bare_rest),
        "% of a core",
        Some(10.0),
    );
    figure("processor time of the server with the leaders", 100.0 * server_rest, "% of a core", None);

    eprintln!("{elections} elections: another process that waits");
    let mut waiter = Side::start(&["ours", &url, &count, "ben"]);
    let empty = waiter.memory();
    waiter.all_wait();
    let waiting = waiter.memory().saturating_sub(empty);
    let rest = waiter.cpu_over(REST);
    figure("memory of a waiting candidate", waiting as f64 / f64::from(elections), "bytes", Some(2048.0));
    figure("memory of a waiting candidate, kept", waiter.keeps as f64 / f64::from(elections), "bytes", None);
    // It observes the leader's renewals.
    figure("processor time of the waiting candidates' process", 100.0 * rest, "% of a core", Some(2.0));

    let mut last = if elections <= FAIL_OVER_UP_TO {
        eprintln!("{elections} elections: the leader's process dies");
        let died = now();
        drop(leader);
        let mut late = Sample::default();
        for won in waiter.wins() {
            late.add(won.saturating_sub(died));
        }
        for percent in [50, 99, 100] {
            let of_lease = late.percentile(percent) / (LEASE.as_secs_f64() * 1e3);
            figure(
                &format!("time until an election is led again after a crash / lease, p{percent}"),
                of_lease,
                "ratio",
                None,
            );
        }
        waiter
    } else {
        drop(waiter);
        leader
    };
    eprintln!("{elections} elections: all are closed");
    let (closed, kept) = last.all_closed();
    let left = last.memory() as f64 / f64::from(elections);
    figure("time until all candidates are closed", closed.as_secs_f64() * 1e3, "ms", None);
    figure("memory kept after all candidates are closed / before", kept, "ratio", Some(1.1));
    figure("memory after all candidates are closed, for each", left, "bytes", None);
    figures
}
