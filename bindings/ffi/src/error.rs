//! One list of error codes for all languages.

use std::error::Error as StdError;
use std::fmt;

use incumbent::text::Text;
use incumbent::{ErrorKind, Reason};

use crate::settings::Dialect;

// generated: codes
/// The kind of an error, as a code that is the same in every language and never changes its meaning.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Code {
    /// A kind of the runtime.
    Kind(ErrorKind),
    /// The term ended before the work that ran in it.
    TermEnded,
    /// The wait ended at its time limit.
    TimedOut,
    /// A bug in incumbent; please report it.
    Internal,
}

impl Code {
    /// All codes.
    pub fn all() -> impl Iterator<Item = Self> {
        let kinds = ErrorKind::ALL.into_iter().map(Self::Kind);
        kinds.chain([Self::TermEnded, Self::TimedOut, Self::Internal])
    }

    /// The code as text.
    pub const fn text(self) -> &'static str {
        match self {
            Self::Kind(kind) => kind.code(),
            Self::TermEnded => "TERM_ENDED",
            Self::TimedOut => "TIMED_OUT",
            Self::Internal => "INTERNAL",
        }
    }

    /// Returns true if the same call can succeed later without a change by the caller or an operator.
    pub const fn is_temporary(self) -> bool {
        match self {
            Self::Kind(kind) => kind.is_temporary(),
            Self::TermEnded => false,
            Self::TimedOut => true,
            Self::Internal => false,
        }
    }
}
// end of codes

impl From<ErrorKind> for Code {
    fn from(kind: ErrorKind) -> Self {
        Self::Kind(kind)
    }
}

impl PartialEq<ErrorKind> for Code {
    fn eq(&self, kind: &ErrorKind) -> bool {
        *self == Self::Kind(*kind)
    }
}

/// An error as a language raises it: a code, a message with the remedy, and the causes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error {
    /// The kind of the error.
    pub code: Code,
    /// The fault and the remedy, with the names of settings apart from the words.
    pub text: Text,
    /// The causes, the nearest first.
    pub causes: Vec<String>,
    /// The reason for which a term ended, if that is the error.
    pub reason: Option<Reason>,
}

/// The result of everything that can fail.
pub type Result<T, E = Error> = std::result::Result<T, E>;

impl Error {
    /// Creates an error without a cause.
    pub fn new(code: impl Into<Code>, text: impl Into<Text>) -> Self {
        Self { code: code.into(), text: text.into(), causes: Vec::new(), reason: None }
    }

    /// The fault and the remedy, as a language writes them.
    pub fn message(&self, dialect: Dialect) -> String {
        self.text.spelled(dialect.names)
    }

    /// Returns the error for a term that ended.
    pub fn term_ended(reason: Reason) -> Self {
        Self { reason: Some(reason), ..Self::new(Code::TermEnded, format!("the term ended: {reason}")) }
    }

    /// Returns the error for a handle that was made before a fork.
    pub fn forked() -> Self {
        Self::new(
            ErrorKind::Forked,
            "this handle was made before the process forked, and the child is never the leader; open the store \
             and campaign in the child itself",
        )
    }

    /// Returns the error for a handle that is closed.
    pub(crate) fn closed(what: &str) -> Self {
        Self::new(ErrorKind::Closed, format!("the {what} is closed"))
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
        Self { causes, ..Self::new(error.kind(), error.text()) }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.text.fmt(f)
    }
}

impl StdError for Error {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_brings_its_causes_the_nearest_first() {
        let inner = incumbent::Error::new(ErrorKind::Broken, "disk").caused_by("sector 7");
        let error = Error::from(incumbent::Error::new(ErrorKind::StoreUnavailable, "store").caused_by(inner));
        assert_eq!((error.code, error.to_string().as_str()), (ErrorKind::StoreUnavailable.into(), "store"));
        assert_eq!(error.causes, ["disk", "sector 7"]);
    }
}
