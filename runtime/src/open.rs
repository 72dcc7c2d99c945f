//! A store that is open for elections.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use incumbent_core::campaign::Leader;
use incumbent_core::record::Entry;
use incumbent_core::session::Load;
use incumbent_core::store::{Capabilities, StoreInfo};
use tokio::sync::oneshot;

use crate::candidate::Candidate;
use crate::candidate_state::CandidateState;
use crate::driver::command::CommandSink;
use crate::driver::connection::{self, Opening};
use crate::driver::request::{CampaignHandle, DriverHandle, Enter, Request};
use crate::leave::{LeaveRequest, forked};
use crate::observe::Observer;
use crate::options::CampaignOptions;
use crate::queue::Queue;
use crate::store::url::StoreSettings;
use incumbent_store::clock::Clock;
use incumbent_store::notifier::{WriteEvent, WriteListener};
use incumbent_store::request;
use incumbent_store::{Adapter, CandidateInfo, EntryInfo, WatchEvent};
use incumbent_store::{Error, ErrorKind, Result};

/// A store that is open for elections.
///
/// It has one connection, one watch and one thread, however many elections run on it. The thread is separate from the
/// program's runtime, so no work there can delay a renewal. Log subscribers and listeners are called on another thread,
/// which is started for the first log line. The store stays open until it is [closed](Self::close), or until every
/// handle to it, every [`Candidate`] and every [`Observer`] has been dropped.
///
/// It is cheap to clone, and all clones are the same store.
#[derive(Clone)]
pub struct Store {
    driver: DriverHandle,
    shared: Arc<Shared>,
}

struct Shared {
    clock: Clock,
    capabilities: Capabilities,
    next_campaign: AtomicU64,
}

/// The leader of an election; see [`Store::list`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ElectionInfo {
    /// The election's key.
    pub election: String,
    /// The present holder; `None` while there is none.
    pub leader: Option<Leader>,
}

impl Store {
    /// Opens the store that `url` names, with the defaults of [`Store::builder`].
    ///
    /// # Errors
    /// Those of [`StoreBuilder::open`].
    pub async fn open(url: &str) -> Result<Self> {
        Self::builder().open(url).await
    }

    /// Returns a builder, for a store that needs other settings than the defaults.
    pub fn builder() -> StoreBuilder {
        StoreBuilder::default()
    }

    /// Opens a store through your own adapter. Its futures run on the store's thread: a future that blocks delays
    /// renewals.
    ///
    /// # Errors
    /// `StoreUnavailable` when the operating system refuses a thread.
    pub fn from_adapter(adapter: Box<dyn Adapter>, clock: Clock) -> Result<Self> {
        Self::builder().clock(clock).adapter(adapter)
    }

    /// Campaigns in the election of that key until the candidate is closed or dropped.
    ///
    /// If the store does not answer yet, the candidate is still returned: it emits a warning and campaigns as soon as
    /// the store answers. With [`StoreBuilder::fail_fast`] that is an error.
    ///
    /// # Errors
    /// `InvalidName` for a key or a name the store cannot hold, and on etcd for a key whose candidates would share keys
    /// with another prefix; `InvalidSetting` for settings that do not fit each other or the store; `PermissionDenied`
    /// or `Broken` if an operator must act first; `StoreUnavailable` with `fail_fast`; `Closed`; `Forked`.
    pub async fn campaign(&self, election: &str, options: CampaignOptions) -> Result<Candidate> {
        self.check_process()?;
        let id = self.shared.next_campaign.fetch_add(1, Ordering::Relaxed);
        let shared = CandidateState::new(election.into(), options.candidate(), self.shared.clock.clone());
        let commands: Arc<dyn CommandSink> = Arc::new(CampaignHandle { id, driver: self.driver.clone() });
        // The candidate is created before the driver knows of it, so that it is abandoned if this future is dropped.
        let candidate = Candidate::new(Arc::clone(&shared), Arc::clone(&commands));
        let (health, watched) = (options.health.clone(), options.watched.clone());
        let (reply, answer) = oneshot::channel();
        let commands = Arc::downgrade(&commands);
        self.send(Request::Enter(Box::new(Enter {
            id,
            shared: Arc::clone(&shared),
            commands: commands.clone(),
            options,
            reply,
        })))?;
        answer.await.map_err(|_| closed())??;
        if let Some(health) = health {
            health.start(&shared, commands.clone());
        }
        if let Some(watched) = watched {
            watched.start(&shared, commands);
        }
        Ok(candidate)
    }

    /// Watches the election of that key without taking part.
    ///
    /// # Errors
    /// `InvalidName`, `Closed`, `Forked`.
    pub async fn observe(&self, election: &str) -> Result<Observer> {
        let (queue, seen) = Queue::new();
        self.ask(|reply| Request::Observe { election: election.into(), queue, reply }).await?;
        let (clock, store) = (self.shared.clock.clone(), self.driver.clone());
        Ok(Observer { seen, clock, election: election.into(), store })
    }

