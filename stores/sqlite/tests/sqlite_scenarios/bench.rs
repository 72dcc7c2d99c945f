//! A file that several processes share.

use std::time::Duration;

use incumbent::store::{Sqlite, SqliteSettings};
use incumbent::{Clock, Instant};
use incumbent_testkit::wait;
use rusqlite::Connection;
use tempfile::TempDir;

use crate::actor::TIME_LIMIT;
use crate::process::Process;

pub(crate) const KEY: &str = "jobs";

/// A lease for tests in which one runs out.
pub(crate) const SHORT: Duration = Duration::from_secs(6);
/// A lease for tests in which none may run out. No test waits for its end.
pub(crate) const LONG: Duration = Duration::from_secs(30);
/// The longest delay on a busy machine.
pub(crate) const BUSY: Duration = Duration::from_secs(10);
/// The longest interval at which candidates read the file.
const POLL: Duration = Duration::from_secs(1);

/// A file on which no election has ever run.
pub(crate) struct Bench {
    folder: TempDir,
}

impl Bench {
    pub(crate) async fn start(_lease: Duration) -> Self {
        let bench = Self { folder: tempfile::tempdir().unwrap() };
        let settings = SqliteSettings::new(bench.path());
        Sqlite::init(&settings, &Clock::system(), true).await.unwrap();
        bench
    }

    fn path(&self) -> std::path::PathBuf {
        self.folder.path().join("elections.db")
    }

    pub(crate) fn url(&self) -> String {
        format!("sqlite:{}", self.path().display())
    }

    /// A lock that can keep every candidate away from the file, as a proxy keeps candidates away from a server.
    pub(crate) fn proxy(&self) -> Lock {
        Lock { sql: Connection::open(self.path()).unwrap(), url: self.url() }
    }

    /// Waits until these candidates are registered.
    #[track_caller]
    pub(crate) fn await_joined(&self, names: &[&str]) {
        let sql = Connection::open(self.path()).unwrap();
        wait::until("the candidates to register", TIME_LIMIT, || {
            let count = sql.query_row("SELECT count(*) FROM candidate", [], |row| row.get::<_, u32>(0));
            // An error means that a writer holds the lock.
            count.is_ok_and(|count| count as usize >= names.len())
        });
    }

    /// Stops a candidate's process (SIGSTOP), but not during a transaction, which would keep every other candidate from
    /// writing.
    pub(crate) fn stop(&self, process: &Process) {
        let lock = self.proxy();
        lock.cut();
        process.child.pause();
        lock.heal();
    }
}

/// A lock of the whole file, which keeps out even readers.
pub(crate) struct Lock {
    sql: Connection,
    url: String,
}

impl Lock {
    pub(crate) fn cut(&self) {
        wait::until("the lock", TIME_LIMIT, || self.sql.execute_batch("BEGIN EXCLUSIVE").is_ok());
    }

    pub(crate) fn heal(&self) {
        self.sql.execute_batch("ROLLBACK").unwrap();
    }
}

/// Runs a scenario on a file. There is only one version of SQLite to run it on.
pub(crate) async fn on_each<F: Future<Output = ()>>(lease: Duration, scenario: impl Fn(Bench) -> F) {
    scenario(Bench::start(lease).await).await;
}

/// The URL for a candidate that a lock can keep from the file. It is the same for all candidates.
pub(crate) fn url_through(lock: &Lock) -> String {
    lock.url.clone()
}

/// The URL that a candidate in a separate process opens: the one of the test.
pub(crate) fn store_url(url: &str) -> String {
    url.to_owned()
}

/// The longest time from a leader's last renewal until another leads.
pub(crate) fn followed_within(lease: Duration) -> Duration {
    lease + POLL + BUSY
}

/// The default margin between a deadline and the end of the lease.
pub(crate) fn margin(lease: Duration) -> Duration {
    let (second, quarter) = (Duration::from_secs(1), Duration::from_millis(250));
    (lease / 20).min(second) + lease / 100 + (lease / 20).min(quarter)
}

pub(crate) fn now() -> Instant {
    Clock::system().now()
}
