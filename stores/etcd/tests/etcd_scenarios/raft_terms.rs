//! The cluster elects another raft leader, and the former one may revoke live leases.

use incumbent::Clock;
use incumbent_rig::candidate::Order;
use incumbent_testkit::etcd::{EtcdServer, Options};
use incumbent_testkit::proxy::Proxy;
use incumbent_testkit::wait;

use crate::actor::{TIME_LIMIT, next_leader};
use crate::bench::*;
use crate::members::start;
use crate::probe::Probe;
use crate::process::{Process, never_two_processes};

/// Waits until there are this many companions, each on a lease of the raft term that the server shows.
#[track_caller]
fn await_moves(server: &EtcdServer, companions: usize) {
    wait::until("the companions on leases of the raft term", TIME_LIMIT, || {
        let (term, of_leases) = raft_terms(server);
        of_leases == vec![term; companions]
    });
}

/// The cluster's leading member is stopped (SIGSTOP) until the leases of the election's leader look expired to that
/// member, although they were kept alive meanwhile. When the member continues, it may revoke them, and the election's
/// leader does not learn of it because its network is cut. There are never two leaders.
#[tokio::test(flavor = "multi_thread")]
async fn a_member_that_may_revoke_live_leases_when_it_continues_makes_no_second_leader() {
    let cluster = start().await;
    let (stopped, steady) = (2, &cluster[0]);
    let proxy = Proxy::to(&steady.address());
    let a = join(&url(&proxy.address()), "a", SHORT).await;
    let mut token = a.won(1).await.token;
    // The leases of `b` and `c` have not run out when the member continues. So both keep their places, and would lead
    // at once if the rule allowed it.
    let longer = SHORT * 3 / 2;
    let b = join(&url(&cluster[1].address()), "b", longer).await;
    b.observes("a").await;
    let c = join(&url(&steady.address()), "c", longer).await;
    let all = [&a, &b, &c];
    let probe = Probe::of(&all);
    for _ in 0..3 {
        cluster.move_leader(stopped);
        await_moves(steady, all.len());
        cluster[stopped].pause();
        let continues = now() + SHORT + REMOVAL;
        wait::until("another leader of the cluster", TIME_LIMIT, || steady.is_healthy());
        for follower in [&b, &c].map(|actor| &actor.candidate) {
            if follower.is_leader() {
                follower.resign().await.unwrap();
                token = next_leader(&all, token).await.1.token;
            }
        }
        assert!(a.candidate.is_leader());
        Clock::system().sleep_until(continues).await;
        proxy.cut();
        cluster[stopped].resume();
        token = next_leader(&all, token).await.1.token;
        proxy.heal();
    }
    probe.verdict();
}

/// The cluster elects another raft leader: candidates move their companions to leases of the new raft term, which ends
/// no term of the election. After a later crash another candidate leads.
#[tokio::test(flavor = "multi_thread")]
async fn companions_move_to_leases_of_a_new_raft_term() {
    let cluster = start().await;
    let url = url(&cluster.addresses());
    let mut a = Process::start(&url, "a", SHORT);
    let (first, _) = a.won(None);
    let b = Process::start(&url, "b", SHORT);
    await_moves(&cluster[0], 2);
    let (before, _) = raft_terms(&cluster[0]);

    cluster.move_leader((cluster.leader() + 1) % cluster.len());
    await_moves(&cluster[0], 2);
    assert!(raft_terms(&cluster[0]).0 > before);
    assert!(!a.was_reported_as_lost() && !b.has_won());
    a.kill();
    let (second, _) = b.won(Some(first));
    assert!(second > first);
    never_two_processes(&[&a, &b]);
}

/// When a companion on a lease from before the server's restart disappears, candidates wait for the length of that
/// lease, because no answer shows whether the lease had run out. After a release there is no wait.
#[tokio::test(flavor = "multi_thread")]
async fn a_companion_older_than_the_raft_term_is_waited_out() {
    on_each_version(|version| async move {
        let mut bench = Bench::with(Options::new().version(version), SHORT).await;
        let mut a = Process::start(&bench.url(), "a", SHORT);
        let (first, _) = a.won(None);
        let mut b = Process::start(&bench.url(), "b", SHORT);
        bench.await_queue(&["a", "b"]);
        let c = Process::start(&bench.url(), "c", SHORT);
        bench.await_queue(&["a", "b", "c"]);

        a.kill();
        bench.server.restart();
        bench.await_queue(&["b", "c"]);
        let gone = now();
        let (second, started) = b.won(Some(first));
        // The watch reports that the companion disappeared some time before the poll above finds out.
        assert!(started + BUSY / 2 >= gone + SHORT, "{version}: waited {:?} only", started.since(gone));

        b.order(&Order::Close);
        let (_, lost) = b.lost();
        let (third, started) = c.won(Some(second));
        assert!(started.since(lost) < SHORT, "{version}: waited {:?} after a release", started.since(lost));
        assert!(third > second, "{version}");
        never_two_processes(&[&a, &b, &c]);
    })
    .await;
}
