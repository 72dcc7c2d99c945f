//! The connections of one process to one file, which notify each other at once of changes. Those of
//! other processes notice at their next look.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::Sender;
use std::sync::{MutexGuard, PoisonError};

use super::worker::{Desk, Job};
use crate::fork::Own;

/// Per process: a forked child has none of the threads that read for its parent.
static READERS: Own<Vec<Reader>> = Own::new();

struct Reader {
    number: u64,
    path: PathBuf,
    jobs: Sender<Job>,
}

/// A reader's registration, removed when this is dropped.
#[derive(Debug)]
pub(super) struct Neighbour(u64);

impl Neighbour {
    /// Makes the reader behind `jobs` look whenever this process writes to the file.
    pub(super) fn new(path: &Path, jobs: Sender<Job>) -> Self {
        static NUMBER: AtomicU64 = AtomicU64::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        readers().push(Reader { number, path: path.to_owned(), jobs });
        Self(number)
    }
}

impl Drop for Neighbour {
    fn drop(&mut self) {
        readers().retain(|reader| reader.number != self.0);
    }
}

/// Notifies every reader of the file in this process of a write.
pub(super) fn tell(path: &Path) {
    for reader in readers().iter().filter(|reader| reader.path == path) {
        // The reader may be gone.
        let _ = reader.jobs.send(Box::new(Desk::look));
    }
}

/// No code panics while it holds the lock.
fn readers() -> MutexGuard<'static, Vec<Reader>> {
    READERS.get().lock().unwrap_or_else(PoisonError::into_inner)
}
