//! A folder as a store, to show all that a new store has to do. Each change is a file, and there is no lock.
//!
//! Change number N is the file `N`. It is written under another name and then linked, which fails if N exists: that is
//! the compare-and-swap. So a process that is stopped or killed at any moment holds up no other one. Each connection
//! reads the changes that it has not seen before it answers. Nothing is ever deleted, and the clock decides when a
//! record is over.
//!
//! The file `life` states the incarnation and its own inode. A folder that was copied or restored has another inode,
//! and is refused until [`Folder::create`] begins another life, because its change numbers may have been used since.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, ErrorKind, Write as _};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use futures_util::stream::{self, BoxStream, StreamExt as _};
use incumbent_core::record::{Entry, Headers, Kind, deletion_headers};
use incumbent_core::store::{Capabilities, Expect, Fault, FaultKind, Outcome, StoreInfo, Write};
use incumbent_core::{Incarnation, Instant, Revision};
use incumbent_store::local::{FOREIGN_LEASE, Message, check_text, next_incarnation, pairs};
use incumbent_store::registry::Connections;
use incumbent_store::{
    Adapter, CandidateInfo, Clock, EntryInfo, Registry, Result, StoreAdmin, WatchEvent, Watched,
};
use serde::{Deserialize, Serialize};

/// The interval at which a watch looks for changes.
const POLL: Duration = Duration::from_millis(5);

/// The incarnation, the time at which it began, and the inode of its file.
type Life = (u64, u64, u64);

/// A change of one key. Times are in nanoseconds, by the clock that all processes of the machine share.
#[derive(Serialize, Deserialize)]
struct Change {
    key: String,
    live: bool,
    value: Vec<u8>,
    headers: Headers,
    /// The record's lease or, for a tombstone, the lease of the record before it.
    lease: u64,
    over: u64,
}

impl Change {
    fn entry(&self, number: u64) -> Entry {
        let kind = if self.live { Kind::Live } else { Kind::Tombstone };
        Entry::decode(Revision(number), kind, &self.value, pairs(&self.headers))
    }
}

/// What a connection has read.
#[derive(Default)]
struct Contents {
    life: Life,
    newest: u64,
    rows: BTreeMap<String, (u64, Change)>,
}

impl Contents {
    fn get(&self, key: &str, now: Instant) -> Option<(u64, &Change)> {
        let (number, change) = self.rows.get(key)?;
        (change.over > now.as_nanos()).then_some((*number, change))
    }

    /// The entries after a revision, in the order of their revisions.
    fn entries(&self, after: u64, now: Instant) -> Vec<(u64, WatchEvent)> {
        let there = |(key, (number, change)): (&String, &(u64, Change))| {
            let event = WatchEvent { key: key.clone(), entry: change.entry(*number) };
            (*number > after && change.over > now.as_nanos()).then_some((*number, event))
        };
        let mut entries: Vec<_> = self.rows.iter().filter_map(there).collect();
        entries.sort_by_key(|(number, _)| *number);
        entries
    }
}

/// A connection to a folder. A clone is the same connection.
#[derive(Clone)]
pub(crate) struct Folder {
    path: PathBuf,
    clock: Clock,
    contents: Arc<Mutex<Contents>>,
    closed: Arc<AtomicBool>,
    /// The candidates of this process. A store that can ask other processes asks them instead.
    connections: Arc<Connections>,
}

fn fault(error: impl std::fmt::Display) -> Fault {
    Fault { kind: FaultKind::Unreachable, detail: format!("the folder cannot be used: {error}") }
}

/// Writes a file under a name that no other write has, and flushes it.
fn write_new(folder: &Path, text: &str) -> io::Result<PathBuf> {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let path = folder.join(format!("new-{}-{}", std::process::id(), NEXT.fetch_add(1, Relaxed)));
    let mut file = File::create(&path)?;
    file.write_all(text.as_bytes())?;
    file.sync_data()?;
    Ok(path)
}

impl Folder {
    /// Prepares a folder. If it was already in use, begins another life without the earlier changes.
    pub(crate) fn create(path: &Path, clock: &Clock) -> io::Result<()> {
        fs::create_dir_all(path)?;
        for entry in fs::read_dir(path)? {
            fs::remove_file(entry?.path())?;
        }
        let new = write_new(path, "")?;
        let life: Life = (next_incarnation().0, clock.now().as_nanos(), fs::metadata(&new)?.ino());
        fs::write(&new, serde_json::to_string(&life)?)?;
        fs::rename(new, path.join("life"))
    }

