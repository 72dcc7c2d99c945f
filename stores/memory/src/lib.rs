//! The store of one process: `memory:` and `memory:NAME`.
//!
//! It is for programs whose candidates are tasks of one process, and for tests. The store lasts while a handle has it
//! open. It has no thread: an expired record is removed by the next caller or, with markers, by a watcher that wakes at
//! that instant.

use std::collections::{BTreeSet, HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use async_trait::async_trait;
use futures_util::stream::{self, BoxStream, StreamExt};
use incumbent_core::record::{Entry, Kind, deletion_headers};
use incumbent_core::store::{Capabilities, Expect, Fault, FaultKind, Outcome, StoreInfo, Write};
use incumbent_core::{Incarnation, Instant, Revision};
use tokio::sync::broadcast;
use tokio_util::sync::CancellationToken;

use incumbent_store::clock::Clock;
use incumbent_store::fork::Own;
use incumbent_store::link::Reports;
use incumbent_store::local::{CAPABILITIES, FOREIGN_LEASE, Message, check_text, next_incarnation, pairs};
use incumbent_store::registry::Connections;
use incumbent_store::selectors::{self, Selector, named};
use incumbent_store::{
    Adapter, Basis, CandidateInfo, EntryInfo, Examination, Finding, InitOptions, InitReport, RecordLink,
    Registry, Settings, StoreAdmin, WatchEvent, Watched, query, refusals,
};
use incumbent_store::{Error, ErrorKind, Result};

/// The number of changes by which a watcher may fall behind before its watch ends.
const BACKLOG: usize = 1024;

/// The settings of a `memory:` URL.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct MemorySettings {
    /// The name of the store: handles opened with the same name in one process share it. A store without a name is
    /// shared only by the clones of the opened [`Memory`].
    pub name: Option<String>,
    /// Whether watches report expiry.
    ///
    /// An expired record leaves a marker; without this setting it just vanishes.
    pub markers: bool,
}

impl MemorySettings {
    /// A store shared only by its own clones.
    pub fn private() -> Self {
        Self::default()
    }

    /// The store with this name, in this process.
    pub fn named(name: impl Into<String>) -> Self {
        Self { name: Some(name.into()), ..Self::default() }
    }

    /// Sets [`markers`](#structfield.markers).
    #[must_use]
    pub fn markers(mut self, markers: bool) -> Self {
        self.markers = markers;
        self
    }
}

impl Settings for MemorySettings {
    type Link = RecordLink;

    /// Reads a URL of the form `memory:` or `memory:NAME`. The parameters:
    ///
    /// <!-- generated: parameters -->
    /// | setting | meaning | by default |
    /// |---|---|---|
    /// | `markers=true` | Whether watches report expiry |  |
    /// <!-- end of parameters -->
    fn from_url(url: &str) -> Result<Self> {
        let (name, mut query) = query::split("memory", url.strip_prefix("memory:").unwrap_or(url))?;
        let settings = Self {
            name: (!name.is_empty()).then_some(name),
            markers: query.flag("markers")?.unwrap_or(false),
        };
        query.finish()?;
        selectors::check(ErrorKind::InvalidUrl, settings.selectors())?;
        Ok(settings)
    }

    fn selectors(&self) -> Vec<Selector<'_>> {
        named("the name in memory:NAME", self.name.as_deref().unwrap_or_default()).collect()
    }

    fn check_key(&self, key: &str) -> Result<()> {
        check_text("key", key)
    }

    async fn connect(&self, reports: Reports) -> Result<RecordLink> {
        Ok(RecordLink::new(self.adapter(&reports.clock).await?, reports))
    }

    async fn adapter(&self, clock: &Clock) -> Result<Box<dyn Adapter>> {
        Ok(Box::new(Memory::open(self, clock)?))
    }

    async fn admin(&self, clock: &Clock) -> Result<Box<dyn StoreAdmin>> {
        Ok(Box::new(Memory::open(self, clock)?))
    }

    async fn init(&self, options: &InitOptions) -> Result<InitReport> {
        options.of_whole_store()?;
        Err(Error::named(ErrorKind::InvalidSetting, refusals::preparation()))
    }

    async fn examine(&self) -> Result<Examination> {
        let mut report = Examination::default();
        report.set("kept", "in the memory of one process", "memory");
        report.set("markers", if self.markers { "yes" } else { "no" }, self.markers);
        report.find(Finding::note(
            "other processes cannot see a store in memory, and it is gone when its process ends",
            "use it in tests, and sqlite:, nats: or etcd: elsewhere",
        ));
        let memory = Memory::open(self, &Clock::system())?;
        report.basis = Some(Basis::Records(memory.capabilities(), memory.inspect().await?));
        Ok(report)
    }
}

