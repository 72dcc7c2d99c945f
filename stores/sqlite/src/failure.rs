//! The file's errors, and their meaning for a campaign.

use std::path::Path;
use std::sync::Arc;

use incumbent_core::store::{Fault, FaultKind, Outcome};
use rusqlite::{ErrorCode, ffi};

use incumbent_core::text::{Names, Text};
use incumbent_store::{Error, ErrorKind};

/// The cause of a failure, with the path of the file.
#[derive(Debug)]
pub(super) struct Failure {
    path: Arc<Path>,
    cause: Cause,
}

/// The cause of a failure.
#[derive(Debug)]
pub(super) enum Cause {
    /// An error of SQLite.
    Sql(rusqlite::Error),
    /// Other processes keep the folder locked while they create or use the file.
    FolderLocked(String),
    /// The file must not be used, or cannot be created.
    Refused(ErrorKind, Text),
    /// The file was deleted or replaced during the work, or a new incarnation began in it.
    Replaced,
    /// The content is older than before or belongs to another file: a backup was copied into the file.
    WentBack,
    /// A machine with another boot writes to the file.
    Elsewhere,
    /// This connection is closed.
    Closed,
    /// The outcome is unknown, because the thread that did the work is gone.
    Lost,
}

impl From<rusqlite::Error> for Cause {
    fn from(error: rusqlite::Error) -> Self {
        Self::Sql(error)
    }
}

impl Cause {
    /// The error of a lock that another process holds.
    pub(super) fn busy() -> Self {
        Self::Sql(rusqlite::Error::SqliteFailure(ffi::Error::new(ffi::SQLITE_BUSY), None))
    }

    /// Returns true if another process held a lock beyond the time limit.
    pub(super) fn is_busy(&self) -> bool {
        match self {
            Self::Sql(error) => is_busy(error),
            Self::FolderLocked(_) => true,
            _ => false,
        }
    }

    pub(super) fn on(self, path: &Arc<Path>) -> Failure {
        Failure { path: Arc::clone(path), cause: self }
    }

    /// Returns true if a connection is unusable after this cause.
    pub(super) fn spoils_connection(&self) -> bool {
        match self {
            cause if cause.is_busy() => false,
            Self::Sql(error) => error.sqlite_error_code() != Some(ErrorCode::DiskFull),
            _ => true,
        }
    }
}

impl Failure {
    /// The outcome of a write that failed before its commit.
    pub(super) fn outcome(self) -> Outcome {
        match &self.cause {
            cause if cause.is_busy() => Outcome::Busy,
            Cause::Replaced | Cause::WentBack | Cause::Lost => Outcome::Unknown,
            Cause::Closed => Outcome::NotSent,
            Cause::Sql(_) | Cause::FolderLocked(_) | Cause::Refused(..) | Cause::Elsewhere => {
                Outcome::Failed(self.into())
            }
        }
    }

    /// Returns true if the same work may succeed a moment later.
    pub(super) fn is_passing(&self) -> bool {
        self.cause.is_busy()
    }

    /// Returns true if the file has been replaced, or has a new incarnation.
    pub(super) fn is_of_another_file(&self) -> bool {
        matches!(self.cause, Cause::Replaced)
    }

    fn kind(&self) -> ErrorKind {
        match &self.cause {
            Cause::Refused(kind, _) => *kind,
            Cause::Closed | Cause::Lost => ErrorKind::Closed,
            Cause::FolderLocked(_) | Cause::Replaced | Cause::WentBack | Cause::Elsewhere => {
                ErrorKind::Broken
            }
            Cause::Sql(error) => match error.sqlite_error_code() {
                Some(
                    ErrorCode::PermissionDenied
                    | ErrorCode::ReadOnly
                    | ErrorCode::CannotOpen
                    | ErrorCode::AuthorizationForStatementDenied,
                ) => ErrorKind::PermissionDenied,
                _ => ErrorKind::Broken,
            },
        }
    }

    fn detail(&self) -> String {
        let path = self.path.display();
        match &self.cause {
            Cause::FolderLocked(detail) => format!("{path}: {detail}"),
            // A fault may reach a program in any language, so it names the command.
            Cause::Refused(_, detail) => format!("{path}: {}", detail.spelled(Names::CommandLine)),
            Cause::Closed => format!("{path}: this connection is closed"),
            Cause::Lost => format!("{path}: the connection's thread is gone; open the store again"),
            Cause::Replaced | Cause::WentBack => {
                format!("{path} was deleted, replaced or restored while it was read or written")
            }
            Cause::Elsewhere => format!(
                "{path} was also written by a machine with another boot time; two machines must not \
                 share a file: give each its own, or use a store with a server"
            ),
            Cause::Sql(error) => format!("{path}: {}", explain(error)),
        }
    }
}

impl From<Failure> for Fault {
    fn from(failure: Failure) -> Self {
        let kind = match &failure.cause {
            cause if cause.is_busy() => FaultKind::Unreachable,
            Cause::Closed | Cause::Lost | Cause::Replaced | Cause::WentBack => FaultKind::Unreachable,
            _ if failure.kind() == ErrorKind::PermissionDenied => FaultKind::Denied,
            _ => FaultKind::Broken,
        };
        Self { kind, detail: failure.detail() }
    }
}

impl From<Failure> for Error {
    fn from(failure: Failure) -> Self {
        let (kind, detail) = (failure.kind(), failure.detail());
        match failure.cause {
            Cause::Sql(cause) => Self::new(kind, detail).caused_by(cause),
            Cause::Refused(_, text) => {
                Self::named(kind, Text::from(format!("{}: ", failure.path.display())).and(text))
            }
            _ => Self::new(kind, detail),
        }
    }
}

/// Returns true if another connection held the lock beyond the time limit.
pub(super) fn is_busy(error: &rusqlite::Error) -> bool {
    matches!(error.sqlite_error_code(), Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked))
}

/// Returns true if the disk failed. A commit with this error may or may not have been applied, because the step that
/// failed may have been the next to last, the removal of the journal.
pub(super) fn is_io(error: &rusqlite::Error) -> bool {
    error.sqlite_error_code() == Some(ErrorCode::SystemIoFailure)
}

fn explain(error: &rusqlite::Error) -> String {
    let remedy = match error.sqlite_error_code() {
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => {
            "another program holds it locked; end its transaction"
        }
        Some(ErrorCode::DiskFull) => "the disk is full; free some space",
        Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => {
            "it is damaged, or not an SQLite database; stop every candidate, then move the file away with its \
             -journal; a new file is created at the next opening"
        }
        Some(ErrorCode::ReadOnly | ErrorCode::PermissionDenied | ErrorCode::CannotOpen) => {
            "it cannot be written here; check the permissions of the file and of its folder"
        }
        _ => return error.to_string(),
    };
    format!("{remedy} ({error})")
}
