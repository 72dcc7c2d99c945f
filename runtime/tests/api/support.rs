//! Helpers for the tests of the public API.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use futures_util::StreamExt;
use futures_util::stream::{self, BoxStream};
use incumbent::incumbent_core::record::Entry;
use incumbent::incumbent_core::store::{Capabilities, Fault, FaultKind, Outcome, StoreInfo, Write};
use incumbent::store::{Adapter, Memory, MemorySettings, WatchEvent, Watched};
use incumbent::{CampaignOptions, Candidate, Clock, Event, Events, Preset, Reason, Store};

/// A time limit far longer than any step takes, even on a busy machine.
const GENEROUS: Duration = Duration::from_secs(60);

/// A lease that does not end merely because the machine is busy.
pub(crate) const LEASE: Duration = Duration::from_secs(10);

/// A lease for a test that waits for its end. The shortest lease with time for a retry is slightly below this.
pub(crate) const SHORT: Duration = Duration::from_millis(800);

/// The distance between two deadlines that have at least two renewals between them. There are three renewals per lease.
pub(crate) const TWO_RENEWALS: Duration = Duration::from_secs(5);

/// A candidate without splay.
pub(crate) fn options(name: &str) -> CampaignOptions {
    CampaignOptions::new().name(name).preset(Preset::Test).lease(LEASE).splay(Duration::ZERO)
}

/// A candidate in the election `jobs` of its own store.
pub(crate) async fn alone(options: CampaignOptions) -> Candidate {
    let store = Store::open("memory:").await.unwrap();
    store.campaign("jobs", options).await.unwrap()
}

/// Waits, but no longer than [`GENEROUS`].
pub(crate) async fn soon<F: IntoFuture>(work: F) -> F::Output {
    tokio::time::timeout(GENEROUS, work).await.expect("it takes too long")
}

/// Waits until `done` returns true.
pub(crate) async fn until(mut done: impl FnMut() -> bool) {
    soon(async {
        while !done() {
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    })
    .await;
}

/// The reason of the next loss.
pub(crate) async fn lost(events: &mut Events) -> Reason {
    loop {
        match soon(events.next()).await.expect("the campaign is over") {
            Event::Lost { reason, .. } => return reason,
            _ => continue,
        }
    }
}

/// A store in memory with switches.
#[derive(Clone)]
pub(crate) struct Switched {
    pub(crate) memory: Memory,
    pub(crate) switches: Arc<Switches>,
}

#[derive(Default)]
pub(crate) struct Switches {
    /// Inspections fail.
    pub(crate) unreachable: AtomicBool,
    /// Writes and reads are never answered.
    pub(crate) silent: AtomicBool,
    /// The watch always has something to show, and a separate task carries out each write, as with a network client.
    pub(crate) floods: AtomicBool,
    /// The next write panics.
    pub(crate) panics: AtomicBool,
    /// The number of times that a connection was closed.
    pub(crate) closed: AtomicUsize,
    /// Inspections so far.
    pub(crate) inspections: AtomicUsize,
    /// Watches so far.
    pub(crate) watches: AtomicUsize,
    /// Releases so far.
    pub(crate) releases: AtomicUsize,
}

impl Switched {
    pub(crate) fn new(clock: &Clock) -> Self {
        let memory = Memory::open(&MemorySettings::private(), clock).unwrap();
        Self { memory, switches: Arc::default() }
    }

    /// Never returns while the store is silent.
    async fn answer(&self) {
        if self.switches.silent.load(Ordering::SeqCst) {
            std::future::pending().await
        }
    }

    pub(crate) fn store(&self, clock: &Clock) -> Store {
        Store::from_adapter(Box::new(self.clone()), clock.clone()).unwrap()
    }
}

#[async_trait]
impl Adapter for Switched {
    fn capabilities(&self) -> Capabilities {
        self.memory.capabilities()
    }

    fn check_key(&self, key: &str) -> incumbent::Result<()> {
        self.memory.check_key(key)
    }

    fn check_name(&self, name: &str) -> incumbent::Result<()> {
        self.memory.check_name(name)
    }

    async fn inspect(&self) -> Result<StoreInfo, Fault> {
        self.switches.inspections.fetch_add(1, Ordering::SeqCst);
        if self.switches.unreachable.load(Ordering::SeqCst) {
            return Err(Fault { kind: FaultKind::Unreachable, detail: "switched off".into() });
        }
        self.memory.inspect().await
    }

    async fn write(&self, key: &str, write: Write) -> Outcome {
        assert!(!self.switches.panics.load(Ordering::SeqCst), "this adapter is set to panic");
        self.answer().await;
        if matches!(write.action, incumbent_core::store::Action::Release { .. }) {
            self.switches.releases.fetch_add(1, Ordering::SeqCst);
        }
        if self.switches.floods.load(Ordering::SeqCst) {
            let (memory, key) = (self.memory.clone(), key.to_owned());
            let task = tokio::spawn(async move { memory.write(&key, write).await });
            return task.await.expect("the task neither panics nor is cancelled");
        }
        self.memory.write(key, write).await
    }

    async fn read(&self, key: &str) -> Result<Entry, Fault> {
        self.answer().await;
        self.memory.read(key).await
    }

    async fn list(&self) -> Result<Vec<WatchEvent>, Fault> {
        self.memory.list().await
    }

    async fn watch(&self) -> Result<BoxStream<'static, Watched>, Fault> {
        self.switches.watches.fetch_add(1, Ordering::SeqCst);
        let shown = self.memory.watch().await?;
        if self.switches.floods.load(Ordering::SeqCst) {
            let other = || Watched::Entry(WatchEvent { key: "other".into(), entry: Entry::Vacant });
            return Ok(stream::select(shown, stream::repeat_with(other)).boxed());
        }
        Ok(shown)
    }

    async fn reconnect(&self) {
        self.memory.reconnect().await;
    }

    async fn close(&self) {
        self.switches.closed.fetch_add(1, Ordering::SeqCst);
        self.memory.close().await;
    }
}
