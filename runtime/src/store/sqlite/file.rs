//! Opening the file, making it, and taking it over after a reboot.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use rusqlite::{Connection, ErrorCode, OpenFlags, TransactionBehavior, params};

use super::failure::{Cause, is_busy};
use super::settings::SqliteSettings;
use super::{filesystem, table};
use crate::ErrorKind;
use crate::clock::Clock;
use crate::store::incarnation;

/// "incb": what makes a SQLite file ours (<https://sqlite.org/fileformat.html>, section 1.3.15).
const APPLICATION: i64 = 0x696e_6362;

/// The layout of the tables.
const LAYOUT: i64 = 1;

/// How long one statement waits for another process's transaction; those take milliseconds. It is
/// the shortest time a campaign gives an attempt.
const PATIENCE: Duration = Duration::from_millis(250);

/// The pause between two looks at the lock: SQLite's own grows to 100 ms, a long time in a hand-over.
const PAUSE: Duration = Duration::from_millis(1);

/// How long opening waits for other processes that open at the same time.
const OPENING: Duration = Duration::from_secs(5);

/// One opening of one file.
#[derive(Debug)]
pub(super) struct Database {
    pub(super) sql: Connection,
    pub(super) clock: Clock,
    pub(super) boot: String,
}

impl Database {
    /// Opens the file, makes it where there is none or an empty one, and ends the leases of an
    /// earlier boot.
    pub(super) fn open(settings: &SqliteSettings, clock: &Clock) -> Result<Self, Cause> {
        let deadline = Instant::now() + OPENING;
        loop {
            match Self::open_once(settings, clock) {
                // Others are opening, making or deleting it at this moment.
                Err(Cause::Replaced) if Instant::now() < deadline => {}
                Err(Cause::Sql(error)) if is_busy(&error) && Instant::now() < deadline => {}
                result => return result,
            }
            thread::sleep(PAUSE);
        }
    }

    fn open_once(settings: &SqliteSettings, clock: &Clock) -> Result<Self, Cause> {
        let Some(boot) = clock.boot_id() else {
            let detail = "this platform has no clock that its processes share; use a store with a server";
            return Err(Cause::Refused(ErrorKind::Unsupported, detail.into()));
        };
        let path = &settings.path;
        filesystem::check(path.parent().unwrap_or(path))?;
        let mut database =
            Self { sql: connect(path, settings.create)?, clock: clock.clone(), boot: boot.to_owned() };
        database.make(path)?;
        // The companions were opened by name: only now is it certain whose they are.
        if database.has_moved() {
            return Err(Cause::Replaced);
        }
        database.take_over()?;
        Ok(database)
    }

    /// Whether the file at the path is another than this one, or none.
    pub(super) fn has_moved(&self) -> bool {
        #[cfg(unix)]
        {
            let mut moved = 0;
            let asked = self.sql.file_control(None::<&str>, rusqlite::FileControl::HasMoved(&mut moved));
            asked.is_err() || moved != 0
        }
        // Where an open file cannot be deleted there is nothing to notice.
        #[cfg(not(unix))]
        false
    }

    fn make(&mut self, path: &Path) -> Result<(), Cause> {
        if maker(&self.sql)? == Maker::Nobody {
            let making = self.sql.transaction_with_behavior(TransactionBehavior::Exclusive)?;
            if maker(&making)? == Maker::Nobody {
                remove_stale_index(path)?;
                making.execute_batch(table::LAYOUT)?;
                let (life, now) = (incarnation::next(), table::signed(self.clock.now().as_nanos()));
                making.execute(table::BIRTH, params![table::signed(life.0), self.boot, now])?;
                making.pragma_update(None, "application_id", APPLICATION)?;
                making.pragma_update(None, "user_version", LAYOUT)?;
                making.commit()?;
            }
        }
        let mode: String = self.sql.pragma_update_and_check(None, "journal_mode", "wal", |row| row.get(0))?;
        if mode.eq_ignore_ascii_case("wal") {
            return Ok(());
        }
        let detail = format!("the file system allows no write-ahead log (only {mode}); use a local disk");
        Err(Cause::Refused(ErrorKind::UnsafeStore, detail))
    }
}

fn connect(path: &Path, create: bool) -> Result<Connection, Cause> {
    let mut flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    flags.set(OpenFlags::SQLITE_OPEN_CREATE, create);
    let mut sql = Connection::open_with_flags(path, flags).map_err(|error| missing(path, error))?;
    if sql.is_readonly(rusqlite::MAIN_DB)? {
        let detail = "the file can only be read; check its permissions".to_owned();
        return Err(Cause::Refused(ErrorKind::Denied, detail));
    }
    sql.busy_handler(Some(wait))?;
    // What is acknowledged has reached the disk, on macOS its platters too.
    sql.pragma_update(None, "synchronous", "full")?;
    sql.pragma_update(None, "fullfsync", true)?;
    sql.pragma_update(None, "checkpoint_fullfsync", true)?;
    Ok(sql)
}

fn missing(path: &Path, error: rusqlite::Error) -> Cause {
    let cannot = error.sqlite_error_code() == Some(ErrorCode::CannotOpen);
    if cannot && matches!(path.try_exists(), Ok(false)) {
        let detail = "the file does not exist; `incumbent init` makes it".to_owned();
        return Cause::Refused(ErrorKind::NotFound, detail);
    }
    Cause::Sql(error)
}

fn wait(tries: i32) -> bool {
    thread::sleep(PAUSE);
    PAUSE * tries.unsigned_abs() < PATIENCE
}

#[derive(PartialEq, Eq)]
enum Maker {
    Us,
    Nobody,
}

fn maker(sql: &Connection) -> Result<Maker, Cause> {
    let pragma = |name| sql.pragma_query_value(None, name, |row| row.get::<_, i64>(0));
    let (application, layout) = (pragma("application_id")?, pragma("user_version")?);
    let tables: i64 = sql.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0))?;
    match (application, layout) {
        (APPLICATION, LAYOUT) => Ok(Maker::Us),
        (0, 0) if tables == 0 => Ok(Maker::Nobody),
        (APPLICATION, newer) => Err(Cause::Refused(
            ErrorKind::Unsupported,
            format!("its layout is {newer}, and this version knows {LAYOUT}; use a newer version"),
        )),
        _ => Err(Cause::Refused(
            ErrorKind::UnsafeStore,
            "it is the database of another program; name another file".to_owned(),
        )),
    }
}

/// Removes the `-shm` file of a database that was deleted alone.
///
/// Processes that still have the deleted one open would share its index of the log with us, who
/// keep another log. SQLite itself removes the log of a deleted database, but not the index. We
/// hold this file exclusively and it has no tables, so nobody has begun an index for it.
fn remove_stale_index(path: &Path) -> Result<(), Cause> {
    let mut name = path.as_os_str().to_owned();
    name.push("-shm");
    match fs::remove_file(PathBuf::from(name)) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(Cause::Refused(
            ErrorKind::Denied,
            format!("its old -shm file cannot be removed; remove it ({error})"),
        )),
        _ => Ok(()),
    }
}
