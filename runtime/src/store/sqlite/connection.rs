//! A connection that follows its path: to another file, where the one it had open was deleted or
//! replaced.

use std::path::Path;
use std::sync::Arc;

use super::failure::{Cause, Failure};
use super::file::Database;
use super::settings::SqliteSettings;
use crate::clock::Clock;

/// The file of one thread, opened when it is first used.
#[derive(Debug)]
pub(super) struct Connection {
    settings: Arc<SqliteSettings>,
    path: Arc<Path>,
    clock: Clock,
    database: Option<Database>,
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
            generation: 0,
            closed: false,
        }
    }

    /// Does `work` on the file that is at the path now.
    ///
    /// The file is looked at before and after. What was done to a file that has lost its path in
    /// between may be lost with it, so that counts as [`Cause::Replaced`] whatever `work` said.
    pub(super) fn with<T>(
        &mut self,
        work: impl FnOnce(&mut Database) -> Result<T, Cause>,
    ) -> Result<T, Failure> {
        self.attempt(work).map_err(|cause| {
            if cause.spoils_connection() {
                self.database = None;
            }
            cause.on(&self.path)
        })
    }

    fn attempt<T>(&mut self, work: impl FnOnce(&mut Database) -> Result<T, Cause>) -> Result<T, Cause> {
        let database = self.present()?;
        let result = work(database);
        if database.has_moved() { Err(Cause::Replaced) } else { result }
    }

    fn present(&mut self) -> Result<&mut Database, Cause> {
        if self.closed {
            return Err(Cause::Closed);
        }
        if self.database.as_ref().is_some_and(Database::has_moved) {
            self.database = None;
        }
        let database = match self.database.take() {
            Some(database) => database,
            None => {
                self.generation += 1;
                Database::open(&self.settings, &self.clock)?
            }
        };
        Ok(self.database.insert(database))
    }

    /// How often the file was opened: what one opening has told cannot be continued by another.
    pub(super) fn generation(&self) -> u64 {
        self.generation
    }

    pub(super) fn path(&self) -> &Arc<Path> {
        &self.path
    }

    /// Opens the file again before its next use.
    pub(super) fn forget(&mut self) {
        self.database = None;
        self.generation += 1;
    }

    /// Closes the file for good.
    pub(super) fn close(&mut self) {
        self.forget();
        self.closed = true;
    }
}
