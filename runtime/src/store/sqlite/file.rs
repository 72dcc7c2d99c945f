//! Opening the file, and taking it over after a reboot.

use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use rusqlite::{Connection, OpenFlags};

use super::failure::{Cause, is_busy};
use super::filesystem;
use super::making::{Folder, is_missing, make};
use super::settings::SqliteSettings;
use crate::ErrorKind;
use crate::clock::Clock;

/// "incb": what makes a SQLite file ours (<https://sqlite.org/fileformat.html>, section 1.3.15).
pub(super) const APPLICATION: i64 = 0x696e_6362;

/// The version of the tables' layout.
pub(super) const VERSION: i64 = 1;

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
        let Some(boot) = clock.boot_id() else {
            let detail = "this platform has no clock that its processes share; use a store with a server";
            return Err(Cause::Refused(ErrorKind::Unsupported, detail.into()));
        };
        filesystem::check(settings.path.parent().unwrap_or(&settings.path))?;
        let deadline = Instant::now() + OPENING;
        loop {
            if settings.create && is_missing(&settings.path) {
                make(&settings.path, clock, boot)?;
            }
            match Self::open_present(&settings.path, clock, boot) {
                // It was deleted this moment, or others are opening it at the same time.
                Err(Cause::Replaced) if settings.create && Instant::now() < deadline => {}
                Err(Cause::Sql(error)) if is_busy(&error) && Instant::now() < deadline => {}
                Err(Cause::Replaced) => {
                    let detail = "the file does not exist, or is empty; `incumbent init` makes it".to_owned();
                    return Err(Cause::Refused(ErrorKind::NotFound, detail));
                }
                result => return result,
            }
            thread::sleep(PAUSE);
        }
    }

    fn open_present(path: &Path, clock: &Clock, boot: &str) -> Result<Self, Cause> {
        let folder = Folder::shared(path)?;
        if is_missing(path) {
            return Err(Cause::Replaced);
        }
        // Nobody can make it meanwhile, but anybody can delete it.
        let sql = connect(path).map_err(|cause| if is_missing(path) { Cause::Replaced } else { cause })?;
        let mut database = Self { sql, clock: clock.clone(), boot: boot.to_owned() };
        // The first read opens the log and its index by name: only if the file is in its place
        // after that, it is certain that they are its own.
        let recognised = recognise(&database.sql);
        database.in_place(recognised)?;
        drop(folder);
        let taken_over = database.take_over();
        database.in_place(taken_over)?;
        Ok(database)
    }

    /// What `result` is worth: nothing where the file has lost its path meanwhile.
    pub(super) fn in_place<T>(&self, result: Result<T, Cause>) -> Result<T, Cause> {
        if self.has_moved() { Err(Cause::Replaced) } else { result }
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
}

fn connect(path: &Path) -> Result<Connection, Cause> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let mut sql = Connection::open_with_flags(path, flags)?;
    if sql.is_readonly(rusqlite::MAIN_DB)? {
        let detail = "the file can only be read; check its permissions".to_owned();
        return Err(Cause::Refused(ErrorKind::Denied, detail));
    }
    sql.busy_handler(Some(wait))?;
    make_durable(&sql)?;
    Ok(sql)
}

/// From now on, what is acknowledged has reached the disk; on macOS its platters too.
pub(super) fn make_durable(sql: &Connection) -> Result<(), Cause> {
    sql.pragma_update(None, "synchronous", "full")?;
    sql.pragma_update(None, "fullfsync", true)?;
    sql.pragma_update(None, "checkpoint_fullfsync", true)?;
    Ok(())
}

fn wait(tries: i32) -> bool {
    thread::sleep(PAUSE);
    PAUSE * tries.unsigned_abs() < PATIENCE
}

/// Refuses a file that is not ours, or not of this version.
fn recognise(sql: &Connection) -> Result<(), Cause> {
    let pragma = |name| sql.pragma_query_value(None, name, |row| row.get::<_, i64>(0));
    match (pragma("application_id")?, pragma("user_version")?) {
        (APPLICATION, VERSION) => {}
        (APPLICATION, other) => {
            return Err(Cause::Refused(
                ErrorKind::Unsupported,
                format!("its layout is {other}, and this version knows {VERSION}; use a newer version"),
            ));
        }
        _ => {
            let detail = "it is the database of another program; name another file".to_owned();
            return Err(Cause::Refused(ErrorKind::UnsafeStore, detail));
        }
    }
    let mode: String = sql.pragma_query_value(None, "journal_mode", |row| row.get(0))?;
    if !mode.eq_ignore_ascii_case("wal") {
        // Copies made by other tools may have lost it.
        sql.pragma_update(None, "journal_mode", "wal")?;
    }
    Ok(())
}
