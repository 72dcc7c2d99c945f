//! The report of a failed scenario.

use std::fmt;

use crate::stage::StoreKind;

/// A failed scenario.
#[derive(Clone, Debug)]
pub struct Failure {
    /// Its name.
    pub scenario: String,
    /// The store.
    pub store: StoreKind,
    /// The step, counted from 1; `None`: before the first or after the last.
    pub step: Option<usize>,
    /// The number of steps.
    pub steps: usize,
    /// The step as in the file, or the action instead of a step.
    pub verb: String,
    /// The expected result.
    pub expected: String,
    /// The actual result.
    pub seen: String,
    /// All events of all candidates, in order.
    pub history: Vec<String>,
}

/// The unmet expectation of a step.
#[derive(Clone, Debug)]
pub(super) struct Missed {
    pub(super) expected: String,
    pub(super) seen: String,
}

impl Missed {
    pub(super) fn new(expected: impl Into<String>, seen: impl fmt::Display) -> Self {
        Self { expected: expected.into(), seen: seen.to_string() }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { scenario, store, steps, verb, expected, seen, .. } = self;
        write!(f, "{scenario} on {store} failed ")?;
        match self.step {
            Some(step) => writeln!(f, "at step {step} of {steps}: {verb}")?,
            None => writeln!(f, "{verb}")?,
        }
        writeln!(f, "  expected: {expected}")?;
        writeln!(f, "  seen:     {seen}")?;
        writeln!(f, "  history:")?;
        self.history.iter().try_for_each(|line| writeln!(f, "    {line}"))
    }
}

impl std::error::Error for Failure {}
