//! A store that injects faults, for tests of programs that must survive them.
//!
//! ```
//! use incumbent::clock::Clock;
//! use incumbent::store::{Memory, MemorySettings};
//! use incumbent::testing::Faulty;
//!
//! # fn main() -> incumbent::Result<()> {
//! let memory = Memory::open(&MemorySettings::private(), &Clock::system())?;
//! let (store, faults) = Faulty::new(memory);
//! faults.lose_answers(1); // the next write is applied, and its answer is lost
//! faults.partition(); // from now on, until `faults.heal()`, nothing gets through
//! # drop(store);
//! # Ok(())
//! # }
//! ```

use std::collections::{HashMap, VecDeque};
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use futures_util::stream::{self, BoxStream, StreamExt};
use incumbent_core::Revision;
use incumbent_core::record::Entry;
use incumbent_core::store::{Capabilities, Fault, FaultKind, Outcome, StoreInfo, Write};
use tokio::sync::watch;

use incumbent_store::Result;
use incumbent_store::{Adapter, CandidateInfo, EntryInfo, Registry, StoreAdmin, WatchEvent, Watched};

/// A store that behaves as the inner one, except for the faults that its [`Faults`] inject.
#[derive(Debug)]
pub struct Faulty<A> {
    faults: Faults,
    inner: Arc<A>,
}

/// The handle that injects faults. A clone injects them into the same store.
///
/// Each fault of writes is requested for a number of writes. Writes meet the faults in the order of the requests, one
/// fault each. A partition, a delay and stale reads last until they are ended.
#[derive(Clone)]
pub struct Faults {
    shared: Arc<Shared>,
    store: Arc<dyn Adapter>,
}

#[derive(Debug)]
struct Shared {
    plan: Mutex<Plan>,
    /// The state of the connection. A change of it wakes the requests that wait.
    link: watch::Sender<Link>,
}

#[derive(Debug, Default)]
struct Plan {
    /// The faults of the next writes, and the number of writes for each.
    writes: VecDeque<(WriteFault, usize)>,
    held: VecDeque<(String, Write)>,
    delay: Duration,
    denied: Option<String>,
    stale: Option<HashMap<String, Entry>>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Link {
    cut: bool,
    /// The number of cuts. A request that waits for its answer during a cut gets none.
    cuts: u64,
    /// The number of times that watches were killed. All earlier watches are silent.
    kills: u64,
}

#[derive(Clone, Copy, Debug)]
enum WriteFault {
    LoseAnswer,
    LoseRequest,
    Hold,
    Busy,
}

impl Plan {
    fn next_fault(&mut self) -> Option<WriteFault> {
        let (fault, count) = self.writes.front_mut()?;
        let fault = *fault;
        *count -= 1;
        if *count == 0 {
            self.writes.pop_front();
        }
        Some(fault)
    }
}

impl<A: Adapter> Faulty<A> {
    /// Wraps `store`. The store has no faults until the handle injects some.
    pub fn new(store: A) -> (Self, Faults) {
        let shared = Shared { plan: Mutex::default(), link: watch::Sender::new(Link::default()) };
        let inner = Arc::new(store);
        let faults = Faults { shared: Arc::new(shared), store: inner.clone() };
        (Self { faults: faults.clone(), inner }, faults)
    }

    /// The inner store, which has no faults.
    pub fn inner(&self) -> &A {
        &self.inner
    }
}

impl Faults {
    /// Applies the next `count` writes, but answers [`Outcome::Unknown`].
    pub fn lose_answers(&self, count: usize) {
        self.plan_writes(WriteFault::LoseAnswer, count);
    }

    /// Drops the next `count` writes before they reach the store, and answers [`Outcome::Unknown`].
    pub fn lose_requests(&self, count: usize) {
        self.plan_writes(WriteFault::LoseRequest, count);
    }

    /// Answers [`Outcome::Unknown`] to the next `count` writes, and holds them until they are
    /// [delivered](Self::deliver_held), as for a write that commits late.
    pub fn hold_requests(&self, count: usize) {
        self.plan_writes(WriteFault::Hold, count);
    }

    /// Delivers the [held](Self::hold_requests) writes to the store now, oldest first, and returns their outcomes.
    /// Their senders have already received [`Outcome::Unknown`].
    pub async fn deliver_held(&self) -> Vec<Outcome> {
        let mut outcomes = Vec::new();
        loop {
            let held = self.plan().held.pop_front();
            let Some((key, write)) = held else { return outcomes };
            outcomes.push(self.store.write(&key, write).await);
        }
    }

