//! What is told of a scenario that did not go as it should.

use std::fmt;

use crate::stage::StoreKind;

/// A scenario that did not go as it should.
#[derive(Clone, Debug)]
pub struct Failure {
    /// Its name.
    pub scenario: String,
    /// On which store.
    pub store: StoreKind,
    /// At which step, counted from 1; `None`: before the first or after the last.
    pub step: Option<usize>,
    /// How many steps there are.
    pub steps: usize,
    /// The step, as it stands in the file, or what was done instead.
    pub verb: String,
    /// What should have been.
    pub expected: String,
    /// What was.
    pub seen: String,
    /// Everything that anybody was told, in order.
    pub history: Vec<String>,
}

/// What a step missed.
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
