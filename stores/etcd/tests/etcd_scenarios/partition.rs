//! Three members, and a failing network between them: clients still reach each member.

use std::time::Duration;

use incumbent::{Clock, Instant, Reason};
use incumbent_testkit::etcd::{EtcdCluster, Options};
use incumbent_testkit::wait;

use crate::actor::{Actor, TIME_LIMIT, before_a_renewal, next_leader};
use crate::bench::{BUSY, LONG, STEADY, declare_new, join, margin, now, url};
use crate::members::two;
use crate::probe::{Probe, last_led};
use crate::process::{Process, never_two_processes};

/// A cluster of three members, with a prefix that was never used.
async fn start() -> EtcdCluster {
    let cluster = EtcdCluster::start_partitionable(3, Options::new());
    declare_new(&url(&cluster.addresses())).await;
    cluster
}

/// Waits until every member serves.
fn whole(cluster: &EtcdCluster) {
    wait::until("every member to serve", TIME_LIMIT, || cluster.iter().all(|member| member.is_healthy()));
}

/// Waits until the leader has lost, and returns the latest deadline that it had.
async fn last_deadline(leader: &Actor) -> Instant {
    let mut last = Instant::ZERO;
    wait::until_async("a loss", TIME_LIMIT, || {
        last = last.max(leader.candidate.term().map_or(Instant::ZERO, |term| term.deadline()));
        let lost = !leader.losses().is_empty();
        async move { lost }
    })
    .await;
    last
}

/// A leader that knows all members keeps its term while each of them, including the cluster's leader, is cut off: it
/// finds a member of the majority in time.
#[tokio::test(flavor = "multi_thread")]
async fn a_leader_that_reaches_the_majority_survives_the_isolation_of_each_member() {
    let cluster = start().await;
    let (a, b, probe) = two(&cluster, LONG).await;
    for member in 0..cluster.len() {
        cluster.isolate(member);
        a.renewed_after(now(), LONG).await;
        cluster.heal();
        whole(&cluster);
    }
    assert_eq!((a.losses(), b.wins()), (vec![], vec![]));
    probe.verdict();
}

/// The leader knows only the cluster's leader, which is cut off: the answers of that member about leases extend no
/// deadline. Another candidate, at the majority, leads after that deadline with a larger token, and keeps leading after
/// the cut.
#[tokio::test(flavor = "multi_thread")]
async fn what_an_isolated_member_says_of_leases_extends_no_term() {
    let cluster = start().await;
    let isolated = cluster.leader();
    let a = join(&url(&cluster[isolated].address()), "a", STEADY).await;
    let first = a.won(1).await;
    let majority = [(isolated + 1) % 3, (isolated + 2) % 3].map(|member| cluster[member].address());
    let b = join(&url(&majority.join(",")), "b", STEADY).await;
    b.observes("a").await;
    let probe = Probe::of(&[&a, &b]);

    // The leader's next round reaches the member just after the cut, while that member still believes that it leads the
    // cluster.
    before_a_renewal(&a, STEADY).await;
    cluster.isolate(isolated);
    let cut = now();
    let proven = a.candidate.term().expect("it leads").deadline();
    let last = last_deadline(&a).await;
    let lost = a.lost(1).await;
    assert_eq!(lost.reason, Reason::Expired);
    assert!(lost.at >= proven, "given up {:?} too early", proven.since(lost.at));
    // No round that began after the cut proved the lease.
    let possible = (cut + STEADY).before(margin(STEADY));
    assert!(last <= possible, "the lease was extended by {:?} after the cut", last.since(possible));

    let second = b.won(1).await;
    assert!(second.token > first.token);
    cluster.heal();
    whole(&cluster);
    b.renewed_after(now(), STEADY).await;
    // The member has joined the majority again, and so has the candidate that knows only this member.
    b.candidate.close().await.unwrap();
    let (_, third) = next_leader(&[&a], second.token).await;
    assert!(third.token > second.token);
    assert_eq!(a.losses(), [lost]);
    probe.verdict();
}

/// A candidate that knows only an isolated follower neither wins nor disturbs the election. After the cut it is in the
/// queue again.
#[tokio::test(flavor = "multi_thread")]
async fn a_candidate_at_an_isolated_follower_changes_nothing() {
    let cluster = start().await;
    let isolated = (cluster.leader() + 1) % 3;
    let majority = [(isolated + 1) % 3, (isolated + 2) % 3].map(|member| cluster[member].address());
    let a = join(&url(&majority.join(",")), "a", LONG).await;
    let first = a.won(1).await;
    let b = join(&url(&cluster[isolated].address()), "b", STEADY).await;
    b.observes("a").await;
    let probe = Probe::of(&[&a, &b]);

    cluster.isolate(isolated);
    let cut = now();
    Clock::system().sleep_until(cut + STEADY + Duration::from_secs(1)).await;
    a.renewed_after(cut, LONG).await;
    assert_eq!((a.losses(), b.wins()), (vec![], vec![]));
    cluster.heal();
    whole(&cluster);
    b.observes("a").await;
    a.candidate.close().await.unwrap();
    next_leader(&[&b], first.token).await;
    probe.verdict();
}

/// Members are cut off, one after the other, and two from each other, under candidates in separate processes. There are
/// never two leaders, and each time a candidate leads again, without waiting for the end of the cut.
#[tokio::test(flavor = "multi_thread")]
async fn under_partitions_one_leads_at_a_time_and_one_leads_again() {
    let cluster = start().await;
    let process = |name| Process::start(&url(&cluster.addresses()), name, STEADY);
    let processes = [process("a"), process("b"), process("c")];
    let leads_after = |since| {
        wait::until("an answer of a leader", TIME_LIMIT * 2, || {
            processes.iter().any(|process| last_led(&process.terms()) > since)
        });
    };
    leads_after(now());
    for round in 0..2 {
        let leader = cluster.leader();
        cluster.isolate(leader);
        leads_after(now() + BUSY);
        cluster.heal();
        whole(&cluster);

        let leader = cluster.leader();
        cluster.separate(leader, (leader + 1 + round) % 3);
        leads_after(now() + BUSY);
        cluster.heal();
        whole(&cluster);
    }
    let [a, b, c] = &processes;
    never_two_processes(&[a, b, c]);
}