    /// Drops the next `count` writes before they reach the store, and answers [`Outcome::Busy`].
    pub fn busy(&self, count: usize) {
        self.plan_writes(WriteFault::Busy, count);
    }

    /// Delays every answer from now on by this time, on tokio's clock; zero ends the delay. The request itself is
    /// carried out at once.
    pub fn delay_answers(&self, delay: Duration) {
        self.plan().delay = delay;
    }

    /// Refuses all writes from now on for lack of a permission, until [`allow_writes`](Self::allow_writes). Reads and
    /// watches continue.
    pub fn deny_writes(&self, reason: impl Into<String>) {
        self.plan().denied = Some(reason.into());
    }

    /// Ends [`deny_writes`](Self::deny_writes).
    pub fn allow_writes(&self) {
        self.plan().denied = None;
    }

    /// Cuts the connection: nothing reaches the store, nothing is answered and watches are silent, until
    /// [`heal`](Self::heal). Requests that were carried out but not yet answered get no answer either.
    pub fn partition(&self) {
        self.shared.link.send_modify(|link| {
            link.cut = true;
            link.cuts += 1;
        });
    }

    /// Restores the connection. Requests that still wait for an answer fail: the outcome of a write is
    /// [`Outcome::Unknown`], and a read fails as unreachable. Watches continue and deliver the changes that they
    /// missed.
    pub fn heal(&self) {
        self.shared.link.send_modify(|link| link.cut = false);
    }

    /// Makes every present watch silent without ending it. New watches work.
    pub fn kill_watches(&self) {
        self.shared.link.send_modify(|link| link.kills += 1);
    }

    /// Makes reads and lists return the present content of the store from now on, like a server that has lost contact
    /// with its cluster, until [`fresh_reads`](Self::fresh_reads). Writes and watches are unaffected.
    ///
    /// # Errors
    /// The store cannot be read.
    pub async fn stale_reads(&self) -> Result<(), Fault> {
        let entries = self.store.list().await?;
        self.plan().stale = Some(entries.into_iter().map(|w| (w.key, w.entry)).collect());
        Ok(())
    }

    /// Ends [`stale_reads`](Self::stale_reads).
    pub fn fresh_reads(&self) {
        self.plan().stale = None;
    }

    fn plan_writes(&self, fault: WriteFault, count: usize) {
        if count > 0 {
            self.plan().writes.push_back((fault, count));
        }
    }

    /// Locks the plan. No code panics while it holds this lock.
    fn plan(&self) -> MutexGuard<'_, Plan> {
        self.shared.plan.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sends a request. If the connection is cut, waits until it is restored, and returns `None`.
    async fn request(&self) -> Option<Sent> {
        let link = *self.shared.link.borrow();
        self.restored().await;
        (!link.cut).then_some(Sent { cuts: link.cuts })
    }

    /// Returns the answer, after the delay if one is set; `None` if the connection was cut meanwhile.
    async fn answer<T>(&self, sent: Sent, answer: T) -> Option<T> {
        let delay = self.plan().delay;
        if !delay.is_zero() {
            tokio::time::sleep(delay).await;
        }
        self.restored().await;
        (self.shared.link.borrow().cuts == sent.cuts).then_some(answer)
    }

    /// Sends a request that changes nothing.
    async fn perform<T>(&self, request: impl Future<Output = Result<T, Fault>>) -> Result<T, Fault> {
        let Some(sent) = self.request().await else { return Err(disconnected()) };
        let answer = request.await;
        self.answer(sent, answer).await.unwrap_or_else(|| Err(disconnected()))
    }

    async fn restored(&self) {
        // The sender is in `shared`, so it still exists.
        let _ = self.shared.link.subscribe().wait_for(|link| !link.cut).await;
    }

    async fn killed_since(&self, begun: u64) {
        // As above.
        let _ = self.shared.link.subscribe().wait_for(|link| link.kills != begun).await;
    }

    fn stale(&self) -> Option<HashMap<String, Entry>> {
        self.plan().stale.clone()
    }
}

/// A request that was delivered.
struct Sent {
    cuts: u64,
}

impl fmt::Debug for Faults {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Faults").field(&self.shared).finish()
    }
}

fn denied(detail: String) -> Fault {
    Fault { kind: FaultKind::Denied, detail }
}

fn disconnected() -> Fault {
    Fault { kind: FaultKind::Unreachable, detail: "the connection broke (a fault on demand)".into() }
}

