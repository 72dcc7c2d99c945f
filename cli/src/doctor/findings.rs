//! A store's problems, their severity, and their remedies.

use serde_json::{Value, json};

/// The severity of a finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Severity {
    /// There could be two leaders, or never a leader.
    Broken,
    /// It costs time or reserve.
    Weak,
    /// Good to know.
    Note,
}

impl Severity {
    fn name(self) -> &'static str {
        match self {
            Self::Broken => "broken",
            Self::Weak => "weak",
            Self::Note => "note",
        }
    }
}

/// A finding.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Finding {
    pub(super) severity: Severity,
    what: String,
    remedy: String,
}

impl Finding {
    pub(super) fn broken(what: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self { severity: Severity::Broken, what: what.into(), remedy: remedy.into() }
    }

    pub(super) fn weak(what: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self { severity: Severity::Weak, what: what.into(), remedy: remedy.into() }
    }

    pub(super) fn note(what: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self { severity: Severity::Note, what: what.into(), remedy: remedy.into() }
    }

    pub(super) fn text(&self) -> String {
        let Self { severity, what, remedy } = self;
        format!("{:<6}  {what}\n        {remedy}", severity.name())
    }

    pub(super) fn json(&self) -> Value {
        json!({ "severity": self.severity.name(), "what": self.what, "remedy": self.remedy })
    }
}