    /// The present leader of that election, read from the store's leading server.
    ///
    /// # Errors
    /// `InvalidName`, `StoreUnavailable`, `PermissionDenied`, `Broken`, `Closed`, `Forked`.
    pub async fn leader(&self, election: &str) -> Result<Option<Leader>> {
        Ok(self.entry(election).await?.live().map(Leader::of))
    }

    /// The present entry under the key of an election, read from the store's leading server.
    ///
    /// # Errors
    /// Those of [`leader`](Self::leader).
    pub async fn entry(&self, election: &str) -> Result<Entry> {
        self.ask(|reply| Request::Entry { election: election.into(), reply }).await
    }

    /// The time since the live record of an election was written, by the store's own clocks, and the record's revision.
    /// The holder's remaining lease is the length of its lease minus that time. `None` if there is no live record, or
    /// if the store cannot know.
    ///
    /// # Errors
    /// Those of [`leader`](Self::leader).
    pub async fn written(&self, election: &str) -> Result<Option<EntryInfo>> {
        self.ask(|reply| Request::EntryInfo { election: election.into(), reply }).await
    }

    /// All elections of the store, by key.
    ///
    /// # Errors
    /// `StoreUnavailable`, `PermissionDenied`, `Broken`, `Closed`, `Forked`.
    pub async fn list(&self) -> Result<Vec<ElectionInfo>> {
        let listed = self.entries().await?.into_iter();
        Ok(listed
            .map(|seen| ElectionInfo { leader: seen.entry.live().map(Leader::of), election: seen.key })
            .collect())
    }

    /// The entries of all elections of the store, by key.
    ///
    /// # Errors
    /// Those of [`list`](Self::list).
    pub async fn entries(&self) -> Result<Vec<WatchEvent>> {
        let mut elections = self.ask(|reply| Request::List { reply }).await?;
        elections.retain(|seen| !request::is_reserved(&seen.key));
        elections.sort_by(|one, other| one.key.cmp(&other.key));
        Ok(elections)
    }

    /// The candidates of that election on all connections to the store: the leader and those that wait. The
    /// longest-standing candidate comes first.
    ///
    /// Waiting candidates write nothing to the store, so this asks the other connections, if the store can: in NATS
    /// that takes a quarter of a second and finds the connections that answer in that time. The list is for people; it
    /// has no part in deciding who leads. Candidates of other software are not seen. `None` if the store cannot find
    /// out, or does not permit the query.
    ///
    /// In etcd the store holds every candidate, including those of other software, in the order of the queue.
    ///
    /// ```
    /// # use incumbent::{CampaignOptions, Store};
    /// # #[tokio::main(flavor = "current_thread")] async fn main() -> incumbent::Result<()> {
    /// # let store = Store::open("memory:").await?;
    /// let ada = store.campaign("jobs", CampaignOptions::new().name("ada")).await?;
    /// # drop(ada.next_term().await?);
    /// for present in store.candidates("jobs").await?.unwrap_or_default() {
    ///     println!("{} has stood for {:?}", present.name, present.standing_for);
    /// #   assert_eq!((&*present.election, &*present.name), ("jobs", "ada"));
    /// }
    /// # ada.close().await }
    /// ```
    ///
    /// # Errors
    /// Those of [`leader`](Self::leader).
    pub async fn candidates(&self, election: &str) -> Result<Option<Vec<CandidateInfo>>> {
        self.ask(|reply| Request::Candidates { election: Some(election.into()), reply }).await
    }

    /// The [candidates](Self::candidates) of all elections of the store, by election.
    ///
    /// # Errors
    /// Those of [`list`](Self::list).
    pub async fn all_candidates(&self) -> Result<Option<Vec<CandidateInfo>>> {
        self.ask(|reply| Request::Candidates { election: None, reply }).await
    }

    /// The store's properties: its age, its limits, its incarnation.
    ///
    /// # Errors
    /// `StoreUnavailable`, `PermissionDenied`, `Broken`, `Closed`, `Forked`.
    pub async fn store_info(&self) -> Result<StoreInfo> {
        self.ask(|reply| Request::StoreInfo { reply }).await
    }

    /// The number of requests of this store's candidates that are in flight, and of those that wait for other answers.
    /// The call sends nothing to the store.
    ///
    /// # Errors
    /// `Closed`, `Forked`.
    pub async fn load(&self) -> Result<Load> {
        self.ask(|reply| Request::Load { reply }).await
    }

    /// The store's capabilities.
    pub fn capabilities(&self) -> Capabilities {
        self.shared.capabilities
    }

    /// The clock of all instants in this store's terms, events and observations.
    pub fn clock(&self) -> &Clock {
        &self.shared.clock
    }

