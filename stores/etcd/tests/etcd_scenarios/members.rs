//! Three members; one or two of them are killed, stopped or restarted.

use std::time::Duration;

use incumbent::Reason;
use incumbent_testkit::etcd::EtcdCluster;
use incumbent_testkit::wait;

use crate::actor::{Actor, TIME_LIMIT, before_a_renewal, next_leader};
use crate::bench::{BUSY, LONG, STEADY, declare_new, join, now, url};
use crate::probe::{Probe, last_led};
use crate::process::{Process, never_two_processes};

/// A cluster of three members, with a prefix that was never used.
pub(crate) async fn start() -> EtcdCluster {
    let cluster = EtcdCluster::start(3);
    declare_new(&url(&cluster.addresses())).await;
    cluster
}

/// Two candidates that know all members. The first leads.
pub(crate) async fn two(cluster: &EtcdCluster, lease: Duration) -> (Actor, Actor, Probe) {
    let a = join(&url(&cluster.addresses()), "a", lease).await;
    a.won(1).await;
    let b = join(&url(&cluster.addresses()), "b", lease).await;
    b.observes("a").await;
    let probe = Probe::of(&[&a, &b]);
    (a, b, probe)
}

/// The members, including the cluster's leader, are killed one after another, and each is started again once the other
/// two serve: the term continues.
#[tokio::test(flavor = "multi_thread")]
async fn a_leader_survives_a_restart_of_each_member() {
    let mut cluster = start().await;
    let (a, b, probe) = two(&cluster, LONG).await;
    for member in 0..cluster.len() {
        cluster[member].kill();
        let killed = now();
        a.renewed_after(killed, LONG).await;
        cluster[member].restart();
    }
    assert_eq!((a.losses(), b.wins()), (vec![], vec![]));
    probe.verdict();
}

/// The cluster's leader is stopped until the cluster has elected another, and then continues. Its answers about leases
/// extend no deadline, and there are never two leaders.
#[tokio::test(flavor = "multi_thread")]
async fn a_leader_of_the_cluster_that_stood_still_makes_no_second_leader() {
    let cluster = start().await;
    let stale = cluster.leader();
    // The candidate that leads knows only the member that will be stopped.
    let a = join(&url(&cluster[stale].address()), "a", STEADY).await;
    let first = a.won(1).await;
    let other = &cluster[(stale + 1) % 3];
    let b = join(&url(&other.address()), "b", STEADY).await;
    b.observes("a").await;
    let probe = Probe::of(&[&a, &b]);

    before_a_renewal(&a, STEADY).await;
    cluster[stale].pause();
    let lost = a.lost(1).await;
    assert_eq!(lost.reason, Reason::Expired);
    let second = b.won(1).await;
    cluster[stale].resume();
    assert!(second.token > first.token);
    // Once the resumed member follows the cluster's new leader, `a` is a candidate behind `b`.
    wait::until("the member to serve", TIME_LIMIT, || cluster[stale].is_healthy());
    b.candidate.close().await.unwrap();
    let (_, third) = next_leader(&[&a], second.token).await;
    assert!(third.token > second.token);
    probe.verdict();
}

/// Two of three members are down for longer than the lease: `Lost(Expired)` at the deadline, and a candidate leads
/// again with a larger token once they are back.
#[tokio::test(flavor = "multi_thread")]
async fn without_a_majority_the_leader_leads_until_its_deadline() {
    let mut cluster = start().await;
    let (a, b, probe) = two(&cluster, STEADY).await;
    let first = a.wins()[0];
    before_a_renewal(&a, STEADY).await;
    cluster[0].kill();
    cluster[1].kill();
    let proven = a.candidate.term().expect("it leads").deadline();
    let lost = a.lost(1).await;
    assert_eq!(lost.reason, Reason::Expired);
    assert!(lost.at >= proven, "given up {:?} too early", proven.since(lost.at));
    // Neither member serves requests before the other is back.
    cluster.restart(&[0, 1]);
    next_leader(&[&a, &b], first.token).await;
    probe.verdict();
}

/// Members are killed and stopped, one after the other and two at a time, under candidates in separate processes. There
/// are never two leaders, and each time a candidate leads again.
#[tokio::test(flavor = "multi_thread")]
async fn under_faults_of_members_one_leads_at_a_time_and_one_leads_again() {
    let mut cluster = start().await;
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
        let next = (leader + 1 + round) % 3;
        cluster[leader].kill();
        leads_after(now() + BUSY);
        cluster[leader].restart();

        let leader = cluster.leader();
        cluster[leader].pause();
        leads_after(now() + BUSY);
        cluster[leader].resume();

        cluster[next].pause();
        cluster[(next + 1) % 3].pause();
        // By the end of this wait, the surviving member has noticed that it has no majority.
        std::thread::sleep(BUSY);
        cluster[next].resume();
        cluster[(next + 1) % 3].resume();
        leads_after(now());
    }
    let [a, b, c] = &processes;
    never_two_processes(&[a, b, c]);
}