#[async_trait]
impl<A: Adapter> Adapter for Faulty<A> {
    fn capabilities(&self) -> Capabilities {
        self.inner.capabilities()
    }

    fn check_key(&self, key: &str) -> Result<()> {
        self.inner.check_key(key)
    }

    fn check_name(&self, name: &str) -> Result<()> {
        self.inner.check_name(name)
    }

    fn flaw(&self) -> Option<Fault> {
        self.inner.flaw()
    }

    async fn inspect(&self) -> Result<StoreInfo, Fault> {
        self.faults.perform(self.inner.inspect()).await
    }

    async fn write(&self, key: &str, write: Write) -> Outcome {
        let Some(sent) = self.faults.request().await else { return Outcome::Unknown };
        let (denial, fault) = {
            let mut plan = self.faults.plan();
            let denial = plan.denied.clone();
            let fault = if denial.is_none() { plan.next_fault() } else { None };
            if let Some(WriteFault::Hold) = fault {
                plan.held.push_back((key.to_owned(), write.clone()));
            }
            (denial, fault)
        };
        let outcome = match (denial, fault) {
            (Some(reason), _) => Outcome::Failed(denied(reason)),
            (None, None) => self.inner.write(key, write).await,
            (None, Some(WriteFault::Busy)) => Outcome::Busy,
            (None, Some(WriteFault::LoseRequest | WriteFault::Hold)) => Outcome::Unknown,
            (None, Some(WriteFault::LoseAnswer)) => {
                self.inner.write(key, write).await;
                Outcome::Unknown
            }
        };
        self.faults.answer(sent, outcome).await.unwrap_or(Outcome::Unknown)
    }

    async fn read(&self, key: &str) -> Result<Entry, Fault> {
        let reading = async {
            match self.faults.stale() {
                Some(stale) => Ok(stale.get(key).cloned().unwrap_or(Entry::Vacant)),
                None => self.inner.read(key).await,
            }
        };
        self.faults.perform(reading).await
    }

    async fn written(&self, key: &str) -> Result<Option<EntryInfo>, Fault> {
        self.faults.perform(self.inner.written(key)).await
    }

    async fn list(&self) -> Result<Vec<WatchEvent>, Fault> {
        let listing = async {
            match self.faults.stale() {
                Some(stale) => Ok(stale.into_iter().map(|(key, entry)| WatchEvent { key, entry }).collect()),
                None => self.inner.list().await,
            }
        };
        self.faults.perform(listing).await
    }

    fn follow(&self, key: &str) {
        self.inner.follow(key);
    }

    fn unfollow(&self, key: &str) {
        self.inner.unfollow(key);
    }

    async fn watch(&self) -> Result<BoxStream<'static, Watched>, Fault> {
        let begun = self.faults.shared.link.borrow().kills;
        let changes = self.faults.perform(self.inner.watch()).await?;
        let watch = FaultyWatch { changes, faults: self.faults.clone(), begun };
        Ok(stream::unfold(watch, FaultyWatch::next).boxed())
    }

    async fn reconnect(&self) {
        self.faults.restored().await;
        self.inner.reconnect().await;
    }

    async fn register(&self, registry: &Registry) -> Result<(), Fault> {
        self.faults.perform(self.inner.register(registry)).await
    }

    async fn candidates(&self) -> Result<Option<Vec<CandidateInfo>>, Fault> {
        self.faults.perform(self.inner.candidates()).await
    }

    async fn close(&self) {
        self.inner.close().await;
    }
}

/// An operator has a separate connection without faults.
#[async_trait]
impl<A: Adapter + StoreAdmin> StoreAdmin for Faulty<A> {
    async fn put(&self, key: &str, value: &[u8]) -> Result<Revision, Fault> {
        self.inner.put(key, value).await
    }

    async fn delete(&self, key: &str) -> Result<Revision, Fault> {
        self.inner.delete(key).await
    }

    async fn delete_at(&self, key: &str, revision: Revision) -> Result<Option<Revision>, Fault> {
        self.inner.delete_at(key, revision).await
    }
}

struct FaultyWatch {
    changes: BoxStream<'static, Watched>,
    faults: Faults,
    begun: u64,
}

impl FaultyWatch {
    async fn next(mut self) -> Option<(Watched, Self)> {
        tokio::select! {
            biased;
            () = self.faults.killed_since(self.begun) => std::future::pending().await,
            change = self.changes.next() => {
                self.faults.restored().await;
                if self.faults.shared.link.borrow().kills != self.begun {
                    std::future::pending::<()>().await;
                }
                Some((change?, self))
            }
        }
    }
}
