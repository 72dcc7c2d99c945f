//! The etcd servers of the test kit.
#![allow(clippy::unwrap_used, clippy::expect_used)]

use std::time::Duration;

use incumbent_testkit::etcd::elect::{Etcdctl, GoClient};
use incumbent_testkit::etcd::{EtcdCluster, EtcdServer, Options};
use incumbent_testkit::tools::EtcdVersion;
use incumbent_testkit::wait::{self, GENEROUS};

#[test]
fn every_version_keeps_its_keys_over_a_kill_and_loses_them_in_a_wipe() {
    for version in EtcdVersion::tested() {
        let mut server = EtcdServer::start(Options::new().version(version));
        server.ctl(&["put", "jobs/1", "a"]);
        server.restart();
        assert_eq!(server.ctl(&["get", "--print-value-only", "jobs/1"]), "a\n", "{version}");
        server.wipe();
        server.restart();
        assert_eq!(server.ctl(&["get", "--print-value-only", "jobs/1"]), "", "{version}");
    }
}

#[test]
fn three_members_elect_another_leader_when_theirs_is_killed() {
    let mut cluster = EtcdCluster::start(3);
    let old = cluster.leader();
    cluster[old].kill();
    let other = (old + 1) % 3;
    wait::until("the other members elect a leader", GENEROUS, || cluster[other].is_healthy());
    assert_ne!(cluster.leader(), old);
    cluster[other].ctl(&["put", "jobs/1", "a"]);
    cluster[old].restart();
    assert_eq!(cluster[old].ctl(&["get", "--print-value-only", "jobs/1"]), "a\n");
}

#[test]
fn a_member_that_is_cut_off_serves_again_after_the_cut_and_the_other_members_serve_meanwhile() {
    for version in EtcdVersion::tested() {
        let cluster = EtcdCluster::start_partitionable(3, Options::new().version(version));
        let old = cluster.leader();
        cluster.isolate(old);
        let other = (old + 1) % 3;
        wait::until("the other members elect a leader", GENEROUS, || {
            !cluster[old].is_healthy() && cluster[other].is_healthy()
        });
        assert_ne!(cluster.leader(), old, "{version}");
        cluster[other].ctl(&["put", "jobs/1", "a"]);
        assert_eq!(cluster[old].ctl(&["get", "--consistency", "s", "--print-value-only", "jobs/1"]), "");
        cluster.heal();
        wait::until("the member to follow again", GENEROUS, || cluster[old].is_healthy());
        assert_eq!(cluster[old].ctl(&["get", "--print-value-only", "jobs/1"]), "a\n", "{version}");
    }
}

#[test]
fn two_members_that_are_cut_off_from_each_other_serve_through_the_third() {
    let cluster = EtcdCluster::start_partitionable(3, Options::new());
    let leader = cluster.leader();
    let (cut_off, between) = ((leader + 1) % 3, (leader + 2) % 3);
    cluster.separate(leader, cut_off);
    wait::until("the member to miss its leader", GENEROUS, || !cluster[cut_off].is_healthy());
    cluster[between].ctl(&["put", "jobs/1", "a"]);
    cluster.heal();
    wait::until("the member to follow again", GENEROUS, || cluster[cut_off].is_healthy());
    assert_eq!(cluster[cut_off].ctl(&["get", "--print-value-only", "jobs/1"]), "a\n");
}

const TTL: Duration = Duration::from_secs(2);

/// Waits until this many candidates are in the queue.
fn await_places(server: &EtcdServer, count: usize) {
    let places = || {
        server.ctl(&["get", "--prefix", "--keys-only", "jobs/"]).lines().filter(|key| !key.is_empty()).count()
    };
    wait::until(&format!("{count} places"), GENEROUS, || places() == count);
}

#[test]
fn a_go_candidate_leads_after_the_one_before_it_has_resigned() {
    let server = EtcdServer::start(Options::new());
    let mut first = GoClient::campaign(&server.address(), "jobs", "go-1", TTL);
    let one = first.elected();
    let mut second = GoClient::campaign(&server.address(), "jobs", "go-2", TTL);
    await_places(&server, 2);
    assert!(!second.leads());

    first.order("resign");
    let two = second.elected();
    assert!(two > one);
    first.nth("resigned", 1);
    let (from, to, revision) = first.terms(u64::MAX)[0];
    assert_eq!(revision, one);
    assert!(from < to && to <= second.nth("elected", 1)["t"].as_u64().unwrap());
    assert!(second.nth("elected", 1)["key"].as_str().unwrap().starts_with("jobs/"));

    first.order("campaign");
    await_places(&server, 2);
    second.close();
    assert!(first.nth("elected", 2)["revision"].as_u64() > Some(two));
    first.close();
    await_places(&server, 0);
}

#[test]
fn a_go_candidate_that_is_killed_is_followed_after_its_lease_and_a_lost_session_ends_a_term() {
    let server = EtcdServer::start(Options::new());
    let mut first = GoClient::campaign(&server.address(), "jobs", "go-1", TTL);
    first.elected();
    let second = GoClient::campaign(&server.address(), "jobs", "go-2", TTL);
    await_places(&server, 2);
    first.child().kill();
    second.elected();

    let lease = server.ctl(&["lease", "list"]);
    server.ctl(&["lease", "revoke", lease.lines().last().unwrap()]);
    second.nth("session lost", 1);
    assert!(!second.leads());
}

#[test]
fn observers_see_each_leader_and_its_proclamations() {
    let server = EtcdServer::start(Options::new());
    let mut observer = GoClient::observe(&server.address(), "jobs");
    assert_eq!(observer.leader(), Err("election: no leader".into()));
    let listening = Etcdctl::listen(&server.address(), "jobs");
    let mut first = GoClient::campaign(&server.address(), "jobs", "go-1", TTL);
    let revision = first.elected();
    assert_eq!(observer.observed("go-1")["revision"], revision);
    listening.prints("go-1");
    assert_eq!(observer.leader(), Ok("go-1".into()));
    first.order("proclaim of two names");
    observer.observed("of two names");
    listening.prints("of two names");
}

#[test]
fn etcdctl_elects_in_the_same_queue() {
    let server = EtcdServer::start(Options::new());
    let mut go = GoClient::campaign(&server.address(), "jobs", "go-1", TTL);
    go.elected();
    let mut ctl = Etcdctl::elect(&server.address(), "jobs", "shell");
    await_places(&server, 2);
    let second = GoClient::campaign(&server.address(), "jobs", "go-2", TTL);
    await_places(&server, 3);

    go.close();
    ctl.prints("shell");
    assert!(!second.leads());
    ctl.resign();
    second.elected();
}
