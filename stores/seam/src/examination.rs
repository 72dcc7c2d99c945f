//! The findings of `doctor` about a store: its effective settings, and their meaning for its elections.

use incumbent_core::queue::Server;
use incumbent_core::store::{Capabilities, StoreInfo};
use serde_json::Value;

/// The effective settings of a store, and its problems.
#[derive(Debug, Default)]
#[non_exhaustive]
pub struct Examination {
    /// The settings, in the order in which they are shown.
    pub settings: Vec<Setting>,
    /// The problems.
    pub findings: Vec<Finding>,
    /// The values from which a candidate's guarantees are computed. Without them nothing can be promised.
    pub basis: Option<Basis>,
    /// True if no other server takes over when the store's server fails.
    pub is_on_one_server: bool,
    /// True if the store's elections cannot be listed.
    pub is_closed: bool,
    /// Returns the finding for a number of leaders that run other software.
    pub company: Option<fn(u64) -> Finding>,
}

/// The values from which a candidate's guarantees are computed.
#[derive(Clone, Debug)]
pub enum Basis {
    /// The candidates write one record in turn.
    Records(Capabilities, StoreInfo),
    /// Candidates queue. They keep leases alive and read, and write nothing while they wait or lead.
    Queue(Server),
}

/// A setting of a store.
#[derive(Clone, Debug)]
pub struct Setting {
    /// The setting's name.
    pub name: &'static str,
    /// The setting's text for people; `None` for a value that only programs see.
    pub text: Option<String>,
    /// The setting's value for programs; `None` for a line that only people see.
    pub value: Option<Value>,
}

impl Examination {
    /// Records a setting: its name, its text for people, and its value for programs.
    pub fn set(&mut self, name: &'static str, text: impl Into<String>, value: impl Into<Value>) {
        self.settings.push(Setting { name, text: Some(text.into()), value: Some(value.into()) });
    }

    /// A line only for people.
    pub fn say(&mut self, name: &'static str, text: impl Into<String>) {
        self.settings.push(Setting { name, text: Some(text.into()), value: None });
    }

    /// A value only for programs.
    pub fn value(&mut self, name: &'static str, value: impl Into<Value>) {
        self.settings.push(Setting { name, text: None, value: Some(value.into()) });
    }

    /// Records a problem.
    pub fn find(&mut self, finding: Finding) {
        self.findings.push(finding);
    }
}

/// The severity of a finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// There could be two leaders, or the same token could be used twice.
    Broken,
    /// A candidate cannot enter, or never wins.
    Refused,
    /// The problem costs time or reserve.
    Weak,
    /// Good to know.
    Note,
}

impl Severity {
    /// The severity's name in reports.
    pub fn name(self) -> &'static str {
        match self {
            Self::Broken => "broken",
            Self::Refused => "refused",
            Self::Weak => "weak",
            Self::Note => "note",
        }
    }
}

/// A finding.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// How bad it is.
    pub severity: Severity,
    /// What was found.
    pub what: String,
    /// What to do about it.
    pub remedy: String,
}

impl Finding {
    /// Returns the finding of a setting that allows two leaders.
    pub fn broken(what: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self { severity: Severity::Broken, what: what.into(), remedy: remedy.into() }
    }

    /// Returns the finding of a setting that keeps candidates out.
    pub fn refused(what: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self { severity: Severity::Refused, what: what.into(), remedy: remedy.into() }
    }

    /// Returns the finding of a setting that costs time or reserve.
    pub fn weak(what: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self { severity: Severity::Weak, what: what.into(), remedy: remedy.into() }
    }

    /// Good to know.
    pub fn note(what: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self { severity: Severity::Note, what: what.into(), remedy: remedy.into() }
    }
}
