//! The threads that wait for the disk, instead of the tasks of a runtime.

use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::thread;
use std::time::{Duration, Instant};

use tokio::sync::oneshot;

use super::connection::Connection;
use super::failure::{Cause, Failure};
use super::file::OPENING;
use super::watchers::Watchers;
use crate::{Error, ErrorKind, Result};

/// Work for a worker's thread.
pub(super) type Job = Box<dyn FnOnce(&mut Desk) + Send>;

/// The state of a worker's thread.
#[derive(Debug)]
pub(super) struct Desk {
    pub(super) connection: Connection,
    pub(super) watchers: Watchers,
}

/// A thread with its own connection. It ends when its `Worker` and all senders of jobs are gone.
#[derive(Debug)]
pub(super) struct Worker {
    jobs: Sender<Job>,
    path: std::sync::Arc<std::path::Path>,
}

impl Worker {
    /// Starts the thread and opens the file. A file that another process is creating on a slow disk is waited for.
    pub(super) async fn start(name: &str, connection: Connection, poll: Option<Duration>) -> Result<Self> {
        let (jobs, queue) = mpsc::channel();
        let worker = Self { jobs, path: connection.path().clone() };
        let desk = Desk { connection, watchers: Watchers::new(poll) };
        thread::Builder::new().name(name.to_owned()).spawn(move || work(desk, &queue)).map_err(|cause| {
            let message = format!("no thread can be started for {}: {cause}", worker.path.display());
            Error::new(ErrorKind::Broken, message).caused_by(cause)
        })?;
        let deadline = Instant::now() + OPENING;
        loop {
            match worker.ask(|desk| desk.connection.with(|_| Ok(()))).await {
                Err(failure) if failure.is_passing() && Instant::now() < deadline => {}
                opened => return Ok(opened.map(|()| worker)?),
            }
        }
    }

    /// Runs `job` on the thread and waits for its answer. Dropping the future does not stop the job.
    pub(super) async fn ask<T: Send + 'static>(
        &self,
        job: impl FnOnce(&mut Desk) -> Result<T, Failure> + Send + 'static,
    ) -> Result<T, Failure> {
        let (answer, answered) = oneshot::channel();
        let job: Job = Box::new(move |desk| {
            // The receiver may be gone.
            let _ = answer.send(job(desk));
        });
        self.jobs.send(job).map_err(|_| Cause::Closed.on(&self.path))?;
        answered.await.unwrap_or_else(|_| Err(Cause::Lost.on(&self.path)))
    }

    /// A sender for jobs. Each sender keeps the thread alive.
    pub(super) fn jobs(&self) -> Sender<Job> {
        self.jobs.clone()
    }
}

fn work(mut desk: Desk, queue: &Receiver<Job>) {
    loop {
        let job = if desk.watchers.are_none() {
            queue.recv().map_err(|_| RecvTimeoutError::Disconnected)
        } else {
            queue.recv_timeout(desk.watchers.due().saturating_duration_since(Instant::now()))
        };
        match job {
            Ok(job) => {
                job(&mut desk);
                desk.connection.settle();
            }
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return,
        }
        if !desk.watchers.are_none() && Instant::now() >= desk.watchers.due() {
            desk.watchers.poll(&mut desk.connection);
        }
    }
}

impl Desk {
    /// Sends the changes to the watchers.
    pub(super) fn look(&mut self) {
        self.watchers.look(&mut self.connection);
    }

    /// Hastens the next check.
    pub(super) fn hurry(&mut self) {
        self.watchers.hurry();
    }
}
