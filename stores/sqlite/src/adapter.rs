//! An open file: a thread that writes, and another that reads and watches.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use futures_util::stream::{self, BoxStream, StreamExt};
use incumbent_core::Revision;
use incumbent_core::record::Entry;
use incumbent_core::store::{Capabilities, Fault, Outcome, StoreInfo, Write};
use tokio::sync::mpsc;

use super::connection::Connection;
use super::failure::{Cause, Failure};
use super::file::{Database, OPEN_TIMEOUT, PAUSE, jitter};
use super::forked::Opened;
use super::notice::Notice;
use super::settings::SqliteSettings;
use super::worker::{ReaderRegistration, Worker, WorkerState, notify_readers};
use incumbent_store::clock::Clock;
use incumbent_store::local::{CAPABILITIES, check_text};
use incumbent_store::{Adapter, CandidateInfo, EntryInfo, Registry, StoreAdmin, WatchEvent, Watched};
use incumbent_store::{Error, ErrorKind, Result, threads};

/// The number of attempts to store the candidates while other processes write. They are far apart because renewals need
/// the lock more. The random wait between two attempts doubles each time.
const REGISTER_ATTEMPTS: u32 = 40;
const REGISTER_WAIT: (Duration, Duration) = (Duration::from_millis(5), Duration::from_millis(400));

/// The number of attempts to read the candidates while other processes write. Each attempt takes up to the time limit
/// of a read.
const LIST_ATTEMPTS: u32 = 5;

/// An open SQLite store.
#[derive(Debug)]
pub struct Sqlite {
    clock: Clock,
    writer: Worker,
    reader: Worker,
    // Removes the reader from the list of readers when the store is dropped.
    _registration: ReaderRegistration,
    _notice: Option<Notice>,
    opened: Opened,
}

impl Sqlite {
    /// Opens the file, and creates it if it does not exist. `clock` decides when records expire, and must be the same
    /// for every process, as [`Clock::system`] is.
    ///
    /// # Errors
    /// - [`NotFound`](ErrorKind::NotFound): the folder does not exist, or the file does not exist and the settings
    ///   forbid creating it.
    /// - [`PermissionDenied`](ErrorKind::PermissionDenied): the file or its folder cannot be written.
    /// - [`UnsafeStore`](ErrorKind::UnsafeStore): another program's database, or a network file system.
    /// - [`Unsupported`](ErrorKind::Unsupported): created by a newer version, or this system has no clock that
    ///   processes share.
    /// - [`Broken`](ErrorKind::Broken): damaged, locked by another program, or on a full disk.
    /// - [`Forked`](ErrorKind::Forked): it was open when this process was forked.
    pub async fn open(settings: &SqliteSettings, clock: &Clock) -> Result<Self> {
        let settings = Arc::new(settings.resolved()?);
        let opened = Opened::claim(&settings.path)?;
        let connection = || Connection::new(&settings, clock);
        // The writer comes first, because it creates the file.
        let writer = Worker::start("incumbent-write", connection(), settings.poll).await?;
        let reader = Worker::start("incumbent-read", connection().for_reading(), settings.poll).await?;
        let registration = ReaderRegistration::new(&settings.path, reader.jobs());
        let notice = Notice::start(&settings.path, reader.jobs());
        Ok(Self {
            clock: clock.clone(),
            writer,
            reader,
            _registration: registration,
            _notice: notice,
            opened,
        })
    }

    /// Creates the file if it does not exist, and returns its description. `never_used` records that no election ever
    /// ran under this path, so that the first leader need not wait for a leader of an earlier incarnation of the file.
    ///
    /// # Errors
    /// Those of [`open`](Self::open), and [`UnsafeStore`](ErrorKind::UnsafeStore) for `never_used` on a file that has
    /// been written to.
    pub async fn init(settings: &SqliteSettings, clock: &Clock, never_used: bool) -> Result<StoreInfo> {
        Ok(Self::prepare(settings, clock, never_used).await?.0)
    }

    /// Creates the file if it does not exist. Returns its description, and whether this call created it, as exactly one
    /// of several simultaneous calls does.
    pub(super) async fn prepare(
        settings: &SqliteSettings,
        clock: &Clock,
        never_used: bool,
    ) -> Result<(StoreInfo, bool)> {
        threads::ready().await?;
        let settings = SqliteSettings { create: true, ..settings.resolved()? };
        let opened = Opened::claim(&settings.path)?;
        let mut connection = Connection::new(&Arc::new(settings), clock);
        let initialised = tokio::task::spawn_blocking(move || {
            let is_new = connection.with(|database| Ok(database.is_new))?;
            if never_used {
                let until = std::time::Instant::now() + OPEN_TIMEOUT;
                // Repeated while other processes write, until a slow transaction has been recorded again, and after the
                // file was taken for a copy.
                while let Err(failure) = connection.with(|database| database.mark_never_used()) {
                    let may_pass = failure.is_passing() || failure.is_of_another_file();
                    if !may_pass || std::time::Instant::now() >= until {
                        return Err(failure);
                    }
                    std::thread::sleep(PAUSE);
                }
            }
            let info = connection.with(|database| database.store_info());
            drop((connection, opened));
            info.map(|info| (info, is_new))
        });
        match initialised.await {
            Ok(info) => Ok(info?),
            Err(stopped) => {
                Err(Error::new(ErrorKind::Closed, "the runtime was shut down").caused_by(stopped))
            }
        }
    }
}

