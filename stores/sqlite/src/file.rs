//! Opens the file.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use rusqlite::{Connection, OpenFlags};

use super::create::{Folder, is_missing, make, make_durable};
use super::failure::{Cause, is_busy};
use super::filesystem;
use super::head::{Known, Last, head_of_any_boot};
use super::identity::{FileState, Identity};
use super::layout::{APPLICATION, FROM_LAYOUT_1, VERSION, WRITE_AHEAD};
use super::settings::SqliteSettings;
use incumbent_core::text::Text;
use incumbent_store::ErrorKind;
use incumbent_store::clock::{Clock, NAMESPACE};

/// The time limit of one statement that waits for another process's transaction. Such a transaction takes milliseconds.
/// The limit is the shortest time that a campaign gives an attempt.
pub(super) const LOCK_TIMEOUT: Duration = Duration::from_millis(250);

/// The time limit of a read that waits for writers. It is longer because successive writers can delay a read several
/// times.
pub(super) const READ_LOCK_TIMEOUT: Duration = Duration::from_secs(1);

/// The bounds of the random pause between two tries of the lock, which grows from the first to the second. SQLite's own
/// pause grows to 100 ms, a long time in a hand-over. But hundreds of processes that all try every millisecond block
/// each other.
const PAUSES: (Duration, Duration) = (Duration::from_millis(1), Duration::from_millis(8));

/// The pause between two tries to open the file.
pub(super) const PAUSE: Duration = Duration::from_millis(20);

/// The time limit for opening the file while other processes open it too.
pub(super) const OPEN_TIMEOUT: Duration = Duration::from_secs(20);

/// An opened file.
#[derive(Debug)]
pub(super) struct Database {
    pub(super) sql: Connection,
    pub(super) clock: Clock,
    pub(super) boot: String,
    pub(super) path: PathBuf,
    pub(super) identity: Identity,
    /// The known state of the file, including from earlier openings.
    pub(super) known: Option<Known>,
    /// The last transaction, if another program may have changed the file after it, and when that was noticed.
    pub(super) suspect: Option<(Instant, Last)>,
    /// True to wait for locks.
    pub(super) waits_for_locks: Arc<AtomicBool>,
    /// True if the file can only be read.
    pub(super) is_read_only: bool,
    /// This opening created the file.
    pub(super) is_new: bool,
}

impl Database {
    /// Opens the file, creates it if it is missing or empty, and adopts it for this boot of the machine.
    pub(super) fn open(
        settings: &SqliteSettings,
        clock: &Clock,
        known: Option<Known>,
        lock_timeout: Duration,
    ) -> Result<Self, Cause> {
        let Some(boot) = clock.boot_id() else {
            let detail = "this platform has no clock that its processes share; use a store with a server";
            return Err(Cause::Refused(ErrorKind::Unsupported, detail.into()));
        };
        filesystem::check(settings.path.parent().unwrap_or(&settings.path), settings.fuse)?;
        let deadline = Instant::now() + OPEN_TIMEOUT;
        let mut is_new = false;
        loop {
            let opened = if settings.create && is_missing(&settings.path) {
                make(&settings.path, clock, boot, lock_timeout)
            } else {
                Ok(is_new)
            };
            let opened = opened.and_then(|made| {
                is_new = made;
                Self::open_present(settings, clock, boot, known, lock_timeout)
            });
            match opened.map(|database| Self { is_new, ..database }) {
                // The file has just been deleted, or other processes are opening it at the same time.
                Err(Cause::Replaced) if settings.create && Instant::now() < deadline => {}
                Err(cause) if cause.is_busy() && Instant::now() < deadline => {}
                Err(Cause::Replaced) => {
                    let missing = Text::from("the file does not exist, or is empty; ");
                    let missing = missing.and(Text::init(&[])).and(" creates it");
                    return Err(Cause::Refused(ErrorKind::NotFound, missing));
                }
                result => return result,
            }
            thread::sleep(PAUSE / 4 + jitter(PAUSE));
        }
    }

