//! Who watches the file, what they have been told, and when to look again.

use std::path::Path;
use std::time::{Duration, Instant};

use incumbent_core::{Incarnation, Revision};
use tokio::sync::mpsc;
use tokio::sync::mpsc::error::TrySendError;

use super::connection::Connection;
use super::failure::Failure;
use super::identity::{Seen, wall};
use super::jitter;
use crate::store::WatchEvent;

/// How many changes a watcher may be behind before its watch ends.
const BACKLOG: usize = 1024;

/// The shortest and the longest wait before the next look, where none is set.
const POLLS: (Duration, Duration) = (Duration::from_millis(10), Duration::from_secs(1));

/// The part of the shortest lease after which to look again: a candidate of a lease of 5 s learns of a release within half a
/// second even where nothing told it.
const OF_A_LEASE: u32 = 10;

/// How far apart candidates look after a change, so that hundreds leave the processors to the leader: a look costs about
/// a fifth of it. The first of them that look are soon enough for a release.
const A_LOOK: Duration = Duration::from_millis(1);

/// So many may look at the same time.
const FEW: u32 = 8;

/// How long to wait for a writer that is at it: a transaction takes a few milliseconds.
const A_TRANSACTION: Duration = Duration::from_millis(4);

/// How long ago a file must have been changed for a later change to show in its time. Clocks of file systems tick every 10 ms
/// at worst, but FAT's, where a change may be found by the next one only.
const SETTLED: i64 = 50_000_000;

/// The watches of one connection.
#[derive(Debug)]
pub(super) struct Watchers {
    all: Vec<Watcher>,
    /// How often to look, where that is set.
    poll: Option<Duration>,
    /// When to look again.
    due: Instant,
    /// The opening of the file the watches began on.
    generation: u64,
    /// The life of the store they began in.
    incarnation: Incarnation,
    /// The shortest lease at the last look.
    lease: Option<Duration>,
    /// How many candidates there were.
    crowd: u32,
    /// When the file had been changed at the last look, where a later change is sure to show.
    changed: Option<i64>,
    /// How often in a row a writer was in the way.
    busy: u32,
}

#[derive(Debug)]
struct Watcher {
    changes: mpsc::Sender<WatchEvent>,
    seen: Revision,
}

impl Watchers {
    pub(super) fn new(poll: Option<Duration>) -> Self {
        Self {
            all: Vec::new(),
            poll,
            due: Instant::now(),
            generation: 0,
            incarnation: Incarnation(0),
            lease: None,
            crowd: 0,
            changed: None,
            busy: 0,
        }
    }

    pub(super) fn are_none(&self) -> bool {
        self.all.is_empty()
    }

    /// When to look again.
    pub(super) fn due(&self) -> Instant {
        self.due
    }

    /// Begins a watch with what is there.
    pub(super) fn add(&mut self, connection: &mut Connection) -> Result<mpsc::Receiver<WatchEvent>, Failure> {
        let now = connection.with(|database| database.changes_after(Revision(0)))?;
        self.end_if_another(connection, Some(now.incarnation));
        let (changes, receiver) = mpsc::channel(now.entries.len() + BACKLOG);
        let mut watcher = Watcher { changes, seen: Revision(0) };
        watcher.tell(&now.entries);
        watcher.seen = now.newest;
        self.all.push(watcher);
        self.changed = None;
        self.due = Instant::now();
        Ok(receiver)
    }

    /// Something changes the file, and is done in a moment. Of many candidates that hear so at the same time not all look at the same time.
    pub(super) fn hurry(&mut self) {
        self.changed = None;
        self.due = self.due.min(Instant::now() + A_TRANSACTION / 2 + jitter(self.spread()));
    }

    /// Looks whether the file has changed, and if so what is new.
    pub(super) fn poll(&mut self, connection: &mut Connection) {
        let settled = self.changed.is_some_and(|changed| changed_at(connection.path()) == Some(changed));
        if settled {
            self.due = Instant::now() + self.interval();
        } else {
            self.look(connection);
        }
    }

    /// Tells what has changed since the last look.
    pub(super) fn look(&mut self, connection: &mut Connection) {
        self.all.retain(|watcher| !watcher.changes.is_closed());
        let Some(seen) = self.all.iter().map(|watcher| watcher.seen).min() else { return };
        let (before, since) = (changed_at(connection.path()), wall());
        let news = connection.with(|database| {
            // A writer is not waited for, with all the others that wait for it: another look comes soon.
            database.without_waiting(|database| database.changes_after(seen))
        });
        self.end_if_another(connection, news.as_ref().ok().map(|news| news.incarnation));
        match news {
            Ok(news) => {
                (self.lease, self.crowd, self.busy) = (news.shortest_lease, news.crowd, 0);
                self.changed = before.filter(|changed| since.saturating_sub(*changed) > SETTLED);
                self.due = Instant::now() + self.interval();
                self.all.retain_mut(|watcher| {
                    let keeps_up = watcher.tell(&news.entries);
                    watcher.seen = watcher.seen.max(news.newest);
                    keeps_up
                });
            }
            Err(failure) if failure.is_passing() => {
                let wait = (A_TRANSACTION * (1 << self.busy.min(4))).max(self.spread());
                self.busy += 1;
                self.changed = None;
                self.due = Instant::now() + wait / 2 + jitter(wait);
            }
            Err(_) => self.all.clear(),
        }
    }

    /// The time over which the candidates look after a change.
    fn spread(&self) -> Duration {
        A_LOOK * self.crowd.saturating_sub(FEW)
    }

    fn interval(&self) -> Duration {
        let (shortest, longest) = POLLS;
        let follow = || self.lease.map_or(longest, |lease| (lease / OF_A_LEASE).clamp(shortest, longest));
        self.poll.unwrap_or_else(follow)
    }

    /// Ends every watch that began on another opening of the file, perhaps of another file, or in another life of it.
    fn end_if_another(&mut self, connection: &Connection, incarnation: Option<Incarnation>) {
        let incarnation = incarnation.unwrap_or(self.incarnation);
        if (self.generation, self.incarnation) != (connection.generation(), incarnation) {
            (self.generation, self.incarnation) = (connection.generation(), incarnation);
            self.all.clear();
        }
    }
}

/// When the file at the path was last changed.
fn changed_at(path: &Path) -> Option<i64> {
    Seen::at(path).ok().map(|seen| seen.changed)
}

impl Watcher {
    /// Whether the watcher is there and keeps up.
    fn tell(&mut self, entries: &[WatchEvent]) -> bool {
        let seen = self.seen;
        entries.iter().filter(|watched| watched.entry.revision() > Some(seen)).all(|watched| {
            match self.changes.try_send(watched.clone()) {
                Ok(()) => true,
                Err(TrySendError::Full(_) | TrySendError::Closed(_)) => false,
            }
        })
    }
}
