//! Faults of a cluster of three servers, with a bucket of three replicas.

use std::time::Duration;

use incumbent::store::nats::{InitOptions, init};
use incumbent::{ErrorKind, Reason, Token};
use incumbent_testkit::nats::{NatsCluster, Options};
use incumbent_testkit::proxy::Proxy;
use incumbent_testkit::wait;

use crate::actor::{Actor, TIME_LIMIT, before_a_renewal, next_leader};
use crate::bench::*;
use crate::probe::Probe;

/// A lease that outlasts the failure of a server, as the documentation advises.
const LEASE: Duration = Duration::from_secs(30);
/// A lease that does not outlast the failure of a server.
const TOO_SHORT: Duration = Duration::from_secs(2);
/// The longest time in which a cluster elects its leaders on a busy machine.
const ELECTION: Duration = Duration::from_secs(90);

/// A leader and a candidate that both know all servers.
struct Pair {
    leader: Actor,
    other: Actor,
    token: Token,
    probe: Probe,
}

impl Pair {
    async fn on(cluster: &NatsCluster, lease: Duration) -> Self {
        make_bucket(cluster, lease).await;
        let leader = join(&cluster.addresses(), "a", lease).await;
        let token = leader.won(1).await.token;
        let other = join(&cluster.addresses(), "b", lease).await;
        other.observes("a").await;
        let probe = Probe::of(&[&leader, &other]);
        Self { leader, other, token, probe }
    }

    /// Checks that the term continues: it is renewed from now on and has never been lost, and the other candidate has
    /// never led.
    async fn goes_on(self) {
        self.leader.renewed_after(now(), LEASE).await;
        assert_eq!(self.leader.losses(), []);
        assert_eq!(self.other.wins(), []);
        self.probe.verdict();
    }
}

/// Creates the bucket as soon as the servers of the cluster have learned enough of each other to place it.
async fn make_bucket(cluster: &NatsCluster, lease: Duration) {
    let options = InitOptions::new().lease(lease).replicas(3).never_used(true);
    let settings = settings(&cluster.addresses());
    wait::until_async("a place for three replicas", ELECTION, || async {
        match init(&settings, &options).await {
            Ok(_) => true,
            // A newly elected leader loses the requests that were sent before its election.
            Err(error) if error.kind() == ErrorKind::StoreUnavailable => false,
            Err(error) if error.message().contains("no suitable peers") => false,
            Err(error) => panic!("{error}"),
        }
    })
    .await;
}

/// The stream's leading server is killed: the term survives with a lease of 30 s.
#[tokio::test(flavor = "multi_thread")]
async fn a_term_survives_the_death_of_the_streams_leader() {
    let mut cluster = NatsCluster::start(3);
    let pair = Pair::on(&cluster, LEASE).await;
    let dead = cluster.stream_leader(STREAM);
    cluster[dead].kill();
    pair.goes_on().await;
}

/// The stream's leading server is stopped (SIGSTOP), with all its connections open.
#[tokio::test(flavor = "multi_thread")]
async fn a_term_survives_a_pause_of_the_streams_leader() {
    let cluster = NatsCluster::start(3);
    let pair = Pair::on(&cluster, LEASE).await;
    let paused = cluster.stream_leader(STREAM);
    cluster[paused].pause();
    pair.goes_on().await;
    cluster[paused].resume();
}

/// The leader of the cluster's JetStream is killed, while another server leads the stream: no effect.
#[tokio::test(flavor = "multi_thread")]
async fn a_term_survives_the_death_of_the_meta_leader() {
    let mut cluster = NatsCluster::start(3);
    let pair = Pair::on(&cluster, LEASE).await;
    let dead = cluster.meta_leader();
    cluster[dead].kill();
    pair.goes_on().await;
}

/// The servers are restarted one after the other: no `Lost`.
#[tokio::test(flavor = "multi_thread")]
async fn a_term_survives_a_rolling_restart() {
    let mut cluster = NatsCluster::start(3);
    let pair = Pair::on(&cluster, LEASE).await;
    for node in 0..3 {
        cluster[node].stop();
        cluster[node].restart();
        cluster.wait_ready();
        cluster.stream_leader(STREAM);
    }
    pair.goes_on().await;
}

