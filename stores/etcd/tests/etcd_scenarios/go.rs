//! Our candidates and candidates on etcd's own Go client in one election.

use incumbent_rig::candidate::Order;
use incumbent_testkit::etcd::elect::GoClient;
use incumbent_testkit::wait;

use crate::actor::TIME_LIMIT;
use crate::bench::*;
use crate::foreign::{GO_LEASE, TimeLine};
use crate::probe::Probe;
use crate::process::Process;

fn go(bench: &Bench, name: &str) -> GoClient {
    GoClient::campaign(&bench.server.address(), ELECTION, name, GO_LEASE)
}

/// Two candidates of each side share one queue. They lead in its order, whatever their side.
#[tokio::test(flavor = "multi_thread")]
async fn both_sides_lead_in_the_order_of_arrival() {
    let bench = Bench::start(LONG).await;
    let mut go_1 = go(&bench, "go-1");
    go_1.elected();
    let ours_1 = bench.join("ours-1").await;
    bench.await_queue(&["go-1", "ours-1"]);
    let mut go_2 = go(&bench, "go-2");
    bench.await_queue(&["go-1", "ours-1", "go-2"]);
    let ours_2 = bench.join("ours-2").await;
    bench.await_queue(&["go-1", "ours-1", "go-2", "ours-2"]);
    let probe = Probe::of(&[&ours_1, &ours_2]);

    go_1.close();
    ours_1.won(1).await;
    ours_1.candidate.close().await.unwrap();
    go_2.elected();
    go_2.close();
    ours_2.won(1).await;

    let answers = probe.verdict();
    let mut time_line = TimeLine::default();
    [&go_1, &go_2].into_iter().for_each(|one| time_line.go(one, None));
    [&ours_1, &ours_2].into_iter().zip(&answers).for_each(|(one, answers)| time_line.ours(one, answers));
    let leaders = time_line.one_at_a_time_in_the_order_of_arrival();
    assert_eq!(leaders, ["go-1", "ours-1", "go-2", "ours-2"]);
}

/// `Observe` and `Leader` of the Go client report our leader by its name. Our observer reports the Go leader, and the
/// name that it proclaims.
#[tokio::test(flavor = "multi_thread")]
async fn each_side_observes_the_leaders_of_the_other() {
    let bench = Bench::start(LONG).await;
    let store = bench.store().await;
    let mut observer = store.observe(KEY).await.unwrap();
    let mut go_observer = GoClient::observe(&bench.server.address(), ELECTION);
    let ours = bench.join("ours").await;
    ours.won(1).await;
    assert_eq!(go_observer.observed("ours")["revision"], bench.place_of("ours").created);
    assert_eq!(go_observer.leader(), Ok("ours".into()));

    let mut go = go(&bench, "go-1");
    bench.await_queue(&["ours", "go-1"]);
    ours.candidate.close().await.unwrap();
    go.elected();
    let leader = async || store.leader(KEY).await.unwrap().map(|leader| leader.name);
    assert_eq!(leader().await.as_deref(), Some("go-1"));
    go.order("proclaim a better name");
    wait::until_async("the proclaimed name", TIME_LIMIT, || async {
        leader().await.as_deref() == Some("a better name")
    })
    .await;
    go.close();
    assert_eq!(leader().await, None);

    // An observer may skip a leader, but not the newest one.
    let seen = tokio::time::timeout(TIME_LIMIT, async {
        let mut seen = Vec::new();
        while seen.last() != Some(&None) || seen.len() < 2 {
            let leader = observer.next().await.unwrap().leader;
            seen.push(leader.map(|leader| leader.name));
        }
        seen
    });
    let seen = seen.await.expect("the observer sees the vacancy at the end");
    let in_order = ["ours", "go-1", "a better name"];
    let named: Vec<_> = seen.iter().flatten().map(String::as_str).collect();
    let mut expected = in_order.iter();
    assert!(named.iter().all(|name| expected.any(|one| one == name)), "{seen:?}");
}

/// Candidates of both sides are listed in the order of the queue, those of the Go client by the name that they
/// proclaim.
#[tokio::test(flavor = "multi_thread")]
async fn candidates_of_both_sides_are_listed_in_the_order_of_the_queue() {
    let bench = Bench::start(LONG).await;
    let store = bench.store().await;
    let first = go(&bench, "go-1");
    first.elected();
    let _ours = bench.join("ours").await;
    bench.await_queue(&["go-1", "ours"]);
    let _last = go(&bench, "go-2");
    bench.await_queue(&["go-1", "ours", "go-2"]);
    let listed = store.candidates(KEY).await.unwrap().expect("etcd lists candidates");
    let listed: Vec<_> = listed.iter().map(|one| (one.name.as_str(), one.nonce.is_some())).collect();
    assert_eq!(listed, [("go-1", false), ("ours", true), ("go-2", false)]);
}

