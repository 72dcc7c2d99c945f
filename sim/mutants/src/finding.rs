//! What came of breaking a rule.

use incumbent_core::mutant::Mutant;
use serde::{Deserialize, Serialize};

/// The name of the control, in which nothing is broken.
pub(crate) const NONE: &str = "none";

/// What came of one mutant.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Finding {
    /// The mutant's name, or `none`.
    pub(crate) name: String,
    /// Whether something noticed.
    pub(crate) caught: bool,
    /// Who noticed: an invariant or a rule of the simulator, or a property of the model checker; or what happened
    /// instead.
    pub(crate) by: String,
    /// What is typed to see it.
    pub(crate) at: String,
    /// What it said.
    pub(crate) says: String,
    /// How many simulated elections it took.
    pub(crate) runs: u64,
}

impl Finding {
    /// Nothing was noticed.
    pub(crate) fn nothing(mutant: Option<Mutant>, runs: u64) -> Self {
        Self::uncaught(mutant, "nothing noticed", runs)
    }

    /// Something happened that is no verdict of an oracle's.
    pub(crate) fn uncaught(mutant: Option<Mutant>, by: &str, runs: u64) -> Self {
        let name = name_of(mutant).into();
        Self { name, caught: false, by: by.into(), at: String::new(), says: String::new(), runs }
    }

    /// Whether it is as it should be: a broken rule is noticed, and nothing is where none is broken.
    pub(crate) fn is_well(&self) -> bool {
        self.caught != (self.name == NONE)
    }

    /// The outcome in a line.
    pub(crate) fn outcome(&self) -> String {
        match (self.caught, self.name.as_str()) {
            (true, _) => format!("caught by {}, {}: {}", self.by, self.at, self.says),
            (false, NONE) => format!("{}, as it should be, in {} runs", self.by, self.runs),
            (false, _) => format!("SURVIVES: {} in {} runs", self.by, self.runs),
        }
    }
}

pub(crate) fn name_of(mutant: Option<Mutant>) -> &'static str {
    mutant.map_or(NONE, Mutant::name)
}
