//! What the candidates of one election cost a NATS server in an hour, by the server's own counters: writes, requests,
//! messages, bytes and processor time. There are three kinds: our candidates, candidates by the rules of
//! nats-kv-leader-elect, and our candidates if each leads its own election in one bucket.
//!
//! Each candidate has its own connection; up to a thousand share a process. For each kind and each number of candidates
//! there is a separate server. All are measured at the same time, because they mostly wait and do not disturb each
//! other's counts. Progress goes to standard error; standard output is one JSON array of figures. Linux only: it reads
//! `/proc`.
//!
//! The arguments, if any, are the numbers of candidates to measure.

#![allow(clippy::expect_used, reason = "a benchmark that cannot continue reports why")]

#[path = "../shared/bucket.rs"]
mod bucket;
mod ours;
mod server;
#[path = "../shared/settled.rs"]
mod settled;

use std::collections::HashSet;
use std::process::Command;
use std::thread;
use std::time::Duration;

use incumbent_testkit::figure::{self, Figure};
use incumbent_testkit::json::JsonProgram;
use incumbent_testkit::{tools, wait};
use server::{Counters, Server};

/// The numbers of candidates.
const NUMBERS: [usize; 5] = [1, 10, 100, 1_000, 3_000];
/// The most candidates of one election. There are no more, because each of them receives every renewal.
const MOST_OF_ONE: usize = 1_000;
/// The most candidates of one process, because each connection has a thread and some open files.
const IN_A_PROCESS: usize = 1_000;
/// The lease of both sides: our default on NATS, and the shortest lease of nats-kv-leader-elect.
const LEASE: Duration = Duration::from_secs(30);
/// The time for which writes are counted. Its three leases contain nine of our renewals, one every 10 s, and exactly
/// four of the library's, one every 22.5 s.
const COUNTED: Duration = Duration::from_secs(90);
/// The longest time until all candidates wait or lead: the rules spread the first attempts over 22.5 s.
const SETTLING: Duration = Duration::from_secs(180);
/// The time from then until the counting begins, in which the last candidate settles.
const REST: Duration = Duration::from_secs(2);
const ELECTION: &str = "cost";

#[derive(Clone, Copy)]
enum Side {
    Ours,
    Go,
    /// Our candidates, each with its own election.
    Each,
}

impl Side {
    fn name(self) -> &'static str {
        match self {
            Self::Ours => "incumbent",
            Self::Go => "rules of nats-kv-leader-elect",
            Self::Each => "incumbent, an election each",
        }
    }

    /// Starts this many candidates, and returns their processes once each candidate leads or waits.
    fn start(self, server: &Server, number: usize) -> Vec<JsonProgram> {
        let (url, bucket) = (server.url(), server::BUCKET);
        match self {
            Self::Ours | Self::Each => {
                let kind = if matches!(self, Self::Each) { "each" } else { "ours" };
                // The processes start one after another, because two cores cannot open thousands of connections at
                // once.
                let starting = (1..=number).step_by(IN_A_PROCESS).map(|first| {
                    let last = number.min(first + IN_A_PROCESS - 1);
                    let mut command = Command::new(std::env::current_exe().expect("the program has a path"));
                    command.args([kind, &format!("{url}/{bucket}"), ELECTION]);
                    command.args([first.to_string(), last.to_string()]);
                    let program = JsonProgram::on_stdout(command);
                    program.await_event("settled", SETTLING);
                    program
                });
                starting.collect()
            }
            Self::Go => {
                let count = number.to_string();
                let program = tools::go_program("candidate").expect("cargo xtask bench builds it");
                let mut command = Command::new(program);
                command.args(["-url", &url, "-bucket", bucket, "-key", ELECTION, "-name", "go"]);
                command.args(["-candidates", &count]);
                let program = JsonProgram::on_stdout(command);
                wait::until("one to lead and all others to wait", SETTLING, || {
                    let lines = program.lines();
                    let seen: HashSet<_> = lines.iter().filter_map(|line| line["name"].as_str()).collect();
                    seen.len() == number && lines.iter().any(|line| line["event"] == "won")
                });
                vec![program]
            }
        }
    }
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        [kind @ ("ours" | "each"), url, election, first, last] => {
            let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
            let numbers = first.parse().expect("a number")..=last.parse().expect("a number");
            runtime.expect("threads start").block_on(ours::campaign(url, election, kind == "each", numbers));
        }
        _ => {
            let named: Vec<usize> = arguments.iter().filter_map(|argument| argument.parse().ok()).collect();
            let is_wanted = |number: &usize| named.is_empty() || named.contains(number);
            measure(&NUMBERS.into_iter().filter(is_wanted).collect::<Vec<_>>());
        }
    }
}

fn measure(numbers: &[usize]) {
    let settled = |side: Side, number: usize| {
        let server = Server::start(LEASE);
        let candidates = side.start(&server, number);
        (server, candidates)
    };
    eprintln!(
        "{numbers:?} candidates of each side, and a server without candidates; counted over {COUNTED:?}"
    );
    let sides = || {
        let all =
            numbers.iter().flat_map(|number| [Side::Ours, Side::Go, Side::Each].map(|side| (side, *number)));
        all.filter(|(side, number)| *number <= MOST_OF_ONE || matches!(side, Side::Each))
    };
    let running: Vec<(Server, Vec<JsonProgram>)> = thread::scope(|scope| {
        let starting: Vec<_> =
            sides().map(|(side, number)| scope.spawn(move || settled(side, number))).collect();
        starting.into_iter().map(|one| one.join().expect("its candidates wait")).collect()
    });
    let without = Server::start(LEASE);
    thread::sleep(REST);
    eprintln!("all wait or lead");
    let (idle, counted) = thread::scope(|scope| {
        let idle = scope.spawn(|| without.count(COUNTED));
        let counting: Vec<_> =
            running.iter().map(|(server, _)| scope.spawn(|| server.count(COUNTED))).collect();
        let counted: Vec<Counters> =
            counting.into_iter().map(|one| one.join().expect("the server answers")).collect();
        (idle.join().expect("the server answers"), counted)
    });
    let figures: Vec<Figure> =
        sides().zip(counted).flat_map(|((side, number), all)| figures(side, number, &all, &idle)).collect();
    figure::print(&figures);
}

/// The figures of this many candidates in an hour, minus those of an idle server.
fn figures(side: Side, number: usize, all: &Counters, idle: &Counters) -> Vec<Figure> {
    let per_hour = 3600.0 / COUNTED.as_secs_f64();
    let figure = |what: &str, of: fn(&Counters) -> f64, unit: &str| {
        let name = format!("{number} candidates: {what}, {}", side.name());
        Figure::plain(name, (of(all) - of(idle)) * per_hour, unit, number)
    };
    vec![
        figure("writes applied", |counters| counters.writes, "an hour"),
        figure("requests to JetStream", |counters| counters.requests, "an hour"),
        figure("messages to the server", |counters| counters.messages_in, "an hour"),
        figure("messages to candidates", |counters| counters.messages_out, "an hour"),
        figure("bytes to the server", |counters| counters.bytes_in / 1e3, "kB an hour"),
        figure("bytes to candidates", |counters| counters.bytes_out / 1e3, "kB an hour"),
        figure("processor time of the server", |counters| counters.processor, "s an hour"),
    ]
}
