//! Creates the file atomically: completely or not at all.
//!
//! A new file is created under another name and then moved to its place. Before that, any journal that an earlier,
//! deleted file left behind is removed.
//!
//! SQLite names a journal after the file, so two successive files of the same name share it. Therefore each transaction
//! runs under an advisory lock on the folder, which cannot be deleted along with the file. The lock is shared for
//! opening, reading and writing, and exclusive for creating the file. So no new file replaces a file that is being
//! written. An operator who moves a file there takes no such lock. At worst, within the milliseconds of a transaction,
//! that file gets pages of the previous file, and these pages identify the previous file.

use std::fs::{self, File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use rusqlite::{Connection, OpenFlags, params};

use super::failure::Cause;
use super::identity::{FileState, Identity, wall};
use super::layout::{APPLICATION, BIRTH, LAYOUT, VERSION, signed};
use incumbent_store::ErrorKind;
use incumbent_store::clock::Clock;
use incumbent_store::local::next_incarnation;

/// The pause between two tries of the folder's lock.
const PAUSE: Duration = Duration::from_millis(1);

/// A lock on the folder, until it is dropped.
pub(super) struct Folder(File);

impl Folder {
    /// Takes a shared lock, which keeps other processes from creating the file while a transaction lasts.
    pub(super) fn shared(path: &Path, lock_timeout: Duration) -> Result<Self, Cause> {
        Self::locked(path, lock_timeout, File::try_lock_shared)
    }

    /// Takes an exclusive lock, which keeps other processes from creating or using the file.
    fn exclusive(path: &Path, lock_timeout: Duration) -> Result<Self, Cause> {
        Self::locked(path, lock_timeout, File::try_lock)
    }

    fn locked(
        path: &Path,
        lock_timeout: Duration,
        lock: impl Fn(&File) -> Result<(), TryLockError>,
    ) -> Result<Self, Cause> {
        let path = path.parent().unwrap_or(path);
        let folder = File::open(path).map_err(|error| unusable(path, &error))?;
        let deadline = Instant::now() + lock_timeout;
        loop {
            match lock(&folder) {
                Ok(()) => return Ok(Self(folder)),
                Err(TryLockError::WouldBlock) if Instant::now() < deadline => thread::sleep(PAUSE),
                Err(TryLockError::WouldBlock) => {
                    let folder = path.display();
                    return Err(Cause::FolderLocked(format!(
                        "other programs keep {folder} locked: a program was stopped in a transaction, or the disk is \
                         slow; end the stopped program"
                    )));
                }
                Err(TryLockError::Error(error)) => return Err(unusable(path, &error)),
            }
        }
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // The unlock is explicit, because a child forked meanwhile also has the folder open and would keep it locked.
        let _ = self.0.unlock();
    }
}

/// Returns true if there is nothing at the path, or an empty file.
pub(super) fn is_missing(path: &Path) -> bool {
    match fs::metadata(path) {
        Ok(file) => file.is_file() && file.len() == 0,
        Err(error) => error.kind() == io::ErrorKind::NotFound,
    }
}

/// Creates the file, unless another process has created it meanwhile. Returns true if this process created it.
pub(super) fn make(path: &Path, clock: &Clock, boot: &str, lock_timeout: Duration) -> Result<bool, Cause> {
    let folder = Folder::exclusive(path, lock_timeout)?;
    if !is_missing(path) {
        return Ok(false);
    }
    let draft = with_end(path, "-new");
    // A process that was killed while it created the file may have left these files.
    for end in ["", "-journal", "-wal", "-shm"] {
        remove(&with_end(&draft, end))?;
    }
    write(&draft, clock, boot)?;
    if let Ok(empty) = fs::metadata(path) {
        fs::set_permissions(&draft, empty.permissions()).map_err(|error| unusable(&draft, &error))?;
    }
    for end in ["-journal", "-wal", "-shm"] {
        remove(&with_end(path, end))?;
    }
    fs::rename(&draft, path).map_err(|error| unusable(path, &error))?;
    // Without this, a crash of the machine could undo the renaming and all later writes.
    folder.0.sync_all().map_err(|error| unusable(path, &error)).map(|()| true)
}

fn write(draft: &Path, clock: &Clock, boot: &str) -> Result<(), Cause> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE;
    let mut sql = Connection::open_with_flags(draft, flags)?;
    make_durable(&sql)?;
    let creating = sql.transaction()?;
    creating.execute_batch(LAYOUT)?;
    let (incarnation, now) = (next_incarnation(), clock.now());
    let Identity { device, inode, birth } =
        FileState::at(draft).map_err(|error| unusable(draft, &error))?.identity;
    let (incarnation, now) = (signed(incarnation.0), signed(now.as_nanos()));
    creating.execute(BIRTH, params![incarnation, boot, now, wall(), device, inode, birth])?;
    creating.pragma_update(None, "application_id", APPLICATION)?;
    creating.pragma_update(None, "user_version", VERSION)?;
    creating.commit()?;
    sql.close().map_err(|(_, error)| Cause::Sql(error))
}

/// Makes SQLite flush every acknowledged write to the disk, on macOS to its platters too. `extra` flushes the folder
/// after a journal is deleted. Otherwise a crash of the machine could restore the journal, and with it the state before
/// the last write.
pub(super) fn make_durable(sql: &Connection) -> Result<(), Cause> {
    sql.pragma_update(None, "synchronous", "extra")?;
    sql.pragma_update(None, "fullfsync", true)?;
    Ok(())
}

fn remove(path: &Path) -> Result<(), Cause> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(unusable(path, &error)),
        _ => Ok(()),
    }
}

fn with_end(path: &Path, end: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(end);
    name.into()
}

fn unusable(path: &Path, error: &io::Error) -> Cause {
    let kind = match error.kind() {
        io::ErrorKind::NotFound => ErrorKind::NotFound,
        io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => ErrorKind::PermissionDenied,
        _ => ErrorKind::Broken,
    };
    Cause::Refused(kind, format!("{} cannot be used: {error}", path.display()).into())
}
