//! The connections of one process to one file, which tell each other at once that there is news.
//! Those of other processes find out when they next look.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::Sender;
use std::sync::{MutexGuard, PoisonError};

use super::worker::{Desk, Job};
use crate::fork::Own;

/// Of this process: a forked child has none of the threads that read for its parent.
static READERS: Own<Vec<Reader>> = Own::new();

struct Reader {
    number: u64,
    path: PathBuf,
    jobs: Sender<Job>,
}

/// A reader's place among its neighbours, given up when this is dropped.
#[derive(Debug)]
pub(super) struct Neighbour(u64);

impl Neighbour {
    /// Has the reader behind `jobs` look whenever this process writes to the file.
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

/// Tells every reader of the file in this process that it was written.
pub(super) fn tell(path: &Path) {
    for reader in readers().iter().filter(|reader| reader.path == path) {
        // A reader that is gone has nobody to tell.
        let _ = reader.jobs.send(Box::new(Desk::look));
    }
}

/// Nothing panics while the lock is held.
fn readers() -> MutexGuard<'static, Vec<Reader>> {
    READERS.get().lock().unwrap_or_else(PoisonError::into_inner)
}
