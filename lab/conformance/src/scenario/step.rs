//! The steps of a scenario; `README.md` explains each.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{JOBS, Moment};

fn jobs() -> String {
    JOBS.into()
}

/// One step: a verb and its arguments.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(tag = "do", rename_all = "snake_case", deny_unknown_fields)]
#[allow(missing_docs, reason = "README.md is the reference, for every language")]
pub enum Step {
    // Calls of candidates.
    Campaign {
        candidate: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        error: Option<String>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        names: Option<String>,
    },
    Resign {
        candidate: String,
    },
    HandOver {
        candidate: String,
        to: String,
    },
    Close {
        candidate: String,
    },
    CloseStore {
        candidate: String,
    },
    SetHealthy {
        candidate: String,
        healthy: bool,
    },
    FinishWork {
        candidate: String,
    },
    FailWork {
        candidate: String,
    },
    Observe {
        observer: String,
        #[serde(default = "jobs")]
        election: String,
    },

    // Faults.
    Kill {
        candidate: String,
    },
    Cut {
        candidate: String,
    },
    Heal {
        candidate: String,
    },
    DeleteKey {
        #[serde(default = "jobs")]
        election: String,
    },
    PutKey {
        #[serde(default = "jobs")]
        election: String,
        value: String,
    },
    ResetStore {},
    StopServer {},
    StartServer {},

    // Time.
    Mark {
        mark: String,
    },

    // Expectations.
    ExpectWon {
        candidate: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        not_before: Option<Moment>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        before: Option<Moment>,
    },
    ExpectAnyWon {
        candidates: Vec<String>,
        #[serde(rename = "as")]
        alias: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        not_before: Option<Moment>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        before: Option<Moment>,
    },
    ExpectDraining {
        candidate: String,
        reason: String,
    },
    ExpectLost {
        candidate: String,
        reason: String,
        #[serde(default, rename = "or", skip_serializing_if = "Option::is_none")]
        otherwise: Option<String>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        drained: Option<bool>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        not_before: Option<Moment>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        before: Option<Moment>,
    },
    ExpectReturned {
        candidate: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        error: Option<String>,
    },
    ExpectIsLeader {
        candidate: String,
        leads: bool,
    },
    ExpectStillLeads {
        candidate: String,
        leases: f64,
    },
    ExpectNobodyLeads {
        #[serde(default = "jobs")]
        election: String,
        leases: f64,
    },
    ExpectState {
        candidate: String,
        state: String,
    },
    ExpectSeen {
        candidate: String,
        leader: Option<String>,
    },
    ExpectWarning {
        candidate: String,
        warning: String,
    },
    ExpectLeader {
        #[serde(default = "jobs")]
        election: String,
        leader: Option<String>,
        #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
        metadata: BTreeMap<String, String>,
    },
    ExpectObserved {
        observer: String,
        leader: Option<String>,
        #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
        metadata: BTreeMap<String, String>,
    },
}

impl Step {
    /// The candidates that it names.
    pub fn candidates(&self) -> Vec<&str> {
        match self {
            Self::Campaign { candidate, .. }
            | Self::Resign { candidate }
            | Self::HandOver { candidate, .. }
            | Self::Close { candidate }
            | Self::CloseStore { candidate }
            | Self::SetHealthy { candidate, .. }
            | Self::FinishWork { candidate }
            | Self::FailWork { candidate }
            | Self::Kill { candidate }
            | Self::Cut { candidate }
            | Self::Heal { candidate }
            | Self::ExpectWon { candidate, .. }
            | Self::ExpectDraining { candidate, .. }
            | Self::ExpectLost { candidate, .. }
            | Self::ExpectReturned { candidate, .. }
            | Self::ExpectIsLeader { candidate, .. }
            | Self::ExpectStillLeads { candidate, .. }
            | Self::ExpectState { candidate, .. }
            | Self::ExpectSeen { candidate, .. }
            | Self::ExpectWarning { candidate, .. } => vec![candidate],
            Self::ExpectAnyWon { candidates, .. } => candidates.iter().map(String::as_str).collect(),
            Self::Observe { .. }
            | Self::DeleteKey { .. }
            | Self::PutKey { .. }
            | Self::ResetStore {}
            | Self::StopServer {}
            | Self::StartServer {}
            | Self::Mark { .. }
            | Self::ExpectNobodyLeads { .. }
            | Self::ExpectLeader { .. }
            | Self::ExpectObserved { .. } => Vec::new(),
        }
    }

    /// The instants that it names.
    pub fn moments(&self) -> Vec<&Moment> {
        match self {
            Self::ExpectWon { not_before, before, .. }
            | Self::ExpectAnyWon { not_before, before, .. }
            | Self::ExpectLost { not_before, before, .. } => not_before.iter().chain(before).collect(),
            _ => Vec::new(),
        }
    }
}

/// As written in the file.
impl std::fmt::Display for Step {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match serde_json::to_string(self) {
            Ok(json) => f.write_str(&json),
            Err(_) => write!(f, "{self:?}"),
        }
    }
}
