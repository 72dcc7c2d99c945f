//! A connection that stays with its path: if the file is deleted or replaced, it opens the new one.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use super::create::Folder;
use super::failure::{Cause, Failure};
use super::file::{Database, LOCK_TIMEOUT, READ_LOCK_TIMEOUT};
use super::head::Known;
use super::settings::SqliteSettings;
use incumbent_store::clock::Clock;

/// How many times the file is opened again if it keeps being replaced.
const REOPENINGS: u32 = 10;

/// The file of one thread, opened at its first use.
#[derive(Debug)]
pub(super) struct Connection {
    settings: Arc<SqliteSettings>,
    path: Arc<Path>,
    clock: Clock,
    database: Option<Database>,
    /// The state of the file when it was last open, because the next opening may find an older file.
    known: Option<Known>,
    /// The time limit for locks.
    lock_timeout: Duration,
    generation: u64,
    closed: bool,
}

impl Connection {
    pub(super) fn new(settings: &Arc<SqliteSettings>, clock: &Clock) -> Self {
        Self {
            path: settings.path.as_path().into(),
            settings: Arc::clone(settings),
            clock: clock.clone(),
            database: None,
            known: None,
            lock_timeout: LOCK_TIMEOUT,
            generation: 0,
            closed: false,
        }
    }

    /// Returns this connection for reading, with a longer limit for locks.
    pub(super) fn for_reading(self) -> Self {
        Self { lock_timeout: READ_LOCK_TIMEOUT, ..self }
    }

    /// Does `work` on the file that is at the path now.
    ///
    /// The file is checked before and after. If it was removed from its path in between, the work may be lost with it,
    /// so the result is [`Cause::Replaced`] whatever `work` returned.
    pub(super) fn with<T>(
        &mut self,
        work: impl FnOnce(&mut Database) -> Result<T, Cause>,
    ) -> Result<T, Failure> {
        self.attempt(work).map_err(|cause| {
            if cause.spoils_connection() {
                self.leave();
            }
            cause.on(&self.path)
        })
    }

    fn attempt<T>(&mut self, work: impl FnOnce(&mut Database) -> Result<T, Cause>) -> Result<T, Cause> {
        let (database, _folder) = self.present()?;
        let result = database.forget_pages().and_then(|()| work(database));
        if matches!(result, Err(Cause::WentBack)) && !database.is_read_only {
            database.begin_again()?;
        }
        database.in_place(result)
    }

    /// The file at the path, with its folder locked while it is used.
    fn present(&mut self) -> Result<(&mut Database, Folder), Cause> {
        let mut folder = Err(Cause::Replaced);
        for _ in 0..REOPENINGS {
            if self.closed {
                return Err(Cause::Closed);
            }
            if self.database.is_none() {
                self.generation += 1;
                self.database =
                    Some(Database::open(&self.settings, &self.clock, self.known, self.lock_timeout)?);
            }
            let held = Folder::shared(&self.path, self.lock_timeout)?;
            if self.database.as_ref().is_some_and(Database::has_moved) {
                self.leave();
            } else {
                folder = Ok(held);
                break;
            }
        }
        match &mut self.database {
            Some(database) => Ok((database, folder?)),
            None => Err(Cause::Replaced),
        }
    }

    /// Records the time of the last transaction again, if that transaction was slow.
    pub(super) fn settle(&mut self) {
        if self.database.as_ref().is_some_and(Database::is_late) {
            // If this fails, the worst result is a new incarnation.
            let _ = self.with(Database::settle);
        }
    }

    fn leave(&mut self) {
        if let Some(database) = self.database.take() {
            self.known = database.known;
        }
    }

    /// The number of times that the file has been opened. A watch cannot be continued on another opening.
    pub(super) fn generation(&self) -> u64 {
        self.generation
    }

    pub(super) fn path(&self) -> &Arc<Path> {
        &self.path
    }

    /// Closes the file, so that it is opened again at its next use.
    pub(super) fn forget(&mut self) {
        self.leave();
        self.generation += 1;
    }

    /// Closes the file permanently.
    pub(super) fn close(&mut self) {
        self.forget();
        self.closed = true;
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use incumbent_core::store::Outcome;

    use super::*;

    fn connection(folder: &tempfile::TempDir) -> Connection {
        let settings = SqliteSettings::new(folder.path().join("elections.db"));
        Connection::new(&Arc::new(settings), &Clock::system())
    }

    #[test]
    fn what_was_done_to_a_file_that_lost_its_path_meanwhile_is_unknown() {
        let folder = tempfile::tempdir().unwrap();
        let mut connection = connection(&folder);
        let path = Arc::clone(connection.path());
        let done = connection.with(|database| {
            let revision = database.put("jobs", b"x")?;
            fs::remove_file(path).unwrap();
            Ok(revision)
        });
        assert_eq!(done.map_err(Failure::outcome), Err(Outcome::Unknown));
    }

    #[test]
    fn an_error_on_a_file_that_lost_its_path_meanwhile_is_unknown_too() {
        let folder = tempfile::tempdir().unwrap();
        let mut connection = connection(&folder);
        let path = Arc::clone(connection.path());
        let done: Result<(), _> = connection.with(|_| {
            fs::remove_file(path).unwrap();
            Err(Cause::Elsewhere)
        });
        assert_eq!(done.map_err(Failure::outcome), Err(Outcome::Unknown));
    }
}
