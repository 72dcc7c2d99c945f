//! A cluster of nats-servers on one machine.

use std::ops::{Index, IndexMut};
use std::time::Duration;

use super::{NatsServer, Options, monitor};
use crate::port::Port;
use crate::proxy::Proxy;
use crate::wait;

/// The longest time that a cluster may take to elect its leaders, on a machine that also runs other tests.
const ELECTION: Duration = Duration::from_secs(90);
const STARTS: usize = 5;

/// A cluster of nats-servers with JetStream; its nodes are `cluster[0]` and so on.
///
/// Clients know only the addresses that they are given, because the nodes do not advertise each other to clients. So a
/// client that connects through a proxy keeps using that proxy. [An option](Options::advertised) makes the nodes
/// advertise each other.
#[derive(Debug)]
pub struct NatsCluster {
    nodes: Vec<NatsServer>,
    links: Vec<Link>,
    _routes: Vec<Port>,
}

/// The proxy through which one node dials another.
#[derive(Debug)]
struct Link {
    from: usize,
    to: usize,
    proxy: Proxy,
}

impl NatsCluster {
    /// Starts `size` servers, and waits until streams with that many replicas can be made.
    ///
    /// # Panics
    /// When a server does not start; the message gives the reason.
    #[track_caller]
    pub fn start(size: usize) -> Self {
        Self::start_with(size, Options::new())
    }

    /// Like [`start`](Self::start), with options for every node.
    #[track_caller]
    pub fn start_with(size: usize, options: Options) -> Self {
        Self::try_often(|| {
            let routes: Vec<Port> = (0..size).map(|_| Port::free()).collect();
            let addresses: Vec<String> = routes.iter().map(address).collect();
            let config = |at: usize| cluster_config(&routes[at], None, &addresses, options.is_advertised);
            let nodes = (0..size).map(|at| NatsServer::prepare(&name(at), &options, config(at)));
            Self { nodes: nodes.collect(), links: Vec::new(), _routes: routes }
        })
    }

    /// Like [`start_with`](Self::start_with), with a proxy on every route between two nodes, so that nodes can be
    /// [isolated](Self::isolate) from each other.
    ///
    /// # Panics
    /// When a server does not start; the message gives the reason.
    #[track_caller]
    pub fn start_partitionable(size: usize, options: Options) -> Self {
        Self::try_often(|| {
            let routes: Vec<Port> = (0..size).map(|_| Port::free()).collect();
            // Nodes tell each other an address to dial. The advertised ports have no listener, so every route
            // uses a proxy.
            let mut nowhere: Vec<Port> = (0..size).map(|_| Port::free()).collect();
            let pairs = (0..size).flat_map(|from| (0..size).map(move |to| (from, to)));
            let link =
                |(from, to): (usize, usize)| Link { from, to, proxy: Proxy::to(&address(&routes[to])) };
            let links: Vec<Link> = pairs.filter(|(from, to)| from != to).map(link).collect();
            let config = |at: usize| {
                let dialled: Vec<String> =
                    links.iter().filter(|link| link.from == at).map(|link| link.proxy.address()).collect();
                cluster_config(&routes[at], Some(&nowhere[at]), &dialled, false)
            };
            let nodes = (0..size).map(|at| NatsServer::prepare(&name(at), &options, config(at))).collect();
            let mut reserved = routes;
            reserved.append(&mut nowhere);
            Self { nodes, links, _routes: reserved }
        })
    }

    #[track_caller]
    fn try_often(prepare: impl Fn() -> Self) -> Self {
        for _ in 0..STARTS {
            let mut cluster = prepare();
            cluster.nodes.iter_mut().for_each(NatsServer::spawn);
            if cluster.nodes.iter_mut().all(NatsServer::becomes_healthy) {
                cluster.wait_ready();
                return cluster;
            }
        }
        panic!("no cluster could be started: another program took its ports {STARTS} times");
    }

    /// Cuts a node off from all others, like a network that drops all packets; clients still reach all nodes.
    ///
    /// # Panics
    /// When the cluster was not started as [partitionable](Self::start_partitionable).
    #[track_caller]
    pub fn isolate(&self, node: usize) {
        let touched = self.links.iter().filter(|link| link.from == node || link.to == node);
        assert!(touched.clone().count() > 0, "this cluster was not started as partitionable");
        touched.for_each(|link| link.proxy.cut());
    }

    /// Ends every isolation.
    pub fn heal(&self) {
        self.links.iter().for_each(|link| link.proxy.heal());
    }

    /// Waits until all nodes serve and agree on a meta leader, and the meta leader sees all other nodes up to date.
    ///
    /// # Panics
    /// When that does not happen.
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

    /// The URLs of all nodes, for clients.
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

    /// Waits for the leader of the cluster's JetStream, and returns its node.
    ///
    /// # Panics
    /// When no running node reports that it leads.
    #[track_caller]
    pub fn meta_leader(&self) -> usize {
        self.leader("the cluster's meta leader", monitor::meta_leader)
    }

    /// Waits for the leader of `stream` (the bucket `B` is the stream `KV_B`), and returns its node.
    ///
    /// A node that was cut off from the others may still report itself as the leader for some seconds; to find the new
    /// leader, ask [one of the other nodes](Self::stream_leader_seen_by).
    ///
    /// # Panics
    /// When no running node reports that it leads.
    #[track_caller]
    pub fn stream_leader(&self, stream: &str) -> usize {
        self.leader(&format!("a leader of stream {stream}"), |port| monitor::stream_leader(port, stream))
    }

    /// The leader of `stream` according to `node`, or `None` if `node` knows of no leader.
    pub fn stream_leader_seen_by(&self, node: usize, stream: &str) -> Option<usize> {
        let leader = monitor::stream_leader(self.nodes[node].monitor_port(), stream)?;
        self.nodes.iter().position(|node| node.name() == leader)
    }

    /// The first node that reports itself as leader.
    #[track_caller]
    fn leader(&self, what: &str, ask: impl Fn(u16) -> Option<String>) -> usize {
        let names_itself = |node: &NatsServer| ask(node.monitor_port()).as_deref() == Some(node.name());
        wait::until_some(what, ELECTION, || self.nodes.iter().position(names_itself))
    }
}

fn name(at: usize) -> String {
    format!("n{}", at + 1)
}

fn address(port: &Port) -> String {
    format!("127.0.0.1:{}", port.number())
}

fn cluster_config(listen: &Port, advertise: Option<&Port>, routes: &[String], clients: bool) -> String {
    let routes: Vec<String> = routes.iter().map(|route| format!("\"nats://{route}\"")).collect();
    let advertise = advertise.map(|port| format!("advertise: \"{}\",", address(port))).unwrap_or_default();
    format!(
        "cluster {{ name: kit, listen: \"{}\", {advertise} no_advertise: {}, routes: [{}] }}",
        address(listen),
        !clients,
        routes.join(", ")
    )
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
