//! Faults of a process: candidates that are killed, stopped, and asked to leave.

use std::time::Duration;

use incumbent::{Clock, Token};
use incumbent_rig::candidate::Order;
use incumbent_rig::probe::Reading;
use incumbent_testkit::wait::{self, GENEROUS};

use crate::actor::TIME_LIMIT;
use crate::bench::*;
use crate::probe::last_led;
use crate::process::{Line, Process, never_two_processes, next_leader};

/// The time for which candidates hold back for the successor that a release names.
const HOLD_BACK: Duration = Duration::from_secs(1);

/// The leader is killed (SIGKILL): another leads once the record has expired, with a larger token.
#[tokio::test(flavor = "multi_thread")]
async fn a_leader_that_is_killed_is_followed_when_its_lease_is_over() {
    let bench = Bench::start(SHORT).await;
    let start = |name| Process::start(&bench.server.url(), name, SHORT);
    let mut leader = start("a");
    let (token, _) = leader.won(None);
    let (b, c) = (start("b"), start("c"));
    bench.watched_by(3);

    leader.kill();
    let killed = now();
    let (_, next, started) = next_leader(&[&b, &c], token);
    assert!(next > token);
    assert!(started <= killed + SHORT + REMOVAL + BUSY, "vacant for {:?}", started.since(killed));
    never_two_processes(&[&leader, &b, &c]);
}

/// The leader is stopped gracefully: `Lost` first, then the release, and the successor leads at once.
#[tokio::test(flavor = "multi_thread")]
async fn a_leader_that_closes_is_followed_at_once() {
    let bench = Bench::start(LONG).await;
    let mut leader = Process::start(&bench.server.url(), "a", LONG);
    let (token, _) = leader.won(None);
    let successor = Process::start(&bench.server.url(), "b", LONG);
    bench.watched_by(2);

    leader.order(&Order::Close);
    let (_, next, started) = next_leader(&[&successor], token);
    let (reason, lost) = leader.lost();
    leader.wait_for("the farewell", Process::has_left);
    assert!(leader.child.wait(GENEROUS).success());
    assert_eq!(reason, "CLOSED");
    assert!(next > token);
    assert!(started.since(lost) < BUSY, "vacant for {:?}", started.since(lost));
    never_two_processes(&[&leader, &successor]);
}

/// The leader hands over to a named process: that one succeeds, and no other candidate does.
#[tokio::test(flavor = "multi_thread")]
async fn a_leader_hands_over_to_the_process_it_names() {
    let bench = Bench::start(LONG).await;
    let start = |name| Process::start(&bench.server.url(), name, LONG);
    let mut all = vec![start("a")];
    let (first, _) = all[0].won(None);
    all.extend(["b", "c", "d"].map(start));
    bench.watched_by(4);

    let second = hands_over(&mut all, 0, 1, first);
    assert_eq!(all[0].lost().0, "HANDED_OVER");
    let third = hands_over(&mut all, 1, 0, second);
    assert_eq!(all[1].lost().0, "HANDED_OVER");
    assert!(third > second && second > first);
    never_two_processes(&all.iter().collect::<Vec<_>>());
}

/// Has the leader hand over until `to` leads; returns its token. Other candidates hold back for a moment. On a busy machine
/// the successor may miss it: then the next leader is asked.
fn hands_over(all: &mut [Process], from: usize, to: usize, token: Token) -> Token {
    let successor = all[to].name.clone();
    let (mut leader, mut token) = (from, token);
    loop {
        all[leader].order(&Order::HandOver { key: KEY.into(), to: successor.clone() });
        let (next, won, started) = next_leader(&all.iter().collect::<Vec<_>>(), token);
        if next == to {
            return won;
        }
        let vacant = started.since(last_led(&all[leader].terms()));
        assert!(vacant >= HOLD_BACK, "{} did not hold back: vacant for {vacant:?}", all[next].name);
        (leader, token) = (next, won);
    }
}

/// The leader is stopped (SIGSTOP) for longer than its lease: its first `is_leader()` is already false, with
/// the network cut so that no message can be the cause; then it reports `Lost(Expired)`.
#[tokio::test(flavor = "multi_thread")]
async fn a_leader_that_was_stopped_for_too_long_knows_before_any_io() {
    let bench = Bench::start(SHORT).await;
    let proxy = bench.proxy();
    let sleeper = Process::start(&proxy.url(), "a", SHORT);
    let (token, _) = sleeper.won(None);
    let other = Process::start(&bench.server.url(), "b", SHORT);
    bench.watched_by(2);

    sleeper.child.pause();
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

/// The leader is stopped (SIGSTOP) and goes on before its deadline: it is still the leader, and renews.
#[tokio::test(flavor = "multi_thread")]
async fn a_leader_that_was_stopped_for_a_moment_still_leads() {
    let lease = STEADY;
    let bench = Bench::start(lease).await;
    let leader = Process::start(&bench.server.url(), "a", lease);
    leader.won(None);
    let other = Process::start(&bench.server.url(), "b", lease);
    bench.watched_by(2);

    leader.child.pause();
    let paused = now();
    // A renewal falls due meanwhile, and most of the lease is left.
    Clock::system().sleep_until(paused + lease / 3).await;
    let resumed = now();
    leader.child.resume();
    assert!(leader.first_answer(resumed), "it gave up a lease that was not over");
    leader.wait_for("an answer from a lease that was renewed", |line| match line {
        Line::Answer(Reading { leads: Some(_), before, .. }) if *before > paused + lease => Some(()),
        _ => None,
    });
    assert!(!leader.was_reported_as_lost());
    assert!(!other.has_won());
}

/// A request for candidates lists the candidates that can answer: not once killed, and not while stopped.
#[tokio::test(flavor = "multi_thread")]
async fn candidates_are_listed_as_long_as_they_can_answer() {
    let bench = Bench::start(LONG).await;
    let aside = open(&bench.server.url(), LONG).await;
    let until_told = async |expected: &[&str]| {
        wait::until_async(&format!("the candidates {expected:?}"), TIME_LIMIT, async || {
            let reported = aside.candidates(KEY).await.expect("the bucket can be asked");
            let mut names: Vec<_> = reported.expect("we may ask").into_iter().map(|one| one.name).collect();
            names.sort();
            names == expected
        })
        .await;
    };
    let start = |name| Process::start(&bench.server.url(), name, LONG);
    let (mut a, b) = (start("a"), start("b"));
    until_told(&["a", "b"]).await;
    b.child.pause();
    until_told(&["a"]).await;
    b.child.resume();
    until_told(&["a", "b"]).await;
    a.kill();
    until_told(&["b"]).await;
}
