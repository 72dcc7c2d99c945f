//! The faults that a scenario needs.

use std::collections::BTreeSet;
use std::fmt;

use serde::{Deserialize, Serialize};

use super::{Scenario, Step};

/// A kind of access to the store or to the network, which not every harness has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Need {
    /// An operator writes to the store, regardless of the leader.
    Operator,
    /// The store is deleted and created again.
    Reset,
    /// A candidate is cut off from the store.
    Network,
    /// A candidate dies.
    Kill,
    /// The store's server is stopped and started again.
    Server,
}

impl Need {
    /// Its name in a scenario.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Operator => "operator",
            Self::Reset => "reset",
            Self::Network => "network",
            Self::Kill => "kill",
            Self::Server => "server",
        }
    }
}

impl fmt::Display for Need {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl Step {
    /// The access that the step needs.
    pub fn need(&self) -> Option<Need> {
        match self {
            Self::DeleteKey { .. } | Self::PutKey { .. } => Some(Need::Operator),
            Self::ResetStore {} => Some(Need::Reset),
            Self::Cut { .. } | Self::Heal { .. } => Some(Need::Network),
            Self::Kill { .. } => Some(Need::Kill),
            Self::StopServer {} | Self::StartServer {} => Some(Need::Server),
            _ => None,
        }
    }
}

impl Scenario {
    /// Returns the reason why the scenario cannot be played with only `offered`, or `None` if it can.
    pub fn lacks(&self, offered: &BTreeSet<Need>) -> Option<String> {
        let lacking: Vec<_> = self.needs.difference(offered).map(|need| need.name()).collect();
        (!lacking.is_empty()).then(|| format!("needs {}", lacking.join(", ")))
    }
}