    fn open_present(
        settings: &SqliteSettings,
        clock: &Clock,
        boot: &str,
        known: Option<Known>,
        lock_timeout: Duration,
    ) -> Result<Self, Cause> {
        let path = settings.path.as_path();
        let _folder = Folder::shared(path, lock_timeout)?;
        if is_missing(path) {
            return Err(Cause::Replaced);
        }
        let Ok(seen) = FileState::at(path) else { return Err(Cause::Replaced) };
        seen.check(path)?;
        let waits_for_locks = Arc::new(AtomicBool::new(true));
        let sql = connect(settings, &waits_for_locks, lock_timeout);
        let sql = sql.map_err(|cause| if is_missing(path) { Cause::Replaced } else { cause })?;
        let (clock, boot, path, identity) = (clock.clone(), boot.to_owned(), path.to_owned(), seen.identity);
        let is_read_only = sql.is_readonly(rusqlite::MAIN_DB)?;
        let mut database = Self {
            sql,
            clock,
            boot,
            path,
            identity,
            known,
            suspect: None,
            waits_for_locks,
            is_read_only,
            is_new: false,
        };
        let adopted = recognise(&mut database.sql, is_read_only).and_then(|()| {
            refuse_other_namespace(&database)?;
            if is_read_only { database.check_adopted() } else { database.adopt() }
        });
        // Checks that this is the file that was examined, and that SQLite has opened the same file.
        if database.was_opened_elsewhere() {
            return Err(Cause::Replaced);
        }
        database.in_place(adopted)?;
        Ok(database)
    }

    /// Does `work` without waiting for locks: a held lock is an immediate error.
    pub(super) fn without_waiting<T>(
        &mut self,
        work: impl FnOnce(&mut Self) -> Result<T, Cause>,
    ) -> Result<T, Cause> {
        let waits_for_locks = Arc::clone(&self.waits_for_locks);
        waits_for_locks.store(false, Ordering::Relaxed);
        let result = work(self);
        waits_for_locks.store(true, Ordering::Relaxed);
        result
    }

    /// Returns the result, or `Replaced` if the file was removed from its path meanwhile.
    pub(super) fn in_place<T>(&self, result: Result<T, Cause>) -> Result<T, Cause> {
        if self.has_moved() { Err(Cause::Replaced) } else { result }
    }

    /// Returns true if the path has a different file, or none.
    pub(super) fn has_moved(&self) -> bool {
        FileState::at(&self.path).map_or(true, |seen| seen.identity != self.identity)
    }

    /// Returns true if SQLite has opened a different file from the one at the path.
    fn was_opened_elsewhere(&self) -> bool {
        #[cfg(unix)]
        {
            let mut moved = 0;
            let asked = self.sql.file_control(None::<&str>, rusqlite::FileControl::HasMoved(&mut moved));
            asked.is_err() || moved != 0
        }
        // On systems on which an open file cannot be deleted, it cannot move either.
        #[cfg(not(unix))]
        false
    }
}

/// Refuses a file that another time namespace uses in this boot: the shift between the clocks would look like elapsed
/// time.
fn refuse_other_namespace(database: &Database) -> Result<(), Cause> {
    let (_, theirs) = head_of_any_boot(&database.sql)?;
    let ours = &database.boot;
    let machine = |boot: &str| boot.split(NAMESPACE).next().map(str::to_owned);
    if theirs == *ours || machine(&theirs) != machine(ours) {
        return Ok(());
    }
    let detail = "the processes that use the file are in another time namespace, whose clock shows another time: run \
        all of them in one namespace, or give each namespace its own file";
    Err(Cause::Refused(ErrorKind::UnsafeStore, detail.into()))
}

fn connect(
    settings: &SqliteSettings,
    waits_for_locks: &Arc<AtomicBool>,
    lock_timeout: Duration,
) -> Result<Connection, Cause> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    // SQLite opens an unwritable file for reading.
    let mut sql = Connection::open_with_flags(&settings.path, flags)?;
    if !settings.read_only && sql.is_readonly(rusqlite::MAIN_DB)? {
        let detail = "the file can only be read; check its permissions".to_owned();
        return Err(Cause::Refused(ErrorKind::PermissionDenied, detail.into()));
    }
    #[cfg(unix)]
    if !settings.read_only {
        check_folder(&settings.path)?;
    }
    let waits_for_locks = Arc::clone(waits_for_locks);
    sql.busy_handler(Some(move |tries| {
        waits_for_locks.load(Ordering::Relaxed) && wait(tries, lock_timeout)
    }))?;
    make_durable(&sql)?;
    Ok(sql)
}