/// The named stores that are open in this process. A forked child begins without those of its parent.
static NAMED: Own<HashMap<String, Weak<Shared>>> = Own::new();

/// A connection to a store in memory. A clone is another connection to the same store.
#[derive(Debug)]
pub struct Memory {
    shared: Arc<Shared>,
    closed: CancellationToken,
}

#[derive(Debug)]
struct Shared {
    markers: bool,
    clock: Clock,
    contents: Mutex<Contents>,
    connections: Connections,
}

/// One incarnation of the store, from its creation to its [reset](Memory::reset).
#[derive(Debug)]
struct Contents {
    incarnation: Incarnation,
    created: Instant,
    never_used: bool,
    newest: Revision,
    rows: HashMap<Arc<str>, Row>,
    /// The expiry and the key of each live record, earliest first, because every call checks the first.
    expiries: BTreeSet<(Instant, Arc<str>)>,
    changes: broadcast::Sender<WatchEvent>,
}

#[derive(Clone, Debug)]
struct Row {
    entry: Entry,
    /// The lease of the last live record under this key.
    lease: Duration,
    /// The expiry of a live record; [`Instant::NEVER`] for any other entry.
    over: Instant,
}

impl Memory {
    /// Opens a store, whose records expire by `clock`.
    ///
    /// # Errors
    /// [`InvalidSetting`](ErrorKind::InvalidSetting) if a store of that name is open with other settings, and for a
    /// name with control characters or outer white space.
    pub fn open(settings: &MemorySettings, clock: &Clock) -> Result<Self> {
        selectors::check(ErrorKind::InvalidSetting, settings.selectors())?;
        let Some(name) = &settings.name else {
            return Ok(Self::on(Arc::new(Shared::new(settings.markers, clock))));
        };
        let mut open = lock(NAMED.get());
        open.retain(|_, store| store.strong_count() > 0);
        if let Some(shared) = open.get(name).and_then(Weak::upgrade) {
            if shared.markers != settings.markers {
                let [is, was] = [settings.markers, shared.markers].map(|markers| markers.to_string());
                let refused = refusals::other_markers(name, &was, &is);
                return Err(Error::named(ErrorKind::InvalidSetting, refused));
            }
            return Ok(Self::on(shared));
        }
        let shared = Arc::new(Shared::new(settings.markers, clock));
        open.insert(name.clone(), Arc::downgrade(&shared));
        Ok(Self::on(shared))
    }

    /// Deletes the store and creates it again while handles have it open. All records are gone, revisions start again,
    /// the incarnation increases, and watches end.
    pub fn reset(&self) {
        let mut contents = lock(&self.shared.contents);
        *contents = Contents { never_used: false, ..Contents::new(&self.shared.clock) };
    }

    fn on(shared: Arc<Shared>) -> Self {
        Self { shared, closed: CancellationToken::new() }
    }

    /// The current incarnation without its expired records, unless this connection is closed.
    fn contents(&self) -> Result<MutexGuard<'_, Contents>, Fault> {
        if self.closed.is_cancelled() {
            let detail = "this connection to the memory store is closed".to_owned();
            return Err(Fault { kind: FaultKind::Unreachable, detail });
        }
        Ok(self.shared.swept())
    }
}

impl Clone for Memory {
    fn clone(&self) -> Self {
        Self::on(Arc::clone(&self.shared))
    }
}

