//! A waiting candidate whose process is stopped, and a store that closes.

use crate::bench::*;
use crate::probe::{Probe, never_two};
use crate::process::Process;

/// A store with a leader and a candidate behind it is closed: no lease of either is left.
#[tokio::test(flavor = "multi_thread")]
async fn a_store_that_closes_leaves_no_lease() {
    let bench = Bench::start(LONG).await;
    let store = bench.store().await;
    let first = store.campaign(KEY, options("a", LONG)).await.unwrap();
    drop(first.next_term().await.unwrap());
    let _second = store.campaign(KEY, options("b", LONG)).await.unwrap();
    bench.await_queue(&["a", "b"]);
    store.close().await.unwrap();
    bench.await_queue(&[]);
    assert_eq!(bench.server.ctl(&["lease", "list"]).lines().next(), Some("found 0 leases"));
}

/// A waiting candidate is stopped for longer than its lease. When it continues, its place is gone: the candidate does
/// not win by that, and enters again at the end of the queue.
#[tokio::test(flavor = "multi_thread")]
async fn a_waiting_candidate_whose_place_was_lost_while_it_stood_still_enters_again_at_the_end() {
    let bench = Bench::start(SHORT).await;
    let first = join(&bench.url(), "first", LONG).await;
    first.won(1).await;
    let sleeper = Process::start(&bench.url(), "sleeper", SHORT);
    bench.await_queue(&["first", "sleeper"]);
    let last = join(&bench.url(), "last", LONG).await;
    bench.await_queue(&["first", "sleeper", "last"]);
    let probe = Probe::of(&[&first, &last]);

    sleeper.child.pause();
    bench.await_queue(&["first", "last"]);
    // With the leader gone as well, the stopped candidate would believe that it is next if it trusted its memory.
    first.candidate.close().await.unwrap();
    last.won(1).await;
    sleeper.child.resume();
    bench.await_queue(&["last", "sleeper"]);
    assert!(!sleeper.has_won());
    never_two([probe.verdict().concat(), sleeper.terms()].concat());
}
