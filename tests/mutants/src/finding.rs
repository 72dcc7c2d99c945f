//! What came of breaking a rule.

use serde::{Deserialize, Serialize};

use crate::table::{Mutant, NONE, name_of};

/// What came of one mutant.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Finding {
    /// The mutant's name, or `none`.
    pub(crate) name: String,
    /// Whether somebody noticed: an oracle of the simulator, or a property of the model checker.
    pub(crate) caught: bool,
    /// Which invariant or rule of the simulator noticed; or what happened instead.
    pub(crate) by: String,
    /// What is typed to see it; empty where the simulator noticed nothing.
    pub(crate) at: String,
    /// What it said.
    pub(crate) says: String,
    /// How many simulated elections it took.
    pub(crate) runs: u64,
    /// Which property of the model checker noticed, and in which world; or else which script; empty where none did.
    pub(crate) model: String,
}

impl Finding {
    /// The simulator noticed nothing, or something happened that is no verdict of an oracle's.
    pub(crate) fn uncaught(mutant: Option<&Mutant>, by: &str, runs: u64) -> Self {
        let name = name_of(mutant).into();
        let nothing = String::new;
        Self { name, caught: false, by: by.into(), at: nothing(), says: nothing(), runs, model: nothing() }
    }

    /// The same, with what the model checker noticed.
    pub(crate) fn and_in_the_model(self, seen: Option<String>) -> Self {
        Self { caught: self.caught || seen.is_some(), model: seen.unwrap_or_default(), ..self }
    }

    /// Whether it is as it should be: a broken rule is noticed, and nothing is where none is broken.
    pub(crate) fn is_well(&self) -> bool {
        self.caught != (self.name == NONE)
    }

    /// What the simulator came to, in a few words.
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