/// Two of three servers are down for longer than the lease. The term ends with `Lost(Expired)` at the deadline, and no
/// candidate leads until the servers are back. Then one leads, with a larger token.
#[tokio::test(flavor = "multi_thread")]
async fn without_a_quorum_no_candidate_leads_for_longer_than_a_lease() {
    let mut cluster = NatsCluster::start(3);
    let Pair { leader, other, token, probe } = Pair::on(&cluster, SHORT).await;
    for node in 0..2 {
        cluster[node].kill();
    }
    let alone = now();
    let lost = leader.lost(1).await;
    assert_eq!(lost.reason, Reason::Expired);
    assert!(lost.at < alone + SHORT + BUSY, "{:?}", lost.at.since(alone));
    assert_eq!(other.wins(), []);
    for node in 0..2 {
        cluster[node].respawn();
    }
    cluster.wait_ready();
    let (_, next) = next_leader(&[&leader, &other], token).await;
    assert!(next.token > token);
    probe.verdict();
}

/// Two of three servers are stopped until a renewal is overdue, and continue before the lease is over. The delayed
/// write commits late, the leader recognises it as its own, and the term survives.
#[tokio::test(flavor = "multi_thread")]
async fn a_term_survives_a_loss_of_the_quorum_that_is_shorter_than_its_lease() {
    let cluster = NatsCluster::start(3);
    let pair = Pair::on(&cluster, LEASE).await;
    before_a_renewal(&pair.leader, LEASE).await;
    (0..2).for_each(|node| cluster[node].pause());
    let overdue = (LEASE - margin(LEASE) - LEASE / 3).saturating_sub(Duration::from_secs(4));
    let remaining = || pair.leader.candidate.term().expect("it leads").remaining();
    wait::until("a renewal to be overdue", TIME_LIMIT, || remaining() < overdue);
    (0..2).for_each(|node| cluster[node].resume());
    pair.goes_on().await;
}

/// The routes to the servers of a cluster, through proxies.
struct Ways(Vec<Proxy>);

impl Ways {
    /// Only the route to `node` is open at first, so the first connection goes to that server.
    fn at_first_to(cluster: &NatsCluster, node: usize) -> Self {
        let ways = Self(cluster.nodes().iter().map(|node| Proxy::to(&node.address())).collect());
        ways.0.iter().enumerate().filter(|(at, _)| *at != node).for_each(|(_, way)| way.cut());
        ways
    }

    fn open(&self) {
        self.0.iter().for_each(Proxy::heal);
    }

    fn servers(&self) -> String {
        self.0.iter().map(Proxy::url).collect::<Vec<_>>().join(",")
    }
}

/// The stream's leading server, to which the leader is connected, is cut off from the other servers and keeps giving
/// outdated answers. The leader rejects those answers, finds the other servers, and the term survives.
#[tokio::test(flavor = "multi_thread")]
async fn a_term_survives_the_isolation_of_the_streams_leader() {
    let cluster = NatsCluster::start_partitionable(3, Options::new());
    make_bucket(&cluster, LEASE).await;
    let isolated = cluster.stream_leader(STREAM);
    let ways = Ways::at_first_to(&cluster, isolated);
    let leader = join(&ways.servers(), "a", LEASE).await;
    let token = leader.won(1).await.token;
    ways.open();
    let other = join(&cluster.addresses(), "b", LEASE).await;
    other.observes("a").await;
    let probe = Probe::of(&[&leader, &other]);

    cluster.isolate(isolated);
    let elsewhere = (isolated + 1) % 3;
    wait::until("another leader of the stream", ELECTION, || {
        cluster.stream_leader_seen_by(elsewhere, STREAM).is_some_and(|node| node != isolated)
    });
    Pair { leader, other, token, probe }.goes_on().await;
    cluster.heal();
}

/// The stream's leading server is isolated in the same way, but the lease is too short to survive that. Candidates
/// connect to the isolated server while no other server leads the stream, and it answers that a write is in flight. The
/// candidates find the other servers, and the next leader has a larger token.
#[tokio::test(flavor = "multi_thread")]
async fn candidates_do_not_stay_with_an_isolated_server() {
    let cluster = NatsCluster::start_partitionable(3, Options::new());
    make_bucket(&cluster, TOO_SHORT).await;
    let isolated = cluster.stream_leader(STREAM);
    // The next connection goes to a server that was not tried before. That is the isolated one, and the other servers
    // have not elected a leader yet.
    let ways = Ways::at_first_to(&cluster, (isolated + 1) % 3);
    let a = join(&ways.servers(), "a", TOO_SHORT).await;
    let token = a.won(1).await.token;
    let b = join(&ways.servers(), "b", TOO_SHORT).await;
    b.observes("a").await;
    ways.open();
    let probe = Probe::of(&[&a, &b]);

    cluster.isolate(isolated);
    assert_eq!(a.lost(1).await.reason, Reason::Expired);
    let (_, next) = next_leader(&[&a, &b], token).await;
    assert!(next.token > token);
    cluster.heal();
    probe.verdict();
}
