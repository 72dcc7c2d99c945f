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
