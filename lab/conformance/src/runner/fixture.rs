//! The runner's access to the store and to the network: through the harness, or directly where the harness has no
//! access.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use incumbent::store::{Memory, StoreAdmin, StoreSettings};
use incumbent::testing::{Faults, Faulty};
use incumbent::{Clock, Store};

use super::harness::Harness;
use super::implementation::{Implementation, OpenStore};
use super::play::Setup;
use crate::harness::{Prepared, Request, StoreKind};
use crate::scenario::{Need, Scenario};

/// The faults that this runner can make in a store, with the harness's help.
pub fn offers(kind: StoreKind) -> BTreeSet<Need> {
    let own: &[Need] = match kind {
        StoreKind::Memory => &[Need::Operator, Need::Reset, Need::Network, Need::Kill],
        StoreKind::Sqlite => &[Need::Network, Need::Kill],
        StoreKind::Nats | StoreKind::Etcd | StoreKind::Kafka => &[],
    };
    kind.offers().into_iter().chain(own.iter().copied()).collect()
}

/// The store of a scenario, and the faults that can be made in it.
pub(super) struct Fixture {
    implementation: Arc<dyn Implementation>,
    harness: Harness,
    /// The store that the harness made.
    prepared: Prepared,
    lease: Duration,
    /// True if the runner itself cuts connections, instead of the harness.
    cuts: bool,
    own_store: Store,
    connections: BTreeMap<String, Connection>,
}

struct Connection {
    store: Arc<dyn OpenStore>,
    faults: Option<Faults>,
}

impl Fixture {
    pub(super) async fn new(setup: &Setup, kind: StoreKind, scenario: &Scenario) -> Result<Self, String> {
        if let Some(lacking) = scenario.lacks(&offers(kind)) {
            return Err(format!("the scenario {lacking}, which {kind} lacks"));
        }
        if let Some(why) = scenario.not_on.get(&kind) {
            return Err(format!("the scenario does not apply to {kind}: {why}"));
        }
        if let Some(why) = scenario.cannot(&*setup.implementation) {
            return Err(format!("these candidates cannot play the scenario: {why}"));
        }
        let mut harness = Harness::start(&setup.harness, setup.broker.as_deref()).await?;
        let connections = scenario.connections();
        let lease = scenario.lease(kind);
        let lease_ms = u64::try_from(lease.as_millis()).map_err(text)?;
        let request = Request::Prepare { store: kind, lease_ms, connections };
        let prepared = harness.ask(&request).await?.ok_or("the harness prepared nothing")?;
        let network = BTreeSet::from([Need::Network, Need::Kill]);
        let cuts = !scenario.needs.is_disjoint(&network) && prepared.offers.is_disjoint(&network);
        let own_store = Store::open(&prepared.url).await.map_err(text)?;
        let implementation = Arc::clone(&setup.implementation);
        Ok(Self { implementation, harness, prepared, lease, cuts, own_store, connections: BTreeMap::new() })
    }

    /// The runner's own connection.
    pub(super) fn own_store(&self) -> &Store {
        &self.own_store
    }

    /// Returns the store behind a connection. The first call opens it.
    pub(super) async fn open(&mut self, connection: &str) -> Result<Arc<dyn OpenStore>, String> {
        if let Some(open) = self.connections.get(connection) {
            return Ok(Arc::clone(&open.store));
        }
        let url = self.prepared.connections.get(connection).ok_or("the harness gave no URL for it")?;
        let clock = Clock::system();
        let (store, faults) = if self.cuts {
            let settings: StoreSettings = url.parse().map_err(text)?;
            let (faulty, faults) = Faulty::new(settings.open(&clock).await.map_err(text)?);
            (self.implementation.wrap(Box::new(faulty), clock)?, Some(faults))
        } else {
            (self.implementation.open(url, self.lease).await?, None)
        };
        self.connections.insert(connection.into(), Connection { store: Arc::clone(&store), faults });
        Ok(store)
    }

    pub(super) async fn delete(&mut self, key: &str) -> Result<(), String> {
        match self.own_memory()? {
            Some(memory) => memory.delete(key).await.map(drop).map_err(text),
            None => self.ask(&Request::DeleteKey { key: key.into() }).await,
        }
    }

    pub(super) async fn put(&mut self, key: &str, value: &str) -> Result<(), String> {
        match self.own_memory()? {
            Some(memory) => memory.put(key, value.as_bytes()).await.map(drop).map_err(text),
            None => self.ask(&Request::PutKey { key: key.into(), value: value.into() }).await,
        }
    }

    pub(super) async fn reset(&mut self) -> Result<(), String> {
        match self.own_memory()? {
            Some(memory) => {
                memory.reset();
                Ok(())
            }
            None => self.ask(&Request::ResetStore {}).await,
        }
    }

    pub(super) async fn cut(&mut self, connection: &str) -> Result<(), String> {
        match self.faults(connection) {
            Some(faults) => {
                faults.partition();
                Ok(())
            }
            None => self.ask(&Request::Cut { connection: connection.into() }).await,
        }
    }

    pub(super) async fn heal(&mut self, connection: &str) -> Result<(), String> {
        match self.faults(connection) {
            Some(faults) => {
                faults.heal();
                Ok(())
            }
            None => self.ask(&Request::Heal { connection: connection.into() }).await,
        }
    }

    /// From now on, lets nothing on this connection reach the store. The caller then calls [`forget`](Self::forget).
    pub(super) async fn kill(&mut self, connection: &str) -> Result<(), String> {
        match self.faults(connection) {
            Some(faults) => {
                faults.partition();
                Ok(())
            }
            None => self.ask(&Request::Kill { connection: connection.into() }).await,
        }
    }

    /// Drops a connection without closing it.
    pub(super) fn forget(&mut self, connection: &str) {
        self.connections.remove(connection);
    }

    pub(super) async fn stop_server(&mut self) -> Result<(), String> {
        self.ask(&Request::StopServer {}).await
    }

    pub(super) async fn start_server(&mut self) -> Result<(), String> {
        self.ask(&Request::StartServer {}).await
    }

    /// Ends everything, even after errors.
    pub(super) async fn end(mut self, timeout: Duration) -> Result<(), String> {
        let mut result = Ok(());
        let connections = std::mem::take(&mut self.connections);
        // Heals every connection first, so that no task waits for a connection that stays cut.
        connections.values().filter_map(|connection| connection.faults.as_ref()).for_each(Faults::heal);
        for (name, connection) in connections {
            let closing = tokio::time::timeout(timeout, connection.store.close()).await;
            if !matches!(closing, Ok(Ok(()))) && result.is_ok() {
                result = Err(format!("the store of {name} does not close: {closing:?}"));
            }
        }
        let _ = tokio::time::timeout(timeout, self.own_store.close()).await;
        let cleaned_up = self.harness.ask(&Request::CleanUp {}).await.map(drop);
        result.and(cleaned_up).and(self.harness.end().await)
    }

    async fn ask(&mut self, request: &Request) -> Result<(), String> {
        self.harness.ask(request).await.map(drop)
    }

    /// Returns the store in this process, if the scenario uses one. The harness has no access to such a store.
    fn own_memory(&self) -> Result<Option<Memory>, String> {
        match self.prepared.url.parse().map_err(text)? {
            StoreSettings::Memory(settings) => {
                Memory::open(&settings, &Clock::system()).map(Some).map_err(text)
            }
            _ => Ok(None),
        }
    }

    fn faults(&self, connection: &str) -> Option<Faults> {
        self.connections.get(connection)?.faults.clone()
    }
}

fn text(error: impl std::fmt::Display) -> String {
    error.to_string()
}
