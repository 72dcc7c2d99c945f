//! Faults of a process: leaders that are killed, stopped, and asked to leave.

use std::time::Duration;

use incumbent::Clock;
use incumbent_rig::candidate::Order;
use incumbent_rig::probe::Reading;

use crate::actor::TIME_LIMIT;
use crate::bench::*;
use crate::process::{Line, Process, never_two_processes, next_leader};

/// The leader is killed (SIGKILL). Another candidate leads once the leader's lease is over, with a larger token.
#[tokio::test(flavor = "multi_thread")]
async fn a_leader_that_is_killed_is_followed_when_its_lease_is_over() {
    on_each(SHORT, |bench| async move {
        let start = |name| Process::start(&bench.url(), name, SHORT);
        let mut leader = start("a");
        let (token, _) = leader.won(None);
        let b = start("b");
        bench.await_joined(&["a", "b"]);
        let c = start("c");
        bench.await_joined(&["a", "b", "c"]);

        leader.kill();
        let killed = now();
        let (_, next, started) = next_leader(&[&b, &c], token);
        assert!(next > token);
        let deadline = leader.terms().last().map(|term| term.evidence.deadline).expect("it led");
        assert!(started >= deadline, "{:?} before the deadline", deadline.since(started));
        assert!(started <= killed + followed_within(SHORT), "vacant for {:?}", started.since(killed));
        never_two_processes(&[&leader, &b, &c]);
    })
    .await;
}

/// The leader is closed: `Lost` comes first, then the release, and the successor leads at once.
#[tokio::test(flavor = "multi_thread")]
async fn a_leader_that_closes_is_followed_at_once() {
    let bench = Bench::start(LONG).await;
    let mut leader = Process::start(&bench.url(), "a", LONG);
    let (token, _) = leader.won(None);
    let successor = Process::start(&bench.url(), "b", LONG);
    bench.await_joined(&["a", "b"]);

    leader.order(&Order::Close);
    let (_, next, started) = next_leader(&[&successor], token);
    let (reason, lost) = leader.lost();
    leader.wait_for("the farewell", Process::has_left);
    assert!(leader.child.wait(TIME_LIMIT).success());
    assert_eq!(reason, "CLOSED");
    assert!(next > token);
    assert!(started.since(lost) < BUSY, "vacant for {:?}", started.since(lost));
    never_two_processes(&[&leader, &successor]);
}

/// The leader is stopped (SIGSTOP) for longer than its lease. The network is cut, so that no message can inform it, and
/// yet its first `is_leader()` already returns false. Then it reports `Lost(Expired)`.
#[tokio::test(flavor = "multi_thread")]
async fn a_leader_that_was_stopped_for_too_long_knows_before_any_io() {
    let bench = Bench::start(SHORT).await;
    let proxy = bench.proxy();
    let sleeper = Process::start(&url_through(&proxy), "a", SHORT);
    let (token, _) = sleeper.won(None);
    let other = Process::start(&bench.url(), "b", SHORT);
    bench.await_joined(&["a", "b"]);

    bench.stop(&sleeper);
    let (_, next, _) = next_leader(&[&other], token);
    proxy.cut();
    let resumed = now();
    sleeper.child.resume();
    assert!(!sleeper.first_answer(resumed), "it still believed it led");
    assert_eq!(sleeper.lost().0, "EXPIRED");
    proxy.heal();
    assert!(next > token);
    never_two_processes(&[&sleeper, &other]);
}

/// The leader is stopped (SIGSTOP) and resumes before its deadline: it is still the leader, and renews.
#[tokio::test(flavor = "multi_thread")]
async fn a_leader_that_was_stopped_for_a_moment_still_leads() {
    // A lease that outlasts the stop on a busy machine. The test waits for a part of it.
    let lease = Duration::from_secs(15);
    let bench = Bench::start(lease).await;
    let leader = Process::start(&bench.url(), "a", lease);
    leader.won(None);
    let other = Process::start(&bench.url(), "b", lease);
    bench.await_joined(&["a", "b"]);

    bench.stop(&leader);
    let paused = now();
    // A renewal falls due during the stop, while most of the lease is left.
    Clock::system().sleep_until(paused + lease / 3).await;
    let resumed = now();
    leader.child.resume();
    assert!(leader.first_answer(resumed), "the leader gave up a lease that was not over");
    leader.wait_for("an answer from a lease that was renewed", |line| match line {
        Line::Answer(Reading { leads: Some(_), before, .. }) if *before > paused + lease => Some(()),
        _ => None,
    });
    assert!(!leader.was_reported_as_lost());
    assert!(!other.has_won());
}