/// Locks `mutex`. No code of this module panics while it holds a lock, so the contents of a poisoned lock are still
/// consistent.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Shared {
    fn new(markers: bool, clock: &Clock) -> Self {
        Self {
            markers,
            clock: clock.clone(),
            contents: Mutex::new(Contents::new(clock)),
            connections: Connections::default(),
        }
    }

    fn swept(&self) -> MutexGuard<'_, Contents> {
        let mut contents = lock(&self.contents);
        contents.sweep(self.clock.now(), self.markers);
        contents
    }
}

impl Contents {
    fn new(clock: &Clock) -> Self {
        Self {
            incarnation: next_incarnation(),
            created: clock.now(),
            never_used: true,
            newest: Revision(0),
            rows: HashMap::new(),
            expiries: BTreeSet::new(),
            changes: broadcast::Sender::new(BACKLOG),
        }
    }

    fn entry(&self, key: &str) -> Entry {
        self.rows.get(key).map_or(Entry::Vacant, |row| row.entry.clone())
    }

    /// The newest entries of all keys, oldest revision first.
    fn entries(&self) -> Vec<WatchEvent> {
        let mut entries: Vec<_> = self
            .rows
            .iter()
            .map(|(key, row)| WatchEvent { key: (**key).to_owned(), entry: row.entry.clone() })
            .collect();
        entries.sort_by_key(|watched| watched.entry.revision());
        entries
    }

    /// The next expiry.
    fn next_over(&self) -> Instant {
        self.expiries.first().map_or(Instant::NEVER, |(over, _)| *over)
    }

    /// Removes the expired records.
    fn sweep(&mut self, now: Instant, markers: bool) {
        while self.next_over() <= now
            && let Some((over, key)) = self.expiries.first().cloned()
        {
            if markers {
                self.put(&key, now, Message { kind: Kind::Expired, value: b"", headers: &[], lease: None });
            } else {
                self.rows.remove(&*key);
                self.expiries.remove(&(over, key));
            }
        }
    }

    fn put(&mut self, key: &str, now: Instant, message: Message<'_>) -> Revision {
        self.newest = Revision(self.newest.0 + 1);
        let entry = Entry::decode(self.newest, message.kind, message.value, pairs(message.headers));
        let before = self.rows.remove_entry(key);
        let lease = message.lease.or(before.as_ref().map(|(_, row)| row.lease)).unwrap_or(FOREIGN_LEASE);
        let over = if message.kind == Kind::Live { now + lease } else { Instant::NEVER };
        let shared = match before {
            Some((key, row)) => {
                let expiry = (row.over, key);
                self.expiries.remove(&expiry);
                expiry.1
            }
            None => key.into(),
        };
        if message.kind == Kind::Live {
            self.expiries.insert((over, Arc::clone(&shared)));
        }
        self.rows.insert(shared, Row { entry: entry.clone(), lease, over });
        // An error means that no watcher exists.
        let _ = self.changes.send(WatchEvent { key: key.to_owned(), entry });
        self.newest
    }

    fn delete(&mut self, key: &str, now: Instant) -> Revision {
        let headers = self.rows.get(key).map(|row| deletion_headers(row.lease)).unwrap_or_default();
        self.put(key, now, Message::deletion(&headers))
    }
}

#[async_trait]
impl Adapter for Memory {
    fn capabilities(&self) -> Capabilities {
        Capabilities { expiry_pushed: self.shared.markers, ..CAPABILITIES }
    }

    fn check_key(&self, key: &str) -> Result<()> {
        check_text("key", key)
    }

    fn check_name(&self, name: &str) -> Result<()> {
        check_text("candidate's name", name)
    }

    async fn inspect(&self) -> Result<StoreInfo, Fault> {
        let asked_at = self.shared.clock.now();
        let contents = self.contents()?;
        Ok(StoreInfo {
            asked_at,
            incarnation: contents.incarnation,
            age: Some(self.shared.clock.now().since(contents.created)),
            never_used: contents.never_used,
            max_age: None,
            newest: Some(contents.newest),
        })
    }

