//! Our candidates and `etcdctl elect` in one election.

use incumbent_testkit::etcd::Options;
use incumbent_testkit::etcd::elect::{Etcdctl, GoClient};
use incumbent_testkit::wait;

use crate::actor::TIME_LIMIT;
use crate::bench::*;
use crate::foreign::GO_LEASE;
use crate::probe::Probe;

/// `etcdctl elect`, our candidate and the Go client share one queue, on each version of the server.
#[tokio::test(flavor = "multi_thread")]
async fn etcdctl_and_ours_and_go_lead_in_the_order_of_arrival() {
    on_each_version(|version| async move {
        let bench = Bench::with(Options::new().version(version), LONG).await;
        let listening = Etcdctl::listen(&bench.server.address(), ELECTION);
        let mut shell = Etcdctl::elect(&bench.server.address(), ELECTION, "shell");
        shell.prints("shell");
        let ours = bench.join("ours").await;
        bench.await_queue(&["shell", "ours"]);
        let go = GoClient::campaign(&bench.server.address(), ELECTION, "go-1", GO_LEASE);
        bench.await_queue(&["shell", "ours", "go-1"]);
        let mut again = Etcdctl::elect(&bench.server.address(), ELECTION, "again");
        bench.await_queue(&["shell", "ours", "go-1", "again"]);
        let probe = Probe::of(&[&ours]);

        shell.resign();
        let won = ours.won(1).await;
        assert!(!go.leads(), "{version}");
        assert_eq!(won.token.sequence.0, bench.place_of("ours").created, "{version}");
        listening.prints("ours");
        ours.candidate.close().await.unwrap();
        go.elected();
        assert_eq!(again.lines(), <[String; 0]>::default(), "{version}");
        drop(go);
        again.prints("again");
        again.resign();
        probe.verdict();
    })
    .await;
}

/// `etcdctl elect` is ahead of our candidate in the queue. An operator revokes the lease of `etcdctl`, and our
/// candidate leads.
#[tokio::test(flavor = "multi_thread")]
async fn ours_leads_when_the_lease_of_etcdctl_is_revoked() {
    let bench = Bench::start(LONG).await;
    let shell = Etcdctl::elect(&bench.server.address(), ELECTION, "shell");
    shell.prints("shell");
    let ours = bench.join("ours").await;
    bench.await_queue(&["shell", "ours"]);
    let store = bench.store().await;
    assert_eq!(store.leader(KEY).await.unwrap().unwrap().name, "shell");

    bench.server.ctl(&["lease", "revoke", &bench.place_of("shell").lease]);
    ours.won(1).await;
    wait::until_async("ours to be observed", TIME_LIMIT, || async {
        store.leader(KEY).await.unwrap().is_some_and(|leader| leader.name == "ours")
    })
    .await;
}
