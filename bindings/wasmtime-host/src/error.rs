//! The errors of this crate.

use std::fmt;

/// The kind of an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// A setting is refused; the message has its value, its limit and the remedy.
    Refused,
    /// The store cannot be used, and a person has to act.
    Store,
    /// The component is not from this project, or does not fit this version.
    Component,
    /// The guest trapped, or ran for longer than its limit, and was stopped.
    Guest,
    /// Only the leader may do this.
    NotLeader,
    /// The campaign is over.
    Closed,
}

/// An error of this crate: a kind, a message for a person, and perhaps a cause.
#[derive(Debug, thiserror::Error)]
pub struct Error {
    kind: ErrorKind,
    message: String,
    setting: Option<String>,
    #[source]
    source: Option<Box<dyn std::error::Error + Send + Sync>>,
}

impl Error {
    pub(crate) fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into(), setting: None, source: None }
    }

    pub(crate) fn of(kind: ErrorKind, message: &str, cause: wasmtime::Error) -> Self {
        Self { kind, message: format!("{message}: {cause:#}"), setting: None, source: Some(cause.into()) }
    }

    pub(crate) fn refused(setting: String, message: String) -> Self {
        Self { kind: ErrorKind::Refused, message, setting: Some(setting), source: None }
    }

    /// The setting that a component refuses: `lease`, or `name` for the candidate's name.
    pub fn setting(&self) -> Option<&str> {
        self.setting.as_deref()
    }

    /// The kind of the error.
    pub fn kind(&self) -> ErrorKind {
        self.kind
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

/// A result with this crate's error.
pub type Result<T, E = Error> = std::result::Result<T, E>;
