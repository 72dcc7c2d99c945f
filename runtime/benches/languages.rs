//! The time that a Rust program waits, for comparison with the programs of other languages that `cargo xtask bench
//! languages` measures. All make the same calls, and read the same events of the same scripted election.
//!
//! Progress goes to standard error; standard output is one JSON array of figures.

#![allow(clippy::expect_used, clippy::panic, reason = "a benchmark that cannot continue reports why")]

use std::hint::black_box;
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use incumbent::incumbent_core::Revision;
use incumbent::testing::ScriptedElection;
use incumbent::{Candidate, Clock, Event, Leader};
use incumbent_testkit::figure::{self, Figure, Sample};

/// The number of calls in a run, and the number of runs. Only the quickest run counts.
const CALLS: u32 = 10_000;
const RUNS: usize = 100;
/// The number of events, and the number of first events that are not counted because code is loaded and compiled
/// meanwhile.
const EVENTS: usize = 2_000;
const WARM: usize = 500;
/// The time after which a reader is idle, as a program's reader usually is.
const IDLE: Duration = Duration::from_millis(1);

#[tokio::main]
async fn main() {
    eprintln!("    Rust");
    let (election, candidate) = ScriptedElection::new("jobs", "candidate", Clock::system());
    election.acquire();
    let term = candidate.term().expect("it leads");
    let is_leader = nanoseconds(|| candidate.is_leader());
    let is_current = nanoseconds(|| term.is_current());
    drop(term);
    let events = events(election, &candidate).await;
    let event = |percent| 1e3 * events.percentile(percent);
    let figures = [
        Figure::plain("is_leader()", is_leader, "ns", RUNS),
        Figure::plain("term.is_current()", is_current, "ns", RUNS),
        Figure::plain("an event, p50", event(50), "µs", events.len()),
        Figure::plain("an event, p99", event(99), "µs", events.len()),
    ];
    figure::print(&figures);
}

/// The time of one call, in the quickest of many short runs.
fn nanoseconds(call: impl Fn() -> bool) -> f64 {
    let run = || {
        let began = Instant::now();
        for _ in 0..CALLS {
            assert!(black_box(call()), "it leads all the time");
        }
        began.elapsed().as_secs_f64() * 1e9 / f64::from(CALLS)
    };
    (0..RUNS).map(|_| run()).fold(f64::INFINITY, f64::min)
}

/// The times from another thread's report of a leader until the reader has the event.
async fn events(election: ScriptedElection, candidate: &Candidate) -> Sample {
    let origin = Instant::now();
    let (ready, wanted) = mpsc::channel::<()>();
    let cause = thread::spawn(move || {
        for () in wanted {
            thread::sleep(IDLE);
            let name = origin.elapsed().as_nanos().to_string();
            let leader = Leader { name, nonce: None, revision: Revision(1), metadata: Vec::new() };
            election.leader(Some(leader));
        }
    });
    let mut events = candidate.events();
    let mut times = Sample::default();
    for count in 0..EVENTS {
        ready.send(()).expect("the other thread runs");
        let sent = loop {
            if let Event::LeaderChanged(Some(leader)) = events.next().await.expect("events continue") {
                break Duration::from_nanos(leader.name.parse().expect("the name is a reading"));
            }
        };
        let took = origin.elapsed() - sent;
        if count >= WARM {
            times.add(took);
        }
    }
    drop(ready);
    cause.join().expect("the other thread ends");
    times
}
