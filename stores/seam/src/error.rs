//! Errors: a kind, a message with the remedy, and a source.

use std::error::Error as StdError;
use std::fmt;

use incumbent_core::campaign::InvalidSettings;
use incumbent_core::store::{Fault, FaultKind};
use incumbent_core::text::Text;

// generated: kinds
/// The class of an error, which a program can act on. Each has a stable [code](Self::code).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ErrorKind {
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
    /// The bucket, file or topic does not exist; preparing the store creates it.
    NotFound,
    /// An election on a store with these settings would be unsafe.
    UnsafeStore,
    /// This build, store or server version does not support the request.
    Unsupported,
    /// The candidate or the store is closed.
    Closed,
    /// The handle was made, or the file opened, before the process forked; the child is never the leader.
    Forked,
    /// Only the leader may do this.
    NotLeader,
    /// The store answers but cannot serve: it is full, locked or damaged.
    Broken,
}

impl ErrorKind {
    /// All kinds.
    pub const ALL: [Self; 13] = [
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
    ];

    /// A stable, machine-readable name, the same in every language.
    pub const fn code(self) -> &'static str {
        match self {
            Self::InvalidUrl => "INVALID_URL",
            Self::InvalidSetting => "INVALID_SETTING",
            Self::InvalidName => "INVALID_NAME",
            Self::Authentication => "AUTHENTICATION",
            Self::StoreUnavailable => "STORE_UNAVAILABLE",
            Self::PermissionDenied => "PERMISSION_DENIED",
            Self::NotFound => "NOT_FOUND",
            Self::UnsafeStore => "UNSAFE_STORE",
            Self::Unsupported => "UNSUPPORTED",
            Self::Closed => "CLOSED",
            Self::Forked => "FORKED",
            Self::NotLeader => "NOT_LEADER",
            Self::Broken => "BROKEN",
        }
    }

    /// Returns true if the same call can succeed later without a change by the caller or an operator.
    pub const fn is_temporary(self) -> bool {
        match self {
            Self::InvalidUrl => false,
            Self::InvalidSetting => false,
            Self::InvalidName => false,
            Self::Authentication => false,
            Self::StoreUnavailable => true,
            Self::PermissionDenied => false,
            Self::NotFound => false,
            Self::UnsafeStore => false,
            Self::Unsupported => false,
            Self::Closed => false,
            Self::Forked => false,
            Self::NotLeader => false,
            Self::Broken => true,
        }
    }
}
// end of kinds

/// The error of every fallible call of this crate.
#[derive(Debug)]
pub struct Error {
    kind: ErrorKind,
    message: String,
    named: Option<Box<Named>>,
    source: Option<Box<dyn StdError + Send + Sync>>,
}

/// A message about settings, with their names apart from the words.
#[derive(Debug)]
enum Named {
    Refusal(InvalidSettings),
    Text(Text),
}

impl Error {
    /// An error of `kind`; `message` gives the error and the remedy.
    pub fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into(), named: None, source: None }
    }

    /// An error whose message names settings.
    pub fn named(kind: ErrorKind, text: Text) -> Self {
        Self { named: Some(Box::new(Named::Text(text.clone()))), ..Self::new(kind, text.to_string()) }
    }

    /// Returns an error of `kind` about a setting that is refused.
    pub fn refused(kind: ErrorKind, refusal: InvalidSettings) -> Self {
        let message = refusal.to_string();
        Self { named: Some(Box::new(Named::Refusal(refusal))), ..Self::new(kind, message) }
    }

    /// Returns this error with its cause.
    #[must_use]
    pub fn caused_by(mut self, source: impl Into<Box<dyn StdError + Send + Sync>>) -> Self {
        self.source = Some(source.into());
        self
    }

    /// The kind of the error.
    pub fn kind(&self) -> ErrorKind {
        self.kind
    }

    /// The description of the error and the remedy, without the source.
    pub fn message(&self) -> &str {
        &self.message
    }

    /// The message with the names of settings apart from the words, for a language that spells them differently.
    pub fn text(&self) -> Text {
        match self.named.as_deref() {
            None => self.message.as_str().into(),
            Some(Named::Refusal(refusal)) => refusal.text(&refusal.value),
            Some(Named::Text(text)) => text.clone(),
        }
    }

    /// The refused setting, its value, the limit and the remedy, if the error is about a setting.
    pub fn refusal(&self) -> Option<&InvalidSettings> {
        match self.named.as_deref() {
            Some(Named::Refusal(refusal)) => Some(refusal),
            _ => None,
        }
    }
}

/// Converts the fault of a call that a store did not carry out.
impl From<Fault> for Error {
    fn from(fault: Fault) -> Self {
        let kind = match fault.kind {
            FaultKind::Denied => ErrorKind::PermissionDenied,
            FaultKind::Broken => ErrorKind::Broken,
            FaultKind::Unreachable => ErrorKind::StoreUnavailable,
        };
        Self::new(kind, fault.detail)
    }
}

impl From<InvalidSettings> for Error {
    fn from(refusal: InvalidSettings) -> Self {
        Self::refused(ErrorKind::InvalidSetting, refusal)
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl StdError for Error {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        self.source.as_deref().map(|source| source as &(dyn StdError + 'static))
    }
}

/// The result of every fallible call of this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;
