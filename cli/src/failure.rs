//! The failure of a command: one message with the remedy, a code, an exit code.

use std::error::Error as _;
use std::fmt;
use std::io;

use incumbent::incumbent_core::campaign::InvalidSettings;
use incumbent::incumbent_core::store::Fault;
use incumbent::text::Names;
use incumbent::{Error, ErrorKind};
#[cfg(feature = "demo")]
use incumbent_rig::candidate::Failed;
use serde_json::json;

use crate::exit::Exit;
use crate::stderr::report;

/// The reason why a command failed.
#[derive(Clone, Debug)]
pub(crate) struct Failure {
    exit: Exit,
    code: String,
    message: String,
    causes: Vec<String>,
    /// The settings that the library refuses.
    refused: Option<Box<InvalidSettings>>,
}

impl Failure {
    /// The command line asks for something invalid.
    pub(crate) fn usage(message: impl Into<String>) -> Self {
        Self {
            exit: Exit::Usage,
            code: "USAGE".into(),
            message: message.into(),
            causes: Vec::new(),
            refused: None,
        }
    }

    /// Returns the failure of an expected end, which is not an error, with this exit code.
    pub(crate) fn ended(exit: Exit, message: impl Into<String>) -> Self {
        Self { exit, code: "ENDED".into(), message: message.into(), causes: Vec::new(), refused: None }
    }

    /// A failure while the command ran.
    pub(crate) fn failed(message: impl Into<String>) -> Self {
        Self {
            exit: Exit::Failure,
            code: "FAILED".into(),
            message: message.into(),
            causes: Vec::new(),
            refused: None,
        }
    }

    /// A store on which an election would not be safe.
    pub(crate) fn refused(message: impl Into<String>) -> Self {
        Error::new(ErrorKind::UnsafeStore, message).into()
    }

    /// Returns true if this is an error of the library with that kind.
    pub(crate) fn is(&self, kind: ErrorKind) -> bool {
        self.code == kind.code()
    }

    /// The long name of the option at fault, if the library names one.
    pub(crate) fn setting(&self) -> Option<&str> {
        if self.is(ErrorKind::InvalidUrl) {
            return Some("store");
        }
        if let Some(refused) = &self.refused {
            return Some(refused.setting);
        }
        let named = |what: &str| self.message.contains(what);
        match self.is(ErrorKind::InvalidName) {
            true if named("candidate") || named("name is") => Some("name"),
            true if named("the key") => Some("key"),
            _ => None,
        }
    }

    /// Returns this failure with the place of its cause.
    pub(crate) fn at(self, place: &str) -> Self {
        Self { message: format!("{place}: {}", self.message), ..self }
    }

    /// Returns this failure as an error of the command line.
    pub(crate) fn of_usage(self) -> Self {
        Self { exit: Exit::Usage, code: "USAGE".into(), ..self }
    }

    /// Returns this failure with the refused value as it was `given`, if the two values are known to be the same.
    pub(crate) fn showing(self, given: &str) -> Self {
        let Some(refused) = &self.refused else { return self };
        let is_read = match crate::lease::time(given) {
            Ok(time) => format!("{time:?}") == refused.value,
            Err(_) => refused.setting == "preset",
        };
        if !is_read {
            return self;
        }
        Self { message: refused.text(given).spelled(Names::CommandLine), ..self }
    }

    /// The exit code of the process.
    pub(crate) fn exit(&self) -> Exit {
        self.exit
    }

    /// Writes the failure to the standard error.
    pub(crate) fn report(&self) {
        let Self { exit, code, message, causes, .. } = self;
        let error = json!({ "code": code, "exit": *exit as u8, "message": message, "causes": causes });
        report(json!({ "error": error }), format_args!("incumbent: {self}"));
    }
}

/// The error when no folder for temporary files could be created.
pub(crate) fn no_folder(error: io::Error) -> io::Error {
    let place = std::env::temp_dir();
    let said =
        format!("no folder can be created in {}: {error}; set TMPDIR to another place", place.display());
    io::Error::new(error.kind(), said)
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)?;
        // Leaves out causes that the message already contains.
        let unsaid = self.causes.iter().filter(|cause| !self.message.contains(cause.as_str()));
        unsaid.into_iter().try_for_each(|cause| write!(f, "\n  because: {cause}"))
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        let chain = std::iter::successors(error.source(), |&cause| cause.source());
        Self {
            exit: error.kind().into(),
            code: error.kind().code().into(),
            message: error.text().spelled(Names::CommandLine),
            causes: chain.map(ToString::to_string).collect(),
            refused: error.refusal().cloned().map(Box::new),
        }
    }
}

impl From<Fault> for Failure {
    fn from(fault: Fault) -> Self {
        Error::from(fault).into()
    }
}

#[cfg(feature = "demo")]
impl From<Failed> for Failure {
    fn from(failed: Failed) -> Self {
        let Failed { code, message, causes } = failed;
        let kind = ErrorKind::ALL.into_iter().find(|kind| code.as_deref() == Some(kind.code()));
        match kind {
            Some(kind) => {
                Self { exit: kind.into(), code: kind.code().into(), message, causes, refused: None }
            }
            None => Self { causes, ..Self::failed(message) },
        }
    }
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        Self::failed(error.to_string())
    }
}

impl From<serde_json::Error> for Failure {
    fn from(error: serde_json::Error) -> Self {
        Self::failed(error.to_string())
    }
}