    pub(crate) fn open(path: &Path, clock: &Clock) -> Self {
        let (path, clock, connections) = (path.to_owned(), clock.clone(), Arc::default());
        Self { path, clock, connections, contents: Arc::default(), closed: Arc::default() }
    }

    /// Opens another connection.
    pub(crate) fn again(&self) -> Self {
        Self { connections: Arc::clone(&self.connections), ..Self::open(&self.path, &self.clock) }
    }

    /// Reads the new changes, and then does `work`, on a thread that may wait for a disk.
    async fn with<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Self, &mut Contents) -> Result<T, Fault> + Send + 'static,
    ) -> Result<T, Fault> {
        if self.closed.load(Relaxed) {
            return Err(fault("this connection is closed"));
        }
        let this = self.clone();
        let done = tokio::task::spawn_blocking(move || {
            let mut contents = this.contents.lock().unwrap_or_else(PoisonError::into_inner);
            this.catch_up(&mut contents)?;
            work(&this, &mut contents)
        });
        done.await.map_err(fault)?
    }

    async fn operate(
        &self,
        key: &str,
        value: Option<&[u8]>,
        at: Option<Revision>,
    ) -> Result<Option<Revision>, Fault> {
        let (key, value) = (key.to_owned(), value.map(<[u8]>::to_owned));
        let done = self.with(move |this, contents| {
            let lease = contents.rows.get(&key).map(|(_, change)| Duration::from_nanos(change.lease));
            let headers = lease.map(deletion_headers).unwrap_or_default();
            let message = value.as_deref().map_or(Message::deletion(&headers), Message::foreign);
            let is_expected = |current: u64| at.is_none_or(|at| current == at.0);
            Ok(this.put(contents, &key, message, is_expected)?.ok().map(Revision))
        });
        done.await
    }

    fn catch_up(&self, contents: &mut Contents) -> Result<(), Fault> {
        let path = self.path.join("life");
        let life: Life = serde_json::from_slice(&fs::read(&path).map_err(fault)?).map_err(fault)?;
        if fs::metadata(&path).map_err(fault)?.ino() != life.2 {
            let detail = "the folder is a copy or was restored: create it again".into();
            return Err(Fault { kind: FaultKind::Broken, detail });
        }
        if contents.life != life {
            *contents = Contents { life, ..Contents::default() };
        }
        loop {
            let change: Change = match fs::read(self.path.join((contents.newest + 1).to_string())) {
                Ok(text) => serde_json::from_slice(&text).map_err(fault)?,
                Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
                Err(error) => return Err(fault(error)),
            };
            contents.newest += 1;
            contents.rows.insert(change.key.clone(), (contents.newest, change));
        }
    }

    /// Writes a message under a key if `is_expected` is true for its revision, which is zero for a vacant key. Returns
    /// the new revision, or else the present one.
    fn put(
        &self,
        contents: &mut Contents,
        key: &str,
        message: Message<'_>,
        is_expected: impl Fn(u64) -> bool,
    ) -> Result<std::result::Result<u64, u64>, Fault> {
        loop {
            let now = self.clock.now();
            let current = contents.get(key, now).map_or(0, |(number, _)| number);
            if !is_expected(current) {
                return Ok(Err(current));
            }
            let before = contents.rows.get(key).map(|(_, change)| Duration::from_nanos(change.lease));
            let lease = message.lease.or(before).unwrap_or(FOREIGN_LEASE);
            let live = message.kind == Kind::Live;
            let change = Change {
                key: key.to_owned(),
                live,
                value: message.value.to_owned(),
                headers: message.headers.to_owned(),
                lease: (Instant::ZERO + lease).as_nanos(),
                over: if live { (now + lease).as_nanos() } else { u64::MAX },
            };
            let new =
                write_new(&self.path, &serde_json::to_string(&change).map_err(fault)?).map_err(fault)?;
            let linked = fs::hard_link(&new, self.path.join((contents.newest + 1).to_string()));
            fs::remove_file(new).map_err(fault)?;
            match linked {
                Ok(()) => {
                    File::open(&self.path).and_then(|folder| folder.sync_all()).map_err(fault)?;
                    contents.newest += 1;
                    contents.rows.insert(key.to_owned(), (contents.newest, change));
                    return Ok(Ok(contents.newest));
                }
                // Another process wrote this number first, perhaps under another key.
                Err(error) if error.kind() == ErrorKind::AlreadyExists => self.catch_up(contents)?,
                Err(error) => return Err(fault(error)),
            }
        }
    }
}

