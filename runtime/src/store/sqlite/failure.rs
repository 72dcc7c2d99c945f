//! What can go wrong with the file, and what that means to a campaign.

use std::path::Path;
use std::sync::Arc;

use incumbent_core::store::{Fault, FaultKind, Outcome};
use rusqlite::{ErrorCode, ffi};

use crate::{Error, ErrorKind};

/// Why something was not done, on the file it concerns.
#[derive(Debug)]
pub(super) struct Failure {
    path: Arc<Path>,
    cause: Cause,
}

/// Why something was not done.
#[derive(Debug)]
pub(super) enum Cause {
    /// SQLite says so.
    Sql(rusqlite::Error),
    /// The file must not be used, or cannot be made.
    Refused(ErrorKind, String),
    /// The file was deleted or replaced in the middle, or a new life of it has begun.
    Replaced,
    /// What is in the file is older than what was there, or was written for another file: a backup was put into it.
    WentBack,
    /// A machine that was started at another time writes to the file.
    Elsewhere,
    /// This connection is closed.
    Closed,
    /// Nobody knows: the thread that was at it is gone.
    Lost,
}

impl From<rusqlite::Error> for Cause {
    fn from(error: rusqlite::Error) -> Self {
        Self::Sql(error)
    }
}

impl Cause {
    /// As if another process held the lock.
    pub(super) fn busy() -> Self {
        Self::Sql(rusqlite::Error::SqliteFailure(ffi::Error::new(ffi::SQLITE_BUSY), None))
    }

    pub(super) fn on(self, path: &Arc<Path>) -> Failure {
        Failure { path: Arc::clone(path), cause: self }
    }

    /// Whether a connection that met this is of no further use.
    pub(super) fn spoils_connection(&self) -> bool {
        match self {
            Self::Sql(error) => !is_busy(error) && error.sqlite_error_code() != Some(ErrorCode::DiskFull),
            _ => true,
        }
    }
}

impl Failure {
    /// What became of a write that met this before it was committed.
    pub(super) fn outcome(self) -> Outcome {
        match &self.cause {
            Cause::Sql(error) if is_busy(error) => Outcome::Busy,
            Cause::Replaced | Cause::WentBack | Cause::Lost => Outcome::Unknown,
            Cause::Closed => Outcome::NotSent,
            Cause::Sql(_) | Cause::Refused(..) | Cause::Elsewhere => Outcome::Failed(self.into()),
        }
    }

    /// Whether the same may succeed a moment later.
    pub(super) fn is_passing(&self) -> bool {
        matches!(&self.cause, Cause::Sql(error) if is_busy(error))
    }

    fn kind(&self) -> ErrorKind {
        match &self.cause {
            Cause::Refused(kind, _) => *kind,
            Cause::Closed | Cause::Lost => ErrorKind::Closed,
            Cause::Replaced | Cause::WentBack | Cause::Elsewhere => ErrorKind::Broken,
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
            Cause::Refused(_, detail) => format!("{path}: {detail}"),
            Cause::Closed => format!("{path}: this connection is closed"),
            Cause::Lost => format!("{path}: the connection's thread is gone; open the store again"),
            Cause::Replaced | Cause::WentBack => {
                format!("{path} was deleted, replaced or restored while it was read or written")
            }
            Cause::Elsewhere => format!(
                "{path} is written by a machine that was started at another time; two machines must not \
                 share a file: give each its own, or use a store with a server"
            ),
            Cause::Sql(error) => format!("{path}: {}", explain(error)),
        }
    }
}

impl From<Failure> for Fault {
    fn from(failure: Failure) -> Self {
        let kind = match &failure.cause {
            Cause::Sql(error) if is_busy(error) => FaultKind::Unreachable,
            Cause::Closed | Cause::Lost | Cause::Replaced | Cause::WentBack => FaultKind::Unreachable,
            _ if failure.kind() == ErrorKind::PermissionDenied => FaultKind::Denied,
            _ => FaultKind::Broken,
        };
        Self { kind, detail: failure.detail() }
    }
}

impl From<Failure> for Error {
    fn from(failure: Failure) -> Self {
        let error = Self::new(failure.kind(), failure.detail());
        match failure.cause {
            Cause::Sql(cause) => error.caused_by(cause),
            _ => error,
        }
    }
}

/// Another connection held the lock for longer than ours waits.
pub(super) fn is_busy(error: &rusqlite::Error) -> bool {
    matches!(error.sqlite_error_code(), Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked))
}

/// The disk failed. A commit that meets this may have been the last step but one, the removal of the journal, so it may
/// be applied or not.
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
            "it is damaged, or no SQLite database; stop every candidate, move it away together with its \
             -journal, and a new one is made"
        }
        Some(ErrorCode::ReadOnly | ErrorCode::PermissionDenied | ErrorCode::CannotOpen) => {
            "it cannot be written here; check the permissions of the file and of its folder"
        }
        _ => return error.to_string(),
    };
    format!("{remedy} ({error})")
}
