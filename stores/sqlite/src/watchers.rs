//! The watchers of the file, the revisions that they have seen, and the time of the next check.

use std::path::Path;
use std::time::{Duration, Instant};

use incumbent_core::{Incarnation, Revision};
use tokio::sync::mpsc;
use tokio::sync::mpsc::error::TrySendError;

use super::connection::Connection;
use super::failure::Failure;
use super::file::jitter;
use super::identity::{FileState, wall};
use incumbent_store::WatchEvent;

/// The number of changes by which a watcher may fall behind before its watch ends.
const BACKLOG: usize = 1024;

/// The shortest and the longest default interval between checks.
const POLLS: (Duration, Duration) = (Duration::from_millis(10), Duration::from_secs(1));

/// The number of checks in the shortest lease: with a lease of 5 s a candidate learns of a release within half a
/// second, even without a notice.
const CHECKS_PER_LEASE: u32 = 10;

/// The spacing between different candidates' checks after a change. A check takes about a fifth of this time, so
/// hundreds of candidates leave the processors to the leader. After a release, the first few checks are early enough.
const CHECK_SPACING: Duration = Duration::from_millis(1);

/// The number of candidates that may check at the same time.
const UNSPACED: u32 = 8;

/// The time to wait for a current writer. A transaction takes a few milliseconds.
const TRANSACTION: Duration = Duration::from_millis(4);

/// The time after a change from which a later change is sure to alter the file's time. Clocks of file systems tick at
/// least every 10 ms, except on FAT. There a change may be noticed only together with the next one.
const SETTLED: i64 = 50_000_000;

/// The watches of one connection.
#[derive(Debug)]
pub(super) struct Watchers {
    all: Vec<Watcher>,
    /// The interval between checks, if set.
    poll: Option<Duration>,
    /// The time of the next check.
    due: Instant,
    /// The opening of the file on which the watches began.
    generation: u64,
    /// The incarnation of the store in which the watches began.
    incarnation: Incarnation,
    /// The shortest lease at the last check.
    lease: Option<Duration>,
    /// The number of candidates at the last check.
    candidates: u32,
    /// The file's time of change at the last check; `None` if a later change might not alter it.
    changed: Option<i64>,
    /// The number of consecutive checks that found a writer.
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
            candidates: 0,
            changed: None,
            busy: 0,
        }
    }

    pub(super) fn are_none(&self) -> bool {
        self.all.is_empty()
    }

    /// The time of the next check.
    pub(super) fn due(&self) -> Instant {
        self.due
    }

    /// Begins a watch with the present entries.
    pub(super) fn add(&mut self, connection: &mut Connection) -> Result<mpsc::Receiver<WatchEvent>, Failure> {
        let now = connection.with(|database| database.changes_after(Revision(0)))?;
        self.end_if_another(connection, Some(now.incarnation));
        let (changes, receiver) = mpsc::channel(now.entries.len() + BACKLOG);
        let mut watcher = Watcher { changes, seen: Revision(0) };
        watcher.send_changes(&now.entries);
        watcher.seen = now.newest;
        self.all.push(watcher);
        self.changed = None;
        self.due = Instant::now();
        Ok(receiver)
    }

    /// Moves the next check forward, because a change is in progress and will soon be done. The time is random, so that
    /// candidates that get the same notice do not all check at once.
    #[cfg(any(target_os = "linux", target_os = "android"))]
    pub(super) fn check_soon(&mut self) {
        self.changed = None;
        self.due = self.due.min(Instant::now() + TRANSACTION / 2 + jitter(self.spread()));
    }

    /// Checks whether the file has changed, and if so reads the changes.
    pub(super) fn poll(&mut self, connection: &mut Connection) {
        let settled = self.changed.is_some_and(|changed| changed_at(connection.path()) == Some(changed));
        if settled {
            self.due = Instant::now() + self.interval();
        } else {
            self.check(connection);
        }
    }

    /// Sends the changes since the last check to the watchers.
    pub(super) fn check(&mut self, connection: &mut Connection) {
        self.all.retain(|watcher| !watcher.changes.is_closed());
        let Some(seen) = self.all.iter().map(|watcher| watcher.seen).min() else { return };
        let (before, since) = (changed_at(connection.path()), wall());
        let changes = connection.with(|database| {
            // Unlike other reads, this one does not wait for a writer, because the next check comes soon.
            database.without_waiting(|database| database.changes_after(seen))
        });
        self.end_if_another(connection, changes.as_ref().ok().map(|changes| changes.incarnation));
        match changes {
            Ok(changes) => {
                (self.lease, self.candidates, self.busy) = (changes.shortest_lease, changes.candidates, 0);
                self.changed = before.filter(|changed| since.saturating_sub(*changed) > SETTLED);
                self.due = Instant::now() + self.interval();
                self.all.retain_mut(|watcher| {
                    let keeps_up = watcher.send_changes(&changes.entries);
                    watcher.seen = watcher.seen.max(changes.newest);
                    keeps_up
                });
            }
            Err(failure) if failure.is_passing() => {
                let wait = (TRANSACTION * (1 << self.busy.min(4))).max(self.spread());
                self.busy += 1;
                self.changed = None;
                self.due = Instant::now() + wait / 2 + jitter(wait);
            }
            Err(_) => self.all.clear(),
        }
    }

    /// The time over which the candidates spread their checks after a change.
    fn spread(&self) -> Duration {
        CHECK_SPACING * self.candidates.saturating_sub(UNSPACED)
    }

    fn interval(&self) -> Duration {
        let (shortest, longest) = POLLS;
        let follow =
            || self.lease.map_or(longest, |lease| (lease / CHECKS_PER_LEASE).clamp(shortest, longest));
        self.poll.unwrap_or_else(follow)
    }

    /// Ends every watch that began in another incarnation, or on another opening, which may be of another file.
    fn end_if_another(&mut self, connection: &Connection, incarnation: Option<Incarnation>) {
        let incarnation = incarnation.unwrap_or(self.incarnation);
        if (self.generation, self.incarnation) != (connection.generation(), incarnation) {
            (self.generation, self.incarnation) = (connection.generation(), incarnation);
            self.all.clear();
        }
    }
}

/// The time of the last change of the file at the path.
fn changed_at(path: &Path) -> Option<i64> {
    FileState::at(path).ok().map(|seen| seen.changed)
}

impl Watcher {
    /// Sends the entries. Returns true if the watcher still exists and keeps up.
    fn send_changes(&mut self, entries: &[WatchEvent]) -> bool {
        let seen = self.seen;
        entries.iter().filter(|watched| watched.entry.revision() > Some(seen)).all(|watched| {
            match self.changes.try_send(watched.clone()) {
                Ok(()) => true,
                Err(TrySendError::Full(_) | TrySendError::Closed(_)) => false,
            }
        })
    }
}