#[async_trait]
impl Adapter for Folder {
    fn capabilities(&self) -> Capabilities {
        Capabilities {
            own_lease: true,
            lease_step: Duration::from_millis(1),
            shortest: Duration::from_millis(1),
            longest: Duration::from_secs(86_400),
            granularity: Duration::ZERO,
            expiry_pushed: false,
            incarnation_acked: true,
            watch_shows_all: false,
            window: 16,
            fail_over: Duration::ZERO,
        }
    }

    fn check_key(&self, key: &str) -> Result<()> {
        check_text("key", key)
    }

    fn check_name(&self, name: &str) -> Result<()> {
        check_text("candidate's name", name)
    }

    async fn inspect(&self) -> Result<StoreInfo, Fault> {
        let asked_at = self.clock.now();
        let info = self.with(move |this, contents| {
            let (incarnation, created, _) = contents.life;
            let (incarnation, newest) = (Incarnation(incarnation), Some(Revision(contents.newest)));
            let age = Some(this.clock.now().since(Instant::from_nanos(created)));
            Ok(StoreInfo { asked_at, incarnation, age, never_used: false, max_age: None, newest })
        });
        info.await
    }

    async fn write(&self, key: &str, write: Write) -> Outcome {
        if self.closed.load(Relaxed) {
            return Outcome::NotSent;
        }
        let key = key.to_owned();
        let done = self.with(move |this, contents| {
            let expected = match write.expect {
                Expect::Absent => 0,
                Expect::Revision(revision) => revision.0,
            };
            let put = this.put(contents, &key, Message::of(&write.action), |current| current == expected)?;
            let incarnation = Some(Incarnation(contents.life.0));
            Ok(match put {
                Ok(number) => Outcome::Applied { revision: Revision(number), incarnation },
                Err(current) => Outcome::Refused { current: Revision(current) },
            })
        });
        // Whether the change was linked before the error is not known.
        done.await.unwrap_or(Outcome::Unknown)
    }

    async fn read(&self, key: &str) -> Result<Entry, Fault> {
        let key = key.to_owned();
        let found = self.with(move |this, contents| {
            let there = contents.get(&key, this.clock.now());
            Ok(there.map_or(Entry::Vacant, |(number, change)| change.entry(number)))
        });
        found.await
    }

    async fn written(&self, key: &str) -> Result<Option<EntryInfo>, Fault> {
        let key = key.to_owned();
        let found = self.with(move |this, contents| {
            let now = this.clock.now();
            let there = contents.get(&key, now).filter(|(_, change)| change.live);
            let ago = |change: &Change| now.since(Instant::from_nanos(change.over - change.lease));
            Ok(there.map(|(number, change)| EntryInfo { revision: Revision(number), ago: ago(change) }))
        });
        found.await
    }

    async fn list(&self) -> Result<Vec<WatchEvent>, Fault> {
        let entries = self.with(|this, contents| Ok(contents.entries(0, this.clock.now()))).await?;
        Ok(entries.into_iter().map(|(_, event)| event).collect())
    }

    async fn watch(&self) -> Result<BoxStream<'static, Watched>, Fault> {
        let life = self.with(|_, contents| Ok(contents.life)).await?;
        let changes = stream::unfold((self.clone(), life, 0), async |(this, life, seen)| {
            loop {
                let now = this.with(move |this, contents| {
                    Ok((contents.life, contents.entries(seen, this.clock.now())))
                });
                // The watch ends with the connection, and with the life in which the watch began.
                let (_, entries) = now.await.ok().filter(|(present, _)| *present == life)?;
                if let Some((newest, _)) = entries.last() {
                    let next = (this, life, *newest);
                    return Some((stream::iter(entries), next));
                }
                tokio::time::sleep(POLL).await;
            }
        });
        Ok(changes.flatten().map(|(_, event)| Watched::Entry(event)).boxed())
    }

    async fn reconnect(&self) {}

    async fn register(&self, registry: &Registry) -> Result<(), Fault> {
        self.connections.add(registry);
        Ok(())
    }

    async fn candidates(&self) -> Result<Option<Vec<CandidateInfo>>, Fault> {
        Ok(Some(self.connections.candidates()))
    }

    async fn close(&self) {
        self.closed.store(true, Relaxed);
    }
}

#[async_trait]
impl StoreAdmin for Folder {
    async fn put(&self, key: &str, value: &[u8]) -> Result<Revision, Fault> {
        self.operate(key, Some(value), None).await?.ok_or_else(|| fault("nothing was expected"))
    }

    async fn delete(&self, key: &str) -> Result<Revision, Fault> {
        self.operate(key, None, None).await?.ok_or_else(|| fault("nothing was expected"))
    }

    async fn delete_at(&self, key: &str, revision: Revision) -> Result<Option<Revision>, Fault> {
        self.operate(key, None, Some(revision)).await
    }
}
