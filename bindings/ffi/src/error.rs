//! One list of error codes for all languages.

use std::error::Error as StdError;
use std::fmt;

use incumbent::{ErrorKind, Reason};

/// The kind of an error, as a code that is the same in every language and never changes its meaning.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Code {
    /// A store's URL cannot be read, or names a parameter that does not exist.
    InvalidUrl,
    /// A setting is refused; the message names it, its value, what is accepted and the remedy.
    InvalidSetting,
    /// The store cannot hold this key or candidate name.
    InvalidName,
    /// Credentials cannot be read, or are malformed.
    Authentication,
    /// The store does not answer.
    StoreUnavailable,
    /// The store refuses the credentials, or they lack a permission.
    PermissionDenied,
    /// The bucket, file or topic does not exist; `incumbent init` makes it.
    NotFound,
    /// The store is set up so that an election on it would be unsafe.
    UnsafeStore,
    /// This build, store or server version cannot do what is asked.
    Unsupported,
    /// The candidate or the store is closed.
    Closed,
    /// The handle was made in another process, before a fork; this process is not the leader.
    Forked,
    /// Only the leader may do this.
    NotLeader,
    /// The store answers but cannot serve: it is full, locked or damaged.
    Broken,
    /// The term ended before the work that ran in it.
    TermEnded,
    /// The wait ended at its time limit.
    TimedOut,
    /// A bug in incumbent; please report it.
    Internal,
}

impl Code {
    /// All codes.
    pub const ALL: [Self; 16] = [
        Self::InvalidUrl,
        Self::InvalidSetting,
        Self::InvalidName,
        Self::Authentication,
        Self::StoreUnavailable,
        Self::PermissionDenied,
        Self::NotFound,
        Self::UnsafeStore,
        Self::Unsupported,
        Self::Closed,
        Self::Forked,
        Self::NotLeader,
        Self::Broken,
        Self::TermEnded,
        Self::TimedOut,
        Self::Internal,
    ];

    /// The code as text.
    pub const fn text(self) -> &'static str {
        match self {
            Self::InvalidUrl => ErrorKind::InvalidUrl.code(),
            Self::InvalidSetting => ErrorKind::InvalidSetting.code(),
            Self::InvalidName => ErrorKind::InvalidName.code(),
            Self::Authentication => ErrorKind::Authentication.code(),
            Self::StoreUnavailable => ErrorKind::StoreUnavailable.code(),
            Self::PermissionDenied => ErrorKind::PermissionDenied.code(),
            Self::NotFound => ErrorKind::NotFound.code(),
            Self::UnsafeStore => ErrorKind::UnsafeStore.code(),
            Self::Unsupported => ErrorKind::Unsupported.code(),
            Self::Closed => ErrorKind::Closed.code(),
            Self::Forked => ErrorKind::Forked.code(),
            Self::NotLeader => ErrorKind::NotLeader.code(),
            Self::Broken => ErrorKind::Broken.code(),
            Self::TermEnded => "TERM_ENDED",
            Self::TimedOut => "TIMED_OUT",
            Self::Internal => "INTERNAL",
        }
    }

    /// Whether the same call can succeed later without a change by the caller or an operator.
    pub const fn is_temporary(self) -> bool {
        matches!(self, Self::StoreUnavailable | Self::Broken | Self::TimedOut)
    }
}

impl From<ErrorKind> for Code {
    fn from(kind: ErrorKind) -> Self {
        // No wildcard: a new kind must be given a code here.
        match kind {
            ErrorKind::InvalidUrl => Self::InvalidUrl,
            ErrorKind::InvalidSetting => Self::InvalidSetting,
            ErrorKind::InvalidName => Self::InvalidName,
            ErrorKind::Authentication => Self::Authentication,
            ErrorKind::StoreUnavailable => Self::StoreUnavailable,
            ErrorKind::PermissionDenied => Self::PermissionDenied,
            ErrorKind::NotFound => Self::NotFound,
            ErrorKind::UnsafeStore => Self::UnsafeStore,
            ErrorKind::Unsupported => Self::Unsupported,
            ErrorKind::Closed => Self::Closed,
            ErrorKind::Forked => Self::Forked,
            ErrorKind::NotLeader => Self::NotLeader,
            ErrorKind::Broken => Self::Broken,
        }
    }
}

/// An error as a language raises it: a code, a message with the remedy, and the causes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error {
    /// The kind of the error.
    pub code: Code,
    /// The fault and the remedy.
    pub message: String,
    /// The causes, the nearest first.
    pub causes: Vec<String>,
    /// The reason of a term that ended, where that is the error.
    pub reason: Option<Reason>,
}

/// The result of everything that can fail.
pub type Result<T, E = Error> = std::result::Result<T, E>;

impl Error {
    /// Creates an error without a cause.
    pub fn new(code: Code, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), causes: Vec::new(), reason: None }
    }

    /// Returns the error for a term that ended.
    pub fn term_ended(reason: Reason) -> Self {
        Self { reason: Some(reason), ..Self::new(Code::TermEnded, format!("the term ended: {reason}")) }
    }

    /// Returns the error for a handle that was made before a fork.
    pub fn forked() -> Self {
        Self::new(
            Code::Forked,
            "this handle was made before the process forked, and the child is never the leader; open the store \
             and campaign in the child itself",
        )
    }

    /// Returns the error for a handle that is closed.
    pub(crate) fn closed(what: &str) -> Self {
        Self::new(Code::Closed, format!("the {what} is closed"))
    }
}

impl From<incumbent::Error> for Error {
    fn from(error: incumbent::Error) -> Self {
        let mut causes = Vec::new();
        let mut source = error.source();
        while let Some(cause) = source {
            causes.push(cause.to_string());
            source = cause.source();
        }
        Self { causes, ..Self::new(error.kind().into(), error.message()) }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl StdError for Error {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_codes_are_those_that_the_documentation_lists() {
        let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/reference/errors.md");
        let page = std::fs::read_to_string(page).unwrap();
        let listed: Vec<&str> = page
            .lines()
            .skip_while(|line| *line != "## Codes")
            .take_while(|line| *line != "## Why a term ends")
            .filter_map(|line| line.strip_prefix("| `")?.split_once('`').map(|(code, _)| code))
            .collect();
        assert_eq!(listed, Code::ALL.map(Code::text));
    }

    #[test]
    fn the_reasons_are_those_that_the_documentation_lists() {
        let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/reference/errors.md");
        let page = std::fs::read_to_string(page).unwrap();
        let listed: Vec<(&str, bool)> = page
            .lines()
            .skip_while(|line| *line != "## Why a term ends")
            .filter_map(|line| line.strip_prefix("| `")?.split_once('`'))
            .map(|(code, rest)| (code, rest.ends_with("| may drain |")))
            .collect();
        assert_eq!(listed, Reason::ALL.map(|reason| (reason.code(), reason.may_drain())));
    }

    #[test]
    fn an_error_brings_its_causes_the_nearest_first() {
        let inner = incumbent::Error::new(ErrorKind::Broken, "disk").caused_by("sector 7");
        let error = Error::from(incumbent::Error::new(ErrorKind::StoreUnavailable, "store").caused_by(inner));
        assert_eq!((error.code, error.message.as_str()), (Code::StoreUnavailable, "store"));
        assert_eq!(error.causes, ["disk", "sector 7"]);
    }
}
