//! Files that were open when the process forked.
//!
//! SQLite keeps a record of the locks that its process holds. A child inherits this record but not the locks, and would
//! use the file as if it held them (<https://www.sqlite.org/howtocorrupt.html>, "Carrying an open database file across
//! a fork"). So a child must not use such a file.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, TryLockError};
use std::thread;
use std::time::{Duration, Instant};

use incumbent_store::fork::ForkGuard;
use incumbent_store::{Error, ErrorKind, Result};

/// The time limit for locking the list. The lock is held only briefly, unless the process forked while another thread
/// held it.
const LIST_LOCK_TIMEOUT: Duration = Duration::from_secs(1);

static OPEN: Mutex<Vec<Entry>> = Mutex::new(Vec::new());

struct Entry {
    number: u64,
    path: PathBuf,
    birth: ForkGuard,
}

/// A file that this process has open.
#[derive(Debug)]
pub(super) struct Opened {
    number: u64,
    birth: ForkGuard,
}

impl Opened {
    /// Registers the file at the absolute `path`, before it is opened.
    ///
    /// # Errors
    /// `Forked` if the file was open when the process forked.
    pub(super) fn claim(path: &Path) -> Result<Self> {
        static NUMBER: AtomicU64 = AtomicU64::new(0);
        let (number, birth) = (NUMBER.fetch_add(1, Ordering::Relaxed), ForkGuard::new());
        let Some(mut open) = entries() else { return Err(forked(path)) };
        if open.iter().any(|entry| entry.path == path && entry.birth.is_forked()) {
            return Err(forked(path));
        }
        open.push(Entry { number, path: path.to_owned(), birth });
        Ok(Self { number, birth })
    }

    /// The number of this opening in the process.
    pub(super) fn number(&self) -> u64 {
        self.number
    }

    /// Removes the registration. A second call does nothing.
    pub(super) fn release(&self) {
        if self.birth.is_forked() {
            return;
        }
        if let Some(mut open) = entries() {
            open.retain(|entry| entry.number != self.number);
        }
    }
}

impl Drop for Opened {
    fn drop(&mut self) {
        self.release();
    }
}

/// Returns true if the opening with that number still exists, or if that is unknown.
pub(super) fn is_open(number: u64) -> bool {
    entries().is_none_or(|open| open.iter().any(|entry| entry.number == number))
}

/// The list; `None` if another thread held its lock when the process forked, so that the lock is never released.
fn entries() -> Option<MutexGuard<'static, Vec<Entry>>> {
    let until = Instant::now() + LIST_LOCK_TIMEOUT;
    loop {
        match OPEN.try_lock() {
            Ok(open) => return Some(open),
            Err(TryLockError::Poisoned(open)) => return Some(open.into_inner()),
            Err(TryLockError::WouldBlock) if Instant::now() < until => thread::yield_now(),
            Err(TryLockError::WouldBlock) => return None,
        }
    }
}

fn forked(path: &Path) -> Error {
    let path = path.display();
    Error::new(
        ErrorKind::Forked,
        format!(
            "{path} was open when this process was forked, and SQLite cannot use it in the child: open the store only \
             after the fork, or start a new process (spawn)"
        ),
    )
}
