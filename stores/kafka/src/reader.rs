//! The reader of a connection: partition zero of the leader topics, for the campaigns and for observers.
//!
//! A librdkafka client may show nothing of a topic, permanently and without an event. If a topic was recreated and the
//! earlier one had a larger leader epoch, the client takes the new topic's metadata for outdated, and each of its
//! fetches is refused (`UNKNOWN_LEADER_EPOCH`). So the reader asks the brokers where a log ends. If the log's records
//! are not shown within a bound, a new client reads the log. The campaigns of that log see the change as a gap, which
//! costs a wait at most.
//!
//! No client is ever a member of a group. `logs` decides; this module has the clients, each with a thread that polls
//! it, and the queries to the brokers, which block and so have their own threads.

mod log;
mod logs;

use std::collections::HashSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::{Duration, Instant};

use incumbent_core::Revision;
use incumbent_core::induction::TopicId;
use incumbent_core::record::Entry;
use incumbent_core::store::Fault;
use tokio::runtime::Handle;
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};

use super::cluster::Cluster;
use super::native::{Consumer, DroppedApart};
use super::producer::{can_start_client, no_client};
use incumbent_store::EntryInfo;
use incumbent_store::threads;
pub(crate) use logs::Change;

use log::ClientId;
use logs::{Logs, Order};

/// The longest wait for an event.
const POLL: Duration = Duration::from_millis(500);

/// The longest wait for a client's first connection.
const CONNECTING: Duration = Duration::from_secs(1);

/// The reader of a connection.
pub(crate) struct Reader(Arc<Shared>);

struct Shared {
    cluster: Arc<Cluster>,
    /// Runs the queries.
    runtime: Handle,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    logs: Logs,
    /// The reading clients, oldest first. Each is owned by its thread.
    clients: Vec<(ClientId, Weak<DroppedApart<Consumer>>)>,
}

impl Reader {
    /// # Errors
    /// `InvalidSetting` for settings that the client refuses, `Broken` without a thread.
    pub(crate) fn open(cluster: &Arc<Cluster>) -> incumbent_store::Result<Self> {
        let cluster = Arc::clone(cluster);
        let shared = Arc::new(Shared { cluster, runtime: Handle::current(), state: Mutex::default() });
        shared.add_client()?;
        Ok(Self(shared))
    }

    /// Reads the election's topic, from its newest records on, for a campaign with this lease.
    pub(crate) fn follow(&self, election: &str, topic: &str, lease: Duration) {
        self.0.lock().logs.follow(election, topic, lease, Instant::now());
        self.0.wake();
    }

    /// Records the topic's id, from an inspection that the topic's campaigns know of.
    pub(crate) fn identified(&self, topic: &str, id: TopicId) {
        self.0.lock().logs.identified(topic, id, Instant::now());
        self.0.wake();
    }

    /// Reports that a record was appended at this offset, and must be shown within a lease.
    pub(crate) fn appended(&self, topic: &str, offset: Revision, lease: Duration) {
        self.0.lock().logs.expect(topic, offset.0, lease, Instant::now());
    }

    /// The changes of all logs from now on.
    pub(crate) fn watch(&self) -> UnboundedReceiver<Change> {
        let (sender, receiver) = unbounded_channel();
        self.0.lock().logs.watch = Some(sender);
        receiver
    }

    /// The leader according to all records that the log has now. If the topic is not being read yet, the reading begins
    /// with its newest records. If the topic does not exist, the reading begins once it does.
    pub(crate) async fn entry(&self, election: &str) -> Result<(Entry, Option<EntryInfo>), Fault> {
        let topic = self.0.cluster.settings.topic_of(election);
        let asked = topic.clone();
        let extent = self.0.cluster.ask(move |cluster| cluster.extent(&asked, None)).await;
        let read = self.0.lock().logs.question(election, &topic, extent, Instant::now())?;
        self.0.wake();
        if let Some(read) = read {
            // An answer is missing only if the reader has closed.
            read.await.unwrap_or(Ok(()))?;
        }
        Ok(self.0.lock().logs.leader(&topic))
    }

