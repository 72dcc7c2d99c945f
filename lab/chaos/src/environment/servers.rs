//! The servers of a run, and the faults that are made in them.

use incumbent_testkit::etcd::{self, EtcdCluster};
use incumbent_testkit::nats::{NatsCluster, NatsServer, Options};
use incumbent_testkit::wait;

use crate::kind::Kind;
use crate::scenario::{Scenario, StoreKind};

/// The longest time that etcd members may take to serve again after a fault, on a busy machine.
const WHOLE: std::time::Duration = std::time::Duration::from_secs(90);
/// With these options etcd members elect a leader within a second or two, and grant leases from 1 s on.
const FAST_ELECTIONS: [&str; 2] = ["--heartbeat-interval=60", "--election-timeout=600"];

/// The servers of a run.
#[derive(Debug)]
pub(crate) enum Servers {
    One(Box<NatsServer>),
    Three(NatsCluster),
    Etcd(EtcdCluster),
}

impl Servers {
    /// Starts the servers, and waits until they serve.
    pub(crate) fn start(scenario: &Scenario) -> Self {
        match (scenario.store, scenario.servers) {
            (StoreKind::Nats, 1) => Self::One(Box::new(NatsServer::start(Options::new()))),
            (StoreKind::Nats, count) => Self::Three(NatsCluster::start_partitionable(count, Options::new())),
            (StoreKind::Etcd, count) => {
                let options = etcd::Options::new().arguments(FAST_ELECTIONS);
                Self::Etcd(EtcdCluster::start_partitionable(count, options))
            }
        }
    }

    /// The address of each, `127.0.0.1:PORT`.
    pub(crate) fn addresses(&self) -> Vec<String> {
        match self {
            Self::One(server) => vec![server.address()],
            Self::Three(cluster) => cluster.nodes().iter().map(NatsServer::address).collect(),
            Self::Etcd(cluster) => cluster.iter().map(etcd::EtcdServer::address).collect(),
        }
    }

    /// The replicas of a bucket.
    pub(crate) fn replicas(&self) -> u32 {
        match self {
            Self::One(_) => 1,
            Self::Three(_) | Self::Etcd(_) => 3,
        }
    }

    /// The target of this fault: the server that reports that it leads the bucket's stream, or the cluster.
    pub(crate) fn leader(&self, kind: Kind, bucket: &str) -> Option<usize> {
        match self {
            Self::One(_) => Some(0),
            Self::Three(cluster) if kind == Kind::KillMetaLeader => Some(cluster.meta_leader()),
            Self::Three(cluster) => {
                let stream = format!("KV_{bucket}");
                let leads = |at: &usize| cluster.stream_leader_seen_by(*at, &stream) == Some(*at);
                (0..cluster.nodes().len()).find(leads)
            }
            Self::Etcd(cluster) => Some(cluster.leader()),
        }
    }

    /// Kills these servers.
    pub(crate) fn kill(&mut self, which: &[usize]) {
        for at in which {
            match self {
                Self::One(server) => server.kill(),
                Self::Three(cluster) => cluster[*at].kill(),
                Self::Etcd(cluster) => cluster[*at].kill(),
            }
        }
    }

    /// Starts these servers again, and waits until all servers are healthy.
    pub(crate) fn respawn(&mut self, which: &[usize]) {
        match self {
            Self::One(server) => server.respawn(),
            Self::Three(cluster) => which.iter().for_each(|at| cluster[*at].respawn()),
            Self::Etcd(cluster) => cluster.restart(which),
        }
        self.wait_ready();
    }

    /// Stops these servers (SIGSTOP).
    pub(crate) fn pause(&self, which: &[usize]) {
        for at in which {
            match self {
                Self::One(server) => server.pause(),
                Self::Three(cluster) => cluster[*at].pause(),
                Self::Etcd(cluster) => cluster[*at].pause(),
            }
        }
    }

    /// Resumes these servers, and waits until all servers are healthy.
    pub(crate) fn resume(&mut self, which: &[usize]) {
        for at in which {
            match self {
                Self::One(server) => server.resume(),
                Self::Three(cluster) => cluster[*at].resume(),
                Self::Etcd(cluster) => cluster[*at].resume(),
            }
        }
        self.wait_ready();
    }

    /// Restarts the servers one after the other; cleanly, if the server can.
    pub(crate) fn roll(&mut self) {
        for at in 0..self.addresses().len() {
            match self {
                Self::One(server) => server.stop(),
                Self::Three(cluster) => cluster[at].stop(),
                // An etcd member is killed when it is restarted.
                Self::Etcd(_) => {}
            }
            self.respawn(&[at]);
        }
    }

    /// Cuts one server off from the rest.
    pub(crate) fn isolate(&self, at: usize) {
        match self {
            Self::One(_) => {}
            Self::Three(cluster) => cluster.isolate(at),
            Self::Etcd(cluster) => cluster.isolate(at),
        }
    }

    /// Cuts two etcd members off from each other.
    pub(crate) fn separate(&self, one: usize, other: usize) {
        if let Self::Etcd(cluster) = self {
            cluster.separate(one, other);
        }
    }

    /// Ends every cut between servers, and waits until all servers are healthy.
    pub(crate) fn heal(&mut self) {
        match self {
            Self::One(_) => {}
            Self::Three(cluster) => cluster.heal(),
            Self::Etcd(cluster) => cluster.heal(),
        }
        self.wait_ready();
    }

    fn wait_ready(&mut self) {
        match self {
            // The caller waits for the independent client's writes, which show that the server is up.
            Self::One(_) => {}
            Self::Three(cluster) => cluster.wait_ready(),
            Self::Etcd(cluster) => {
                let whole = || cluster.iter().all(etcd::EtcdServer::is_healthy);
                wait::until("every member of etcd to serve", WHOLE, whole);
            }
        }
    }

    /// The last lines of each log.
    pub(crate) fn logs(&self) -> String {
        let nats = |node: &NatsServer| format!("--- {}\n{}\n", node.name(), node.log_tail());
        match self {
            Self::One(server) => nats(server),
            Self::Three(cluster) => cluster.nodes().iter().map(nats).collect(),
            Self::Etcd(cluster) => {
                let of = |(at, member): (usize, &etcd::EtcdServer)| {
                    format!("--- e{}\n{}\n", at + 1, member.log_tail())
                };
                cluster.iter().enumerate().map(of).collect()
            }
        }
    }
}
