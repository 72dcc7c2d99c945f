//! A term, and a hold on it.

use std::sync::{Mutex, MutexGuard, PoisonError};

use pyo3::prelude::*;

use crate::operation::Operation;
use crate::value::OrRaise;

/// An uninterrupted leadership, as a view.
#[pyclass(frozen, eq, module = "incumbent._incumbent")]
#[derive(Clone, PartialEq)]
pub struct Term {
    term: incumbent_ffi::Term,
}

/// A hold on a term: a drain waits until it is released.
#[pyclass(frozen, module = "incumbent._incumbent")]
pub struct Hold {
    hold: Mutex<incumbent_ffi::Hold>,
}

impl From<incumbent_ffi::Term> for Term {
    fn from(term: incumbent_ffi::Term) -> Self {
        Self { term }
    }
}

impl From<&Term> for incumbent_ffi::Term {
    fn from(term: &Term) -> Self {
        term.term.clone()
    }
}

impl From<incumbent_ffi::Hold> for Hold {
    fn from(hold: incumbent_ffi::Hold) -> Self {
        Self { hold: Mutex::new(hold) }
    }
}

#[pymethods]
impl Term {
    /// The fencing token: incarnation and sequence.
    #[getter]
    fn token(&self) -> (u64, u64) {
        let token = self.term.token();
        (token.incarnation.0, token.sequence.0)
    }

    /// The fencing token as text of 33 characters.
    #[getter]
    fn token_text(&self) -> String {
        self.term.token().to_string()
    }

    /// The key of the election.
    #[getter]
    fn election(&self) -> &str {
        self.term.election()
    }

    /// The seconds for which the lease is proven.
    #[getter]
    fn remaining(&self) -> f64 {
        self.term.remaining().as_secs_f64()
    }

    /// The seconds since the candidate learned that it leads.
    #[getter]
    fn age(&self) -> f64 {
        self.term.age().as_secs_f64()
    }

    /// The seconds that a draining leader still has; None while it is not draining.
    #[getter]
    fn drain_remaining(&self) -> Option<f64> {
        self.term.drain_remaining().map(|left| left.as_secs_f64())
    }

    /// The reason for which the term ended; None while it lasts.
    #[getter]
    fn reason(&self) -> Option<&'static str> {
        self.term.reason().map(incumbent_ffi::Reason::code)
    }

    /// Returns true if the term still lasts, by the clock.
    fn is_current(&self) -> bool {
        self.term.is_current()
    }

    /// Answers when the term is over, with the reason.
    fn ended(&self) -> Operation {
        Operation::new(self.term.ended(), |py, reason| {
            Ok(reason.code().into_pyobject(py)?.into_any().unbind())
        })
    }

    /// Answers when the leader begins to leave, or the term is over.
    fn draining(&self) -> Operation {
        Operation::of_nothing(self.term.draining())
    }

    /// Holds the term.
    fn hold(&self) -> Hold {
        self.term.hold().into()
    }

    /// Reports that the work of the term is done: a draining term ends now.
    fn drained(&self) {
        self.term.drained();
    }

    /// Ends the term because its work failed.
    fn fail(&self) {
        self.term.fail();
    }

    fn __hash__(&self) -> u64 {
        let token = self.term.token();
        token.incarnation.0 ^ token.sequence.0.rotate_left(32)
    }
}

impl Hold {
    fn lock(&self) -> MutexGuard<'_, incumbent_ffi::Hold> {
        self.hold.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[pymethods]
impl Hold {
    /// The term that is held.
    #[getter]
    fn term(&self) -> Term {
        self.lock().term().clone().into()
    }

    /// Ends the hold. Releasing it twice is no error.
    fn release(&self) {
        self.lock().release();
    }

    /// Fails in a forked child, and once the hold was released.
    fn check(&self, py: Python<'_>) -> PyResult<()> {
        self.lock().check().or_raise(py)
    }
}
