//! The result of breaking one rule.

use serde::{Deserialize, Serialize};

use crate::table::{Mutant, NONE, name_of};

/// The result of one mutant.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Finding {
    /// The mutant's name, or `none`.
    pub(crate) name: String,
    /// True if a check noticed the broken rule: an oracle of the simulator, a property of the model checker, or a
    /// script.
    pub(crate) caught: bool,
    /// The simulator's invariant or rule that noticed; otherwise the run's result.
    pub(crate) by: String,
    /// The seed and the swarm of the run that shows the violation; empty if the simulator noticed nothing.
    pub(crate) at: String,
    /// The explanation of the violation.
    pub(crate) says: String,
    /// The number of simulated elections.
    pub(crate) runs: u64,
    /// The property of the model checker that was violated, and the world; or the script that failed. Empty if neither
    /// noticed.
    pub(crate) model: String,
}

impl Finding {
    /// Returns the finding for a hunt in which no oracle of the simulator gave a verdict.
    pub(crate) fn uncaught(mutant: Option<&Mutant>, by: &str, runs: u64) -> Self {
        let name = name_of(mutant).into();
        let nothing = String::new;
        Self { name, caught: false, by: by.into(), at: nothing(), says: nothing(), runs, model: nothing() }
    }

    /// Returns this finding with what the model checker or a script noticed.
    pub(crate) fn and_in_the_model(self, seen: Option<String>) -> Self {
        Self { caught: self.caught || seen.is_some(), model: seen.unwrap_or_default(), ..self }
    }

    /// Returns true if the finding is as expected: a broken rule is noticed, and the control is not.
    pub(crate) fn is_well(&self) -> bool {
        self.caught != (self.name == NONE)
    }

    /// The simulator's result, in a few words.
    pub(crate) fn simulated(&self) -> String {
        if self.at.is_empty() { self.by.clone() } else { format!("{}, {}", self.by, self.at) }
    }

    /// The outcome in a line.
    pub(crate) fn outcome(&self) -> String {
        let mark = if self.is_well() { "" } else { "NOT AS IT SHOULD BE: " };
        let model = if self.model.is_empty() { "nothing noticed" } else { &self.model };
        let says = if self.says.is_empty() { String::new() } else { format!(" ({})", self.says) };
        format!("{mark}{:>5} runs, simulator: {}{says}; model: {model}", self.runs, self.simulated())
    }
}