/// Refuses a folder in which the journal does not exist and cannot be created: nothing could ever be written.
#[cfg(unix)]
fn check_folder(path: &Path) -> Result<(), Cause> {
    use rustix::fs::{Access, AtFlags, CWD, accessat};

    let mut journal = path.as_os_str().to_owned();
    journal.push("-journal");
    let folder = path.parent().unwrap_or(path);
    let writable = accessat(CWD, folder, Access::WRITE_OK | Access::EXEC_OK, AtFlags::EACCESS);
    if Path::new(&journal).exists() || writable.is_ok() {
        return Ok(());
    }
    let detail =
        format!("no journal can be made in {}; check the permissions of the folder", folder.display());
    Err(Cause::Refused(ErrorKind::PermissionDenied, detail.into()))
}

/// Makes SQLite keep the journal between transactions, with a zeroed header. Creating and deleting it each time would
/// change the folder, which file systems flush far more slowly.
fn keep_journal(sql: &Connection) -> Result<(), Cause> {
    sql.pragma_update_and_check(None, "journal_mode", "persist", |_| Ok(()))?;
    Ok(())
}

/// Waits between two tries of a lock. SQLite calls this with the number of tries so far.
fn wait(tries: i32, lock_timeout: Duration) -> bool {
    let tries = tries.unsigned_abs();
    let (shortest, longest) = PAUSES;
    let pause = |tries: u32| (shortest * (1 << (tries / 2).min(8))).min(longest);
    thread::sleep(pause(tries) / 2 + jitter(pause(tries)));
    (0..=tries).map(pause).sum::<Duration>() < lock_timeout
}

/// A random part of `span`; all of it if the system has no random numbers.
pub(super) fn jitter(span: Duration) -> Duration {
    let part = getrandom::u32().unwrap_or(u32::MAX);
    span.mul_f64(f64::from(part) / f64::from(u32::MAX))
}

/// Refuses a file of another program or of an unknown version. A file of the previous version is converted, if it can
/// be written.
fn recognise(sql: &mut Connection, is_read_only: bool) -> Result<(), Cause> {
    let pragma = |sql: &Connection, name| sql.pragma_query_value(None, name, |row| row.get::<_, i64>(0));
    if pragma(sql, "application_id")? != APPLICATION {
        let detail = "it is another program's database; name another file".to_owned();
        return Err(Cause::Refused(ErrorKind::UnsafeStore, detail.into()));
    }
    let version = pragma(sql, "user_version")?;
    if !(1..=VERSION).contains(&version) {
        return Err(Cause::Refused(
            ErrorKind::Unsupported,
            format!("its layout is {version}, but this version supports {VERSION}; use a newer version")
                .into(),
        ));
    }
    let mode: String = sql.pragma_query_value(None, "journal_mode", |row| row.get(0))?;
    if is_read_only {
        return match version {
            VERSION if mode != WRITE_AHEAD => Ok(()),
            _ => Err(only_read("an earlier version wrote it")),
        };
    }
    if mode == WRITE_AHEAD {
        leave_write_ahead_log(sql)?;
    }
    keep_journal(sql)?;
    if version == 1 {
        let changing = sql.transaction_with_behavior(rusqlite::TransactionBehavior::Immediate)?;
        if pragma(&changing, "user_version")? == 1 {
            changing.execute_batch(FROM_LAYOUT_1)?;
            changing.pragma_update(None, "user_version", VERSION)?;
            changing.commit()?;
        }
    }
    Ok(())
}

/// Refuses a read-only file that must first be converted or adopted.
pub(super) fn only_read(what: &str) -> Cause {
    let detail = format!(
        "the file can only be read, and {what}: a candidate must open it first, which needs write permission"
    );
    Cause::Refused(ErrorKind::PermissionDenied, detail.into())
}

/// The write-ahead log and its index are separate files, and processes that do not share them do not see each other's
/// writes and locks. With a journal, the locks are on the one database file.
fn leave_write_ahead_log(sql: &Connection) -> Result<(), Cause> {
    let changed = sql.pragma_update_and_check(None, "journal_mode", "delete", |row| row.get::<_, String>(0));
    match changed {
        Ok(mode) if mode == "delete" => Ok(()),
        Ok(_) => Err(in_use()),
        Err(error) if is_busy(&error) => Err(in_use()),
        Err(error) => Err(error.into()),
    }
}

fn in_use() -> Cause {
    let detail =
        "another program uses it with a write-ahead log, as earlier versions did; end that program first";
    Cause::Refused(ErrorKind::Broken, detail.into())
}