impl Sqlite {
    async fn on_reader<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut Database) -> Result<T, Cause> + Send + 'static,
    ) -> Result<T, Failure> {
        self.reader.run(|state| state.connection.with(work)).await
    }

    async fn on_writer<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut Database) -> Result<T, Cause> + Send + 'static,
    ) -> Result<T, Failure> {
        let job = |state: &mut WorkerState| {
            let result = state.connection.with(work);
            notify_readers(state.connection.path());
            result
        };
        self.writer.run(job).await
    }
}

#[async_trait]
impl Adapter for Sqlite {
    fn capabilities(&self) -> Capabilities {
        CAPABILITIES
    }

    fn check_key(&self, key: &str) -> Result<()> {
        check_text("key", key)
    }

    fn check_name(&self, name: &str) -> Result<()> {
        check_text("candidate's name", name)
    }

    async fn inspect(&self) -> Result<StoreInfo, Fault> {
        let asked_at = self.clock.now();
        let info = self.on_reader(|database| database.store_info()).await?;
        Ok(StoreInfo { asked_at, ..info })
    }

    async fn write(&self, key: &str, write: Write) -> Outcome {
        let key = key.to_owned();
        self.on_writer(move |database| database.write(&key, &write)).await.unwrap_or_else(Failure::outcome)
    }

    async fn read(&self, key: &str) -> Result<Entry, Fault> {
        let key = key.to_owned();
        Ok(self.on_reader(move |database| database.read(&key)).await?)
    }

    async fn written(&self, key: &str) -> Result<Option<EntryInfo>, Fault> {
        let key = key.to_owned();
        Ok(self.on_reader(move |database| database.written(&key)).await?)
    }

    async fn list(&self) -> Result<Vec<WatchEvent>, Fault> {
        Ok(self.on_reader(|database| Ok(database.changes_after(Revision(0))?.entries)).await?)
    }

    async fn watch(&self) -> Result<BoxStream<'static, Watched>, Fault> {
        let changes = self.reader.run(|state| state.watchers.add(&mut state.connection)).await?;
        let next = |mut changes: mpsc::Receiver<WatchEvent>| async move {
            changes.recv().await.map(|change| (change, changes))
        };
        Ok(stream::unfold(changes, next).map(Watched::Entry).boxed())
    }

    async fn reconnect(&self) {
        let again = |state: &mut WorkerState| {
            state.connection.forget();
            state.check();
            state.connection.with(|_| Ok(()))
        };
        // The next call tries to open the file again, and reports the error if it fails too.
        let _ = tokio::join!(self.writer.run(again), self.reader.run(again));
    }

    async fn register(&self, registry: &Registry) -> Result<(), Fault> {
        let connection = self.opened.number();
        let (mut wait, longest) = REGISTER_WAIT;
        for _ in 1..REGISTER_ATTEMPTS {
            let registry = registry.clone();
            match self.on_writer(move |database| database.register(connection, &registry)).await {
                Err(failure) if failure.is_passing() => tokio::time::sleep(jitter(wait)).await,
                result => return Ok(result?),
            }
            wait = (wait * 2).min(longest);
        }
        let registry = registry.clone();
        Ok(self.on_writer(move |database| database.register(connection, &registry)).await?)
    }

    async fn candidates(&self) -> Result<Option<Vec<CandidateInfo>>, Fault> {
        let connection = self.opened.number();
        for _ in 1..LIST_ATTEMPTS {
            match self.on_reader(move |database| database.candidates(connection)).await {
                Err(failure) if failure.is_passing() => {}
                result => return Ok(Some(result?)),
            }
        }
        Ok(Some(self.on_reader(move |database| database.candidates(connection)).await?))
    }

    async fn close(&self) {
        let close = |state: &mut WorkerState| {
            state.connection.close();
            state.check();
            Ok(())
        };
        // A worker that has ended has closed its file.
        let _ = self.reader.run(close).await;
        let _ = self.writer.run(close).await;
        self.opened.release();
    }
}

#[async_trait]
impl StoreAdmin for Sqlite {
    async fn put(&self, key: &str, value: &[u8]) -> Result<Revision, Fault> {
        let (key, value) = (key.to_owned(), value.to_owned());
        Ok(self.on_writer(move |database| database.put(&key, &value)).await?)
    }

    async fn delete(&self, key: &str) -> Result<Revision, Fault> {
        let key = key.to_owned();
        Ok(self.on_writer(move |database| database.delete(&key)).await?)
    }

    async fn delete_at(&self, key: &str, revision: Revision) -> Result<Option<Revision>, Fault> {
        let key = key.to_owned();
        Ok(self.on_writer(move |database| database.delete_at(&key, revision)).await?)
    }
}