    async fn write(&self, key: &str, write: Write) -> Outcome {
        let Ok(mut contents) = self.contents() else { return Outcome::NotSent };
        let current = contents.rows.get(key).and_then(|row| row.entry.revision());
        let expected = match write.expect {
            Expect::Absent => None,
            Expect::Revision(revision) => Some(revision),
        };
        if current != expected {
            return Outcome::Refused { current: current.unwrap_or_default() };
        }
        let revision = contents.put(key, self.shared.clock.now(), Message::of(&write.action));
        Outcome::Applied { revision, incarnation: Some(contents.incarnation) }
    }

    async fn read(&self, key: &str) -> Result<Entry, Fault> {
        Ok(self.contents()?.entry(key))
    }

    async fn written(&self, key: &str) -> Result<Option<EntryInfo>, Fault> {
        let contents = self.contents()?;
        let row = contents.rows.get(key);
        let record = row.and_then(|row| Some((row, row.entry.live()?.revision)));
        let ago = |row: &Row| self.shared.clock.now().since(row.over.before(row.lease));
        Ok(record.map(|(row, revision)| EntryInfo { revision, ago: ago(row) }))
    }

    async fn list(&self) -> Result<Vec<WatchEvent>, Fault> {
        Ok(self.contents()?.entries())
    }

    async fn watch(&self) -> Result<BoxStream<'static, Watched>, Fault> {
        let contents = self.contents()?;
        let watch = Watch {
            first: contents.entries().into(),
            changes: contents.changes.subscribe(),
            shared: Arc::clone(&self.shared),
            closed: self.closed.clone(),
        };
        Ok(stream::unfold(watch, Watch::next).map(Watched::Entry).boxed())
    }

    async fn reconnect(&self) {}

    async fn register(&self, registry: &Registry) -> Result<(), Fault> {
        self.shared.connections.add(registry);
        Ok(())
    }

    async fn candidates(&self) -> Result<Option<Vec<CandidateInfo>>, Fault> {
        drop(self.contents()?);
        Ok(Some(self.shared.connections.candidates()))
    }

    async fn close(&self) {
        self.closed.cancel();
    }
}

#[async_trait]
impl StoreAdmin for Memory {
    async fn put(&self, key: &str, value: &[u8]) -> Result<Revision, Fault> {
        Ok(self.contents()?.put(key, self.shared.clock.now(), Message::foreign(value)))
    }

    async fn delete(&self, key: &str) -> Result<Revision, Fault> {
        let mut contents = self.contents()?;
        Ok(contents.delete(key, self.shared.clock.now()))
    }

    async fn delete_at(&self, key: &str, revision: Revision) -> Result<Option<Revision>, Fault> {
        let mut contents = self.contents()?;
        let is_there = contents.entry(key).revision() == Some(revision);
        Ok(is_there.then(|| contents.delete(key, self.shared.clock.now())))
    }
}

struct Watch {
    first: VecDeque<WatchEvent>,
    changes: broadcast::Receiver<WatchEvent>,
    shared: Arc<Shared>,
    closed: CancellationToken,
}

impl Watch {
    /// The next change; `None` when the connection is closed, when the store is reset, or when this watcher is so far
    /// behind that it has missed a change.
    async fn next(mut self) -> Option<(WatchEvent, Self)> {
        loop {
            if let Some(watched) = self.first.pop_front() {
                return Some((watched, self));
            }
            let expiry = if self.shared.markers { self.shared.swept().next_over() } else { Instant::NEVER };
            tokio::select! {
                biased;
                () = self.closed.cancelled() => return None,
                change = self.changes.recv() => return Some((change.ok()?, self)),
                // The loop then receives the marker of the expiry as a change.
                () = self.shared.clock.sleep_until(expiry), if expiry < Instant::NEVER => {}
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_names_a_store_or_none() {
        let read = |url: &str| MemorySettings::from_url(url).unwrap();
        assert_eq!(read("memory:"), MemorySettings::private());
        assert_eq!(read("memory:jobs"), MemorySettings::named("jobs"));
        assert_eq!(read("memory:a%3Fb?markers=true"), MemorySettings::named("a?b").markers(true));
    }
}
