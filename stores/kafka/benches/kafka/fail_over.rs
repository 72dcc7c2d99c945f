//! Fail-over: the leader's process is killed, and a waiting candidate wins.

use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};
use std::time::Instant;

use incumbent::Store;
use incumbent_testkit::figure::Sample;
use incumbent_testkit::process::ChildGuard;

use crate::{KILLS, options, settle};

const ELECTION: &str = "killed";
/// The variable with the URL for a process that is a candidate to be killed.
const ORDER: &str = "INCUMBENT_BENCH_CANDIDATE";

/// The URL if this process is a candidate to be killed.
pub(crate) fn order() -> Option<String> {
    std::env::var(ORDER).ok()
}

/// Campaigns until it is killed.
pub(crate) async fn campaign(url: &str) {
    let store = Store::open(url).await.expect("the broker is up");
    let candidate = store.campaign(ELECTION, options("killed")).await.expect("sound settings");
    let _term = candidate.next_term().await.expect("the campaign continues");
    println!("leads");
    std::future::pending().await
}

/// The times from each kill to the win of the waiting candidate.
pub(crate) async fn measure(url: &str) -> Sample {
    let store = Store::open(url).await.expect("the broker is up");
    let mut times = Sample::default();
    for _ in 0..KILLS {
        let mut command = Command::new(std::env::current_exe().expect("a running program has a path"));
        command.env(ORDER, url).stdout(Stdio::piped());
        let mut child = ChildGuard::spawn(command).expect("a program that can be started");
        let mut lines = BufReader::new(child.take_stdout().expect("it has a standard output"));
        let mut line = String::new();
        tokio::task::block_in_place(|| lines.read_line(&mut line)).expect("it prints that it leads");
        assert_eq!(line, "leads\n");
        let waiter = store.campaign(ELECTION, options("waiter")).await.expect("sound settings");
        settle(&store, ELECTION, 2).await;
        assert!(!waiter.is_leader(), "the killed process leads");
        let killed = Instant::now();
        child.kill();
        drop(waiter.next_term().await.expect("the campaign continues"));
        times.add(killed.elapsed());
        waiter.close().await.expect("closed once");
    }
    store.close().await.expect("closed once");
    times
}
