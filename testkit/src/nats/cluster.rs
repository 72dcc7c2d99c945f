//! A cluster of nats-servers on one machine.

use std::ops::{Index, IndexMut};
use std::time::Duration;

use super::{NatsServer, Options, monitor};
use crate::port::Port;
use crate::wait;

/// How long a cluster may take to elect its leaders, on a machine that runs other tests as well.
const ELECTION: Duration = Duration::from_secs(90);
const STARTS: usize = 5;

/// A cluster of nats-servers with JetStream; its nodes are `cluster[0]` and so on.
///
/// Clients know only the addresses they are given: the nodes do not advertise each other, so that a
/// client which is meant to go through a proxy stays there.
#[derive(Debug)]
pub struct NatsCluster {
    nodes: Vec<NatsServer>,
    _routes: Vec<Port>,
}

impl NatsCluster {
    /// Starts `size` servers, and waits until streams with that many replicas can be made.
    ///
    /// # Panics
    /// When a server does not start; the message says why.
    #[track_caller]
    pub fn start(size: usize) -> Self {
        Self::start_with(size, Options::new())
    }

    /// As [`start`](Self::start), with options for every node.
    #[track_caller]
    pub fn start_with(size: usize, options: Options) -> Self {
        for _ in 0..STARTS {
            let mut cluster = Self::prepare(size, &options);
            cluster.nodes.iter_mut().for_each(NatsServer::spawn);
            if cluster.nodes.iter_mut().all(NatsServer::becomes_healthy) {
                cluster.wait_ready();
                return cluster;
            }
        }
        panic!("no cluster could be started: {STARTS} times, another program took its ports");
    }

    #[track_caller]
    fn prepare(size: usize, options: &Options) -> Self {
        let routes: Vec<Port> = (0..size).map(|_| Port::free()).collect();
        let addresses: Vec<String> =
            routes.iter().map(|port| format!("\"nats://127.0.0.1:{}\"", port.number())).collect();
        let node = |(at, route): (usize, &Port)| {
            let cluster = format!(
                "cluster {{ name: kit, listen: \"127.0.0.1:{}\", no_advertise: true, routes: [{}] }}",
                route.number(),
                addresses.join(", ")
            );
            NatsServer::prepare(&format!("n{}", at + 1), options, cluster)
        };
        let nodes = routes.iter().enumerate().map(node).collect();
        Self { nodes, _routes: routes }
    }

    /// Waits until all nodes serve, agree on a meta leader, and it sees them up to date.
    ///
    /// # Panics
    /// When that does not come about.
    #[track_caller]
    pub fn wait_ready(&self) {
        wait::until("the cluster to be whole", ELECTION, || {
            let ports = || self.nodes.iter().map(NatsServer::monitor_port);
            let leader = ports().next().and_then(monitor::meta_leader);
            let agreed =
                ports().all(|port| monitor::is_healthy(port) && monitor::meta_leader(port) == leader);
            let leads = |node: &&NatsServer| leader.as_deref() == Some(node.name());
            agreed
                && self
                    .nodes
                    .iter()
                    .find(leads)
                    .is_some_and(|node| monitor::meta_followers(node.monitor_port()) + 1 == self.nodes.len())
        });
    }

    /// Where clients connect: all nodes.
    pub fn urls(&self) -> Vec<String> {
        self.nodes.iter().map(NatsServer::url).collect()
    }

    /// The nodes' addresses, `127.0.0.1:PORT`, separated by commas.
    pub fn addresses(&self) -> String {
        self.nodes.iter().map(NatsServer::address).collect::<Vec<_>>().join(",")
    }

    /// The nodes.
    pub fn nodes(&self) -> &[NatsServer] {
        &self.nodes
    }

    /// Which node leads the cluster's JetStream, waited for.
    ///
    /// # Panics
    /// When no running node says it leads.
    #[track_caller]
    pub fn meta_leader(&self) -> usize {
        self.leader("the cluster's meta leader", monitor::meta_leader)
    }

    /// Which node leads `stream` (the bucket `B` is the stream `KV_B`), waited for.
    ///
    /// A node that was cut off from the others may still name itself for some seconds.
    ///
    /// # Panics
    /// When no running node says it leads.
    #[track_caller]
    pub fn stream_leader(&self, stream: &str) -> usize {
        self.leader(&format!("a leader of stream {stream}"), |port| monitor::stream_leader(port, stream))
    }

    /// The first node that names itself when asked.
    #[track_caller]
    fn leader(&self, what: &str, ask: impl Fn(u16) -> Option<String>) -> usize {
        let names_itself = |node: &NatsServer| ask(node.monitor_port()).as_deref() == Some(node.name());
        wait::until_some(what, ELECTION, || self.nodes.iter().position(names_itself))
    }
}

impl Index<usize> for NatsCluster {
    type Output = NatsServer;

    fn index(&self, at: usize) -> &NatsServer {
        &self.nodes[at]
    }
}

impl IndexMut<usize> for NatsCluster {
    fn index_mut(&mut self, at: usize) -> &mut NatsServer {
        &mut self.nodes[at]
    }
}
