//! Who watches the file, and what they have been told.

use std::time::Duration;

use incumbent_core::Revision;
use tokio::sync::mpsc;
use tokio::sync::mpsc::error::TrySendError;

use super::connection::Connection;
use super::failure::Failure;
use crate::store::Watched;

/// How many changes a watcher may be behind before its watch ends.
const BACKLOG: usize = 1024;

/// The watches of one connection.
#[derive(Debug)]
pub(super) struct Watchers {
    all: Vec<Watcher>,
    /// How often to look.
    pub(super) poll: Duration,
    /// The opening of the file the watches began on.
    generation: u64,
    /// The file's change counter when it was last looked at.
    version: i64,
}

#[derive(Debug)]
struct Watcher {
    changes: mpsc::Sender<Watched>,
    seen: Revision,
}

impl Watchers {
    pub(super) fn new(poll: Duration) -> Self {
        Self { all: Vec::new(), poll, generation: 0, version: 0 }
    }

    pub(super) fn are_none(&self) -> bool {
        self.all.is_empty()
    }

    /// Begins a watch with what is there.
    pub(super) fn add(&mut self, connection: &mut Connection) -> Result<mpsc::Receiver<Watched>, Failure> {
        let now = connection.with(|database| database.changes_after(Revision(0)))?;
        self.end_if_reopened(connection);
        let (changes, receiver) = mpsc::channel(now.entries.len() + BACKLOG);
        let mut watcher = Watcher { changes, seen: Revision(0) };
        watcher.tell(&now.entries);
        watcher.seen = now.newest;
        self.all.push(watcher);
        Ok(receiver)
    }

    /// Tells what has changed since the last look.
    pub(super) fn look(&mut self, connection: &mut Connection) {
        self.all.retain(|watcher| !watcher.changes.is_closed());
        let Some(seen) = self.all.iter().map(|watcher| watcher.seen).min() else { return };
        let known = self.version;
        let news = connection.with(|database| {
            let version = database.version()?;
            let news = (version != known).then(|| database.changes_after(seen)).transpose()?;
            Ok((version, news))
        });
        self.end_if_reopened(connection);
        match news {
            Ok((version, news)) => {
                self.version = version;
                let Some(news) = news else { return };
                self.all.retain_mut(|watcher| {
                    let keeps_up = watcher.tell(&news.entries);
                    watcher.seen = watcher.seen.max(news.newest);
                    keeps_up
                });
            }
            Err(failure) if failure.is_passing() => {}
            Err(_) => self.all.clear(),
        }
    }

    /// Ends every watch that began on another opening of the file, perhaps of another file.
    fn end_if_reopened(&mut self, connection: &Connection) {
        if self.generation != connection.generation() {
            self.generation = connection.generation();
            self.all.clear();
        }
    }
}

impl Watcher {
    /// Whether the watcher is there and keeps up.
    fn tell(&mut self, entries: &[Watched]) -> bool {
        let seen = self.seen;
        entries.iter().filter(|watched| watched.entry.revision() > Some(seen)).all(|watched| {
            match self.changes.try_send(watched.clone()) {
                Ok(()) => true,
                Err(TrySendError::Full(_) | TrySendError::Closed(_)) => false,
            }
        })
    }
}