/// A Go leader is killed: our candidate behind it leads once the Go leader's lease is over.
#[tokio::test(flavor = "multi_thread")]
async fn ours_follows_a_go_leader_that_is_killed() {
    let bench = Bench::start(LONG).await;
    let mut leader = go(&bench, "go-1");
    let first = leader.elected();
    let ours = bench.join("ours").await;
    bench.await_queue(&["go-1", "ours"]);
    let probe = Probe::of(&[&ours]);

    let killed = now();
    leader.child().kill();
    let won = ours.won(1).await;
    assert!(won.token.sequence.0 > first);
    assert!(won.started <= killed + GO_LEASE + REMOVAL + BUSY, "vacant for {:?}", won.started.since(killed));
    let answers = probe.verdict();
    let mut time_line = TimeLine::default();
    time_line.go(&leader, Some(killed));
    time_line.ours(&ours, &answers[0]);
    assert_eq!(time_line.one_at_a_time_in_the_order_of_arrival(), ["go-1", "ours"]);
}

/// A Go leader is stopped (SIGSTOP) for longer than its lease: our candidate leads. When the Go client continues, it
/// reports that its session is lost.
#[tokio::test(flavor = "multi_thread")]
async fn ours_follows_a_go_leader_that_is_stopped_for_too_long() {
    let bench = Bench::start(LONG).await;
    let mut leader = go(&bench, "go-1");
    leader.elected();
    let ours = bench.join("ours").await;
    bench.await_queue(&["go-1", "ours"]);
    let probe = Probe::of(&[&ours]);

    let stopped = now();
    leader.child().pause();
    ours.won(1).await;
    leader.child().resume();
    leader.nth("session lost", 1);
    assert_eq!(ours.losses(), []);
    let answers = probe.verdict();
    let mut time_line = TimeLine::default();
    time_line.go(&leader, Some(stopped));
    time_line.ours(&ours, &answers[0]);
    assert_eq!(time_line.one_at_a_time_in_the_order_of_arrival(), ["go-1", "ours"]);
}

/// Our leader is killed: a Go candidate leads once our leader's lease is over.
#[tokio::test(flavor = "multi_thread")]
async fn go_follows_our_leader_that_is_killed() {
    let bench = Bench::start(SHORT).await;
    let mut ours = Process::start(&bench.url(), "ours", SHORT);
    ours.won(None);
    let next = go(&bench, "go-1");
    bench.await_queue(&["ours", "go-1"]);

    ours.kill();
    next.elected();
    let mut time_line = TimeLine::default();
    time_line.process(&ours);
    time_line.go(&next, None);
    assert_eq!(time_line.one_at_a_time_in_the_order_of_arrival(), ["ours", "go-1"]);
}

/// Our leader is stopped (SIGSTOP) for longer than its lease. A Go candidate leads, never before our leader's deadline,
/// and the first answer of our candidate after the stop is that it does not lead.
#[tokio::test(flavor = "multi_thread")]
async fn go_follows_our_leader_that_is_stopped_for_too_long() {
    let bench = Bench::start(SHORT).await;
    let ours = Process::start(&bench.url(), "ours", SHORT);
    ours.won(None);
    let next = go(&bench, "go-1");
    bench.await_queue(&["ours", "go-1"]);

    ours.child.pause();
    next.elected();
    let resumed = now();
    ours.child.resume();
    assert!(!ours.first_answer(resumed), "it still believed it led");
    assert_eq!(ours.lost().0, "EXPIRED");
    // Our candidate has entered again, at the end of the queue.
    bench.await_queue(&["go-1", "ours"]);
    let mut time_line = TimeLine::default();
    time_line.process(&ours);
    time_line.go(&next, None);
    assert_eq!(time_line.one_at_a_time_in_the_order_of_arrival(), ["ours", "go-1"]);
}

/// Our leader asks to hand over to a candidate of ours behind a Go candidate: the call is refused, and the leader's
/// term continues.
#[tokio::test(flavor = "multi_thread")]
async fn a_hand_over_is_refused_where_a_go_candidate_is_ahead() {
    let bench = Bench::start(LONG).await;
    let first = bench.join("first").await;
    first.won(1).await;
    let next = go(&bench, "go-1");
    bench.await_queue(&["first", "go-1"]);
    let _named = bench.join("named").await;
    bench.await_queue(&["first", "go-1", "named"]);

    let refused = first.candidate.hand_over("named").await.unwrap_err();
    assert!(refused.to_string().contains("go-1"), "{refused}");
    assert!(first.candidate.is_leader() && !next.leads());
    assert_eq!(first.losses(), []);
    assert_eq!(first.wins().len(), 1);
    first.candidate.close().await.unwrap();
    next.elected();
}

/// A leader hands over to a named process, past candidates of ours that move to the end of the queue.
#[tokio::test(flavor = "multi_thread")]
async fn a_leader_hands_over_to_the_process_it_names_past_others_of_ours() {
    let bench = Bench::start(LONG).await;
    let mut a = Process::start(&bench.url(), "a", LONG);
    let (first, _) = a.won(None);
    let b = Process::start(&bench.url(), "b", LONG);
    bench.await_queue(&["a", "b"]);
    let c = Process::start(&bench.url(), "c", LONG);
    bench.await_queue(&["a", "b", "c"]);

    a.order(&Order::HandOver { key: KEY.into(), to: "c".into() });
    let (second, _) = c.won(Some(first));
    assert_eq!(a.lost().0, "HANDED_OVER");
    assert!(second > first && !b.has_won());
    let mut time_line = TimeLine::default();
    [&a, &b, &c].into_iter().for_each(|one| time_line.process(one));
    assert_eq!(time_line.one_at_a_time_in_the_order_of_arrival(), ["a", "c"]);
}