    /// Closes every candidate as [`Candidate::close`] does, and then the store. Observers end. Closing a closed store
    /// is not an error.
    ///
    /// # Errors
    /// `Forked`.
    pub async fn close(&self) -> Result<()> {
        self.request_close().await
    }

    /// Like [`close`](Self::close), but requests it at once, for code that does not wait for it.
    pub fn request_close(&self) -> LeaveRequest {
        LeaveRequest::ask(true, self.driver.fork_guard, |leave| {
            // A driver that has ended drops the request, and with it the senders for which the caller waits.
            let _ = self.driver.send(Request::Close(leave));
        })
    }

    async fn ask<T>(&self, request: impl FnOnce(oneshot::Sender<Result<T>>) -> Request) -> Result<T> {
        self.check_process()?;
        let (reply, answer) = oneshot::channel();
        self.send(request(reply))?;
        answer.await.map_err(|_| closed())?
    }

    fn send(&self, request: Request) -> Result<()> {
        self.driver.send(request).map_err(|_| closed())
    }

    fn check_process(&self) -> Result<()> {
        if self.driver.is_forked() { Err(forked()) } else { Ok(()) }
    }
}

impl fmt::Debug for Store {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Store").field("capabilities", &self.shared.capabilities).finish_non_exhaustive()
    }
}

/// Settings for opening a store.
///
/// ```
/// # #[tokio::main(flavor = "current_thread")] async fn main() -> incumbent::Result<()> {
/// let store = incumbent::Store::builder().fail_fast(true).open("memory:").await?;
/// # store.close().await }
/// ```
#[derive(Clone, Debug, Default)]
#[must_use = "a builder does nothing until it opens a store"]
pub struct StoreBuilder {
    clock: Clock,
    fail_fast: bool,
    lease: Option<Duration>,
    write_listener: WriteListener,
}

impl StoreBuilder {
    /// Whether a store that does not answer is an error; by default candidates wait for it.
    pub fn fail_fast(mut self, fail_fast: bool) -> Self {
        self.fail_fast = fail_fast;
        self
    }

    /// Sets the clock for all deadlines; the machine's by default.
    pub fn clock(mut self, clock: Clock) -> Self {
        self.clock = clock;
        self
    }

    /// The shortest lease that candidates will have, from which a connection to NATS derives the interval of its pings
    /// and the time that it gives a server to answer; by default 30 s.
    pub fn expected_lease(mut self, lease: Duration) -> Self {
        self.lease = Some(lease);
        self
    }

    /// Calls `listener` with the outcome of every write of every campaign, for metrics. The calls come in the order of
    /// the answers, on the thread that also writes the store's log lines, so a listener that blocks delays those lines,
    /// but no renewal. If more than 4096 calls and lines wait, further ones are dropped, and a warning gives their
    /// number.
    pub fn on_write(mut self, listener: impl Fn(&WriteEvent<'_>) + Send + Sync + 'static) -> Self {
        self.write_listener = WriteListener::new(listener);
        self
    }

    /// Opens the store that `url` names.
    ///
    /// # Errors
    /// `InvalidUrl`, `Authentication`, `Unsupported`, `NotFound`, `UnsafeStore`, `PermissionDenied`, `Broken`;
    /// `StoreUnavailable` with [`fail_fast`](Self::fail_fast).
    pub async fn open(self, url: &str) -> Result<Store> {
        self.open_settings(url.parse()?).await
    }

    /// Opens the store that `settings` describe. Their own `fail_fast` and expected lease apply unless this builder
    /// sets other values.
    ///
    /// # Errors
    /// Those of [`open`](Self::open).
    pub async fn open_settings(self, settings: StoreSettings) -> Result<Store> {
        let settings = if self.fail_fast { settings.fail_fast(true) } else { settings };
        let settings = match self.lease {
            Some(lease) => settings.expected_lease(lease),
            None => settings,
        };
        let Self { clock, fail_fast, write_listener, .. } = self;
        let opening = Opening { settings, clock: clock.clone(), fail_fast, write_listener };
        let (driver, capabilities) = connection::open(opening).await?;
        Ok(Store::new(driver, capabilities, clock))
    }

    /// Opens a store through your own adapter.
    ///
    /// # Errors
    /// `StoreUnavailable` when the operating system refuses a thread.
    pub fn adapter(self, adapter: Box<dyn Adapter>) -> Result<Store> {
        let capabilities = adapter.capabilities();
        let driver = connection::start(adapter, self.clock.clone(), self.fail_fast, self.write_listener)?;
        Ok(Store::new(driver, capabilities, self.clock))
    }
}

impl Store {
    fn new(driver: DriverHandle, capabilities: Capabilities, clock: Clock) -> Self {
        let shared = Shared { clock, capabilities, next_campaign: AtomicU64::new(0) };
        Self { driver, shared: Arc::new(shared) }
    }
}

fn closed() -> Error {
    Error::new(ErrorKind::Closed, "the store is closed; open it again with `Store::open`")
}
