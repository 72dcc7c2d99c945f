//! The etcd servers of the test kit.
#![allow(clippy::unwrap_used, clippy::expect_used)]

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
fn a_member_that_is_cut_off_serves_again_after_the_cut_and_other_members_go_on_meanwhile() {
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