    /// The leader according to records read within the last second, if any.
    pub(crate) fn shown(&self, election: &str) -> Option<Entry> {
        self.0.lock().logs.shown(&self.0.cluster.settings.topic_of(election), Instant::now())
    }

    pub(crate) fn close(&self) {
        self.0.lock().logs.close();
        self.0.wake();
    }
}

impl Drop for Reader {
    fn drop(&mut self) {
        self.close();
    }
}

impl Shared {
    /// Locks the state, which is never locked while a client or a broker is queried.
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wake(&self) {
        let clients: Vec<_> = self.lock().clients.iter().filter_map(|(_, client)| client.upgrade()).collect();
        for client in clients {
            client.wake();
        }
    }

    /// Creates another client, which reads the logs assigned to it from now on.
    fn add_client(self: &Arc<Self>) -> incumbent_store::Result<()> {
        can_start_client("a reader")?;
        let consumer = Consumer::new(&self.cluster.settings.reader("incumbent"));
        let consumer = consumer.map_err(|error| no_client("a reader", &error))?;
        let consumer = Arc::new(DroppedApart::new(consumer));
        let polled = Arc::downgrade(&consumer);
        let id = {
            let mut state = self.lock();
            let id = state.logs.add_client();
            state.clients.push((id, polled));
            id
        };
        let polling = Polling { id, consumer, shared: Arc::clone(self), read: HashSet::new() };
        let thread = std::thread::Builder::new().name("incumbent-reader".into());
        let spawned = thread.spawn(move || polling.run());
        spawned.map(drop).map_err(|error| {
            let mut state = self.lock();
            state.logs.remove_client(id);
            state.clients.retain(|(other, _)| *other != id);
            threads::refused("a reader", Some(error))
        })
    }

    /// Asks the brokers where a log begins and ends, without waiting for the answer.
    fn ask(self: &Arc<Self>, topic: String, within: Option<Duration>) {
        let shared = Arc::clone(self);
        self.runtime.spawn_blocking(move || {
            let extent = shared.cluster.extent(&topic, within);
            shared.lock().logs.answered(&topic, extent, Instant::now());
            shared.wake();
        });
    }
}

/// The thread of a client.
struct Polling {
    id: ClientId,
    consumer: Arc<DroppedApart<Consumer>>,
    shared: Arc<Shared>,
    /// The topics that its client reads.
    read: HashSet<String>,
}

impl Polling {
    fn run(mut self) {
        self.consumer.connect(CONNECTING);
        loop {
            let now = Instant::now();
            let (others, orders, next) = {
                let mut state = self.shared.lock();
                if !state.logs.needs(self.id) {
                    let id = self.id;
                    state.logs.remove_client(id);
                    state.clients.retain(|(other, _)| *other != id);
                    break;
                }
                let (orders, next) = state.logs.orders(self.id, now);
                let others: Vec<_> =
                    self.read.extract_if(|topic| !state.logs.is_read_by(topic, self.id)).collect();
                (others, orders, next)
            };
            for topic in others {
                self.consumer.stop_reading(&topic);
            }
            for order in orders {
                self.obey(order);
            }
            let next = next.map_or(POLL, |next| next.saturating_duration_since(now).min(POLL));
            if let Some(event) = self.consumer.poll(next) {
                self.shared.lock().logs.handle(self.id, event, Instant::now());
            }
        }
        // A reader is not a member, so there is nothing to leave.
        drop(self.consumer);
    }

    fn obey(&mut self, order: Order) {
        match order {
            Order::Ask { topic, within } => self.shared.ask(topic, within),
            Order::Read { topic, from } => {
                self.consumer.read_from(&topic, from);
                self.read.insert(topic);
            }
            Order::AddClient => {
                if let Err(error) = self.shared.add_client() {
                    tracing::warn!("cannot create another client to read a topic: {error}");
                }
            }
        }
    }
}
