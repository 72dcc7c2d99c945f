//! What `doctor` finds in a store: its effective settings, and what they mean for its elections.

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
    /// What a candidate's guarantees are computed from; nothing can be promised without it.
    pub basis: Option<Basis>,
    /// No other server takes over when the store's server fails.
    pub is_on_one_server: bool,
    /// The store's elections cannot be listed.
    pub is_closed: bool,
    /// What it means that so many leaders run other software.
    pub company: Option<fn(u64) -> Finding>,
}

/// What a candidate's guarantees are computed from.
#[derive(Clone, Debug)]
pub enum Basis {
    /// The candidates write one record in turn.
    Records(Capabilities, StoreInfo),
    /// Candidates queue; they keep leases alive and read, and write nothing meanwhile.
    Queue(Server),
}

/// A setting of a store.
#[derive(Clone, Debug)]
pub struct Setting {
    /// The setting's name.
    pub name: &'static str,
    /// The setting's text for people; none for a value only for programs.
    pub text: Option<String>,
    /// The setting's value for programs; none for a line only for people.
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
    /// There could be two leaders, or the same token twice.
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
    /// A setting that allows two leaders.
    pub fn broken(what: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self { severity: Severity::Broken, what: what.into(), remedy: remedy.into() }
    }

    /// A setting that keeps candidates out.
    pub fn refused(what: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self { severity: Severity::Refused, what: what.into(), remedy: remedy.into() }
    }

    /// A setting that costs time or reserve.
    pub fn weak(what: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self { severity: Severity::Weak, what: what.into(), remedy: remedy.into() }
    }

    /// Good to know.
    pub fn note(what: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self { severity: Severity::Note, what: what.into(), remedy: remedy.into() }
    }
}
