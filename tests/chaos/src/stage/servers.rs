//! One server or three, and the faults made to them.

use incumbent_testkit::nats::{NatsCluster, NatsServer, Options};

/// The servers of a run.
#[derive(Debug)]
pub(crate) enum Servers {
    One(Box<NatsServer>),
    Three(NatsCluster),
}

impl Servers {
    /// Starts them, and waits until they serve.
    pub(crate) fn start(count: usize) -> Self {
        match count {
            1 => Self::One(Box::new(NatsServer::start(Options::new()))),
            _ => Self::Three(NatsCluster::start_partitionable(count, Options::new())),
        }
    }

    fn nodes(&self) -> &[NatsServer] {
        match self {
            Self::One(server) => std::slice::from_ref(server),
            Self::Three(cluster) => cluster.nodes(),
        }
    }

    fn node(&mut self, at: usize) -> &mut NatsServer {
        match self {
            Self::One(server) => server,
            Self::Three(cluster) => &mut cluster[at],
        }
    }

    /// The address of each, `127.0.0.1:PORT`.
    pub(crate) fn addresses(&self) -> Vec<String> {
        self.nodes().iter().map(NatsServer::address).collect()
    }

    /// The replicas of a bucket.
    pub(crate) fn replicas(&self) -> u32 {
        match self {
            Self::One(_) => 1,
            Self::Three(_) => 3,
        }
    }

    /// The server that reports that it leads the bucket's stream.
    pub(crate) fn stream_leader(&self, bucket: &str) -> Option<usize> {
        let Self::Three(cluster) = self else { return Some(0) };
        let stream = format!("KV_{bucket}");
        (0..cluster.nodes().len()).find(|at| cluster.stream_leader_seen_by(*at, &stream) == Some(*at))
    }

    /// The server that leads the cluster's JetStream.
    pub(crate) fn meta_leader(&self) -> usize {
        match self {
            Self::One(_) => 0,
            Self::Three(cluster) => cluster.meta_leader(),
        }
    }

    /// Kills these servers.
    pub(crate) fn kill(&mut self, which: &[usize]) {
        which.iter().for_each(|at| self.node(*at).kill());
    }

    /// Starts these servers again, and waits until all are well.
    pub(crate) fn respawn(&mut self, which: &[usize]) {
        which.iter().for_each(|at| self.node(*at).respawn());
        self.wait_ready();
    }

    /// Stops these servers (SIGSTOP).
    pub(crate) fn pause(&self, which: &[usize]) {
        which.iter().for_each(|at| self.nodes()[*at].pause());
    }

    /// Lets these servers go on, and waits until all are well.
    pub(crate) fn resume(&mut self, which: &[usize]) {
        which.iter().for_each(|at| self.nodes()[*at].resume());
        self.wait_ready();
    }

    /// Restarts one after the other, in good order.
    pub(crate) fn roll(&mut self) {
        for at in 0..self.nodes().len() {
            self.node(at).stop();
            self.respawn(&[at]);
        }
    }

    /// Cuts one off from the rest.
    pub(crate) fn isolate(&self, at: usize) {
        if let Self::Three(cluster) = self {
            cluster.isolate(at);
        }
    }

    /// Ends every isolation, and waits until all are well.
    pub(crate) fn heal(&mut self) {
        if let Self::Three(cluster) = self {
            cluster.heal();
        }
        self.wait_ready();
    }

    fn wait_ready(&mut self) {
        match self {
            // The pulse shows that it is up, and that is awaited anyway.
            Self::One(_) => {}
            Self::Three(cluster) => cluster.wait_ready(),
        }
    }

    /// The end of each log.
    pub(crate) fn logs(&self) -> String {
        self.nodes().iter().map(|node| format!("--- {}\n{}\n", node.name(), node.log_tail())).collect()
    }
}
