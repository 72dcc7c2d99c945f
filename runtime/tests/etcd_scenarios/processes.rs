//! Faults of a process: candidates that are killed, stopped, and asked to leave.

use incumbent::Clock;
use incumbent_rig::candidate::Order;
use incumbent_rig::probe::Reading;
use incumbent_testkit::etcd::Options;

use crate::actor::TIME_LIMIT;
use crate::bench::*;
use crate::probe::{Probe, never_two};
use crate::process::{Line, Process, never_two_processes};

/// The leader is killed (SIGKILL): the next in the queue leads once its lease is over, with a larger token.
#[tokio::test(flavor = "multi_thread")]
async fn a_leader_that_is_killed_is_followed_when_its_lease_is_over() {
    on_each_version(|version| async move {
        let bench = Bench::with(Options::new().version(version), SHORT).await;
        let mut leader = Process::start(&bench.url(), "a", SHORT);
        let (token, _) = leader.won(None);
        let b = Process::start(&bench.url(), "b", SHORT);
        bench.await_queue(&["a", "b"]);

        leader.kill();
        let killed = now();
        let (next, started) = b.won(Some(token));
        assert!(next > token, "{version}");
        // The companion's lease runs out by itself, after that of the place.
        let vacant = started.since(killed);
        assert!(vacant <= SHORT + REMOVAL * 2 + BUSY, "{version}: vacant for {vacant:?}");
        never_two_processes(&[&leader, &b]);
    })
    .await;
}

/// The leader is stopped gracefully: `Lost` first, then the release, and the next leads at once.
#[tokio::test(flavor = "multi_thread")]
async fn a_leader_that_closes_is_followed_at_once_and_leaves_nothing() {
    let bench = Bench::start(LONG).await;
    let mut leader = Process::start(&bench.url(), "a", LONG);
    let (token, _) = leader.won(None);
    let mut successor = Process::start(&bench.url(), "b", LONG);
    bench.await_queue(&["a", "b"]);

    leader.order(&Order::Close);
    let (next, started) = successor.won(Some(token));
    let (reason, lost) = leader.lost();
    leader.wait_for("the farewell", Process::has_left);
    assert!(leader.child.wait(TIME_LIMIT).success());
    assert_eq!(reason, "CLOSED");
    assert!(next > token);
    assert!(started.since(lost) < BUSY, "vacant for {:?}", started.since(lost));

    successor.order(&Order::Close);
    assert!(successor.child.wait(TIME_LIMIT).success());
    let left = bench.server.ctl(&["get", "--prefix", "--keys-only", PREFIX]);
    let left: Vec<&str> = left.lines().filter(|key| !key.is_empty()).collect();
    assert_eq!(left, ["prod/.incumbent"], "the birth record alone stays");
    never_two_processes(&[&leader, &successor]);
}

/// A store is closed with a leader and a candidate behind it: no lease of theirs is left.
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

/// The leader is stopped (SIGSTOP) for longer than its lease: its first `is_leader()` is already false, with
/// the network cut so that no message can be the cause; then it reports `Lost(Expired)`.
#[tokio::test(flavor = "multi_thread")]
async fn a_leader_that_was_stopped_for_too_long_knows_before_any_io() {
    let bench = Bench::start(SHORT).await;
    let proxy = bench.proxy();
    let sleeper = Process::start(&url(&proxy.address()), "a", SHORT);
    let (token, _) = sleeper.won(None);
    let other = Process::start(&bench.url(), "b", SHORT);
    bench.await_queue(&["a", "b"]);

    sleeper.child.pause();
    let (next, _) = other.won(Some(token));
    proxy.cut();
    let resumed = now();
    sleeper.child.resume();
    assert!(!sleeper.first_answer(resumed), "it still believed it led");
    assert_eq!(sleeper.lost().0, "EXPIRED");
    proxy.heal();
    assert!(next > token);
    never_two_processes(&[&sleeper, &other]);
}

/// The leader is stopped (SIGSTOP) and goes on before its deadline: it is still the leader, and renews.
#[tokio::test(flavor = "multi_thread")]
async fn a_leader_that_was_stopped_for_a_moment_still_leads() {
    let bench = Bench::start(LONG).await;
    let leader = Process::start(&bench.url(), "a", LONG);
    leader.won(None);
    let other = Process::start(&bench.url(), "b", LONG);
    bench.await_queue(&["a", "b"]);

    leader.child.pause();
    let paused = now();
    // A round falls due meanwhile, and most of the lease is left.
    Clock::system().sleep_until(paused + LONG / 3).await;
    let resumed = now();
    leader.child.resume();
    assert!(leader.first_answer(resumed), "it gave up a lease that was not over");
    leader.wait_for("an answer from a lease that was renewed", |line| match line {
        Line::Answer(Reading { leads: Some(_), before, .. }) if *before > paused + LONG => Some(()),
        _ => None,
    });
    assert!(!leader.was_reported_as_lost());
    assert!(!other.has_won());
}

/// A candidate that waits is stopped for longer than its lease: its place is gone when it goes on, it wins nothing by that,
/// and it enters again at the end.
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
    // With the leader gone as well, a candidate that trusts its memory believes that it is next.
    first.candidate.close().await.unwrap();
    last.won(1).await;
    sleeper.child.resume();
    bench.await_queue(&["last", "sleeper"]);
    assert!(!sleeper.has_won());
    never_two([probe.verdict().concat(), sleeper.terms()].concat());
}
