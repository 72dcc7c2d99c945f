//! The threads that wait for the disk, so that a runtime's tasks do not have to.
//!
//! The readers of the file in the same process learn of its writes at once. Other processes notice the writes at their
//! next check.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::sync::{Arc, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use tokio::sync::oneshot;

use super::connection::Connection;
use super::failure::{Cause, Failure};
use super::file::OPEN_TIMEOUT;
use super::watchers::Watchers;
use incumbent_store::fork::Own;
use incumbent_store::{Result, threads};

/// Work for a worker's thread.
pub(super) type Job = Box<dyn FnOnce(&mut WorkerState) + Send>;

/// The state of a worker's thread.
#[derive(Debug)]
pub(super) struct WorkerState {
    pub(super) connection: Connection,
    pub(super) watchers: Watchers,
}

/// A thread with its own connection. It ends when its `Worker` and all senders of jobs are gone.
#[derive(Debug)]
pub(super) struct Worker {
    jobs: Sender<Job>,
    path: Arc<Path>,
}

impl Worker {
    /// Starts the thread and opens the file. Waits for a file that another process is creating on a slow disk.
    pub(super) async fn start(name: &str, connection: Connection, poll: Option<Duration>) -> Result<Self> {
        let (jobs, queue) = mpsc::channel();
        let worker = Self { jobs, path: connection.path().clone() };
        let state = WorkerState { connection, watchers: Watchers::new(poll) };
        thread::Builder::new()
            .name(name.to_owned())
            .spawn(move || work(state, &queue))
            .map_err(|cause| threads::refused(&worker.path.display().to_string(), Some(cause)))?;
        let deadline = Instant::now() + OPEN_TIMEOUT;
        loop {
            match worker.run(|state| state.connection.with(|_| Ok(()))).await {
                Err(failure) if failure.is_passing() && Instant::now() < deadline => {}
                opened => return Ok(opened.map(|()| worker)?),
            }
        }
    }

    /// Runs `job` on the thread and waits for its answer. Dropping the future does not stop the job.
    pub(super) async fn run<T: Send + 'static>(
        &self,
        job: impl FnOnce(&mut WorkerState) -> Result<T, Failure> + Send + 'static,
    ) -> Result<T, Failure> {
        let (answer, answered) = oneshot::channel();
        let job: Job = Box::new(move |state| {
            // The receiver may be gone.
            let _ = answer.send(job(state));
        });
        self.jobs.send(job).map_err(|_| Cause::Closed.on(&self.path))?;
        answered.await.unwrap_or_else(|_| Err(Cause::Lost.on(&self.path)))
    }

    /// A sender for jobs. Each sender keeps the thread alive.
    pub(super) fn jobs(&self) -> Sender<Job> {
        self.jobs.clone()
    }
}

fn work(mut state: WorkerState, queue: &Receiver<Job>) {
    loop {
        let job = if state.watchers.are_none() {
            queue.recv().map_err(|_| RecvTimeoutError::Disconnected)
        } else {
            queue.recv_timeout(state.watchers.due().saturating_duration_since(Instant::now()))
        };
        match job {
            Ok(job) => {
                job(&mut state);
                state.connection.settle();
            }
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return,
        }
        if !state.watchers.are_none() && Instant::now() >= state.watchers.due() {
            state.watchers.poll(&mut state.connection);
        }
    }
}

impl WorkerState {
    /// Sends the changes to the watchers.
    pub(super) fn check(&mut self) {
        self.watchers.check(&mut self.connection);
    }

    /// Moves the next check forward.
    #[cfg(any(target_os = "linux", target_os = "android"))]
    pub(super) fn check_soon(&mut self) {
        self.watchers.check_soon();
    }
}

/// The readers of the process. Each process has its own list, because a forked child has none of its parent's reading
/// threads.
static READERS: Own<Vec<Reader>> = Own::new();

struct Reader {
    number: u64,
    path: PathBuf,
    jobs: Sender<Job>,
}

/// The registration of a reader, which is removed when this is dropped.
#[derive(Debug)]
pub(super) struct ReaderRegistration(u64);

impl ReaderRegistration {
    /// Makes the reader behind `jobs` check whenever this process writes to the file.
    pub(super) fn new(path: &Path, jobs: Sender<Job>) -> Self {
        static NUMBER: AtomicU64 = AtomicU64::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        readers().push(Reader { number, path: path.to_owned(), jobs });
        Self(number)
    }
}

impl Drop for ReaderRegistration {
    fn drop(&mut self) {
        readers().retain(|reader| reader.number != self.0);
    }
}

/// Notifies every reader of the file in this process of a write.
pub(super) fn notify_readers(path: &Path) {
    for reader in readers().iter().filter(|reader| reader.path == path) {
        // The reader may be gone.
        let _ = reader.jobs.send(Box::new(WorkerState::check));
    }
}

/// Locks the list of readers. No code panics while it holds this lock.
fn readers() -> MutexGuard<'static, Vec<Reader>> {
    READERS.get().lock().unwrap_or_else(PoisonError::into_inner)
}
