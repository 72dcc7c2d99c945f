//! A participant of an election.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

use incumbent_ffi::{Leave, State};
use pyo3::prelude::*;

use crate::feed::{Feed, Item, event, held_event};
use crate::operation::Operation;
use crate::term::{Hold, Term};
use crate::value::{LeaderTuple, Name, OrRaise, leader};

/// A participant of an election. Python derives a class from it, which warns if no close was requested.
#[pyclass(frozen, subclass, module = "incumbent._incumbent")]
pub struct Candidate {
    candidate: incumbent_ffi::Candidate,
    is_closing: AtomicBool,
}

impl From<incumbent_ffi::Candidate> for Candidate {
    fn from(candidate: incumbent_ffi::Candidate) -> Self {
        Self { candidate, is_closing: AtomicBool::new(false) }
    }
}

#[pymethods]
impl Candidate {
    /// Takes over the campaign of another object.
    #[new]
    fn new(other: &Self) -> Self {
        other.candidate.clone().into()
    }

    /// Returns true while the campaign runs and no close was requested; false in a forked child.
    #[getter]
    fn is_left_open(&self) -> bool {
        !self.is_closing.load(Ordering::Relaxed) && self.candidate.state() != State::Closed
    }

    /// Returns true if this candidate leads now, by the clock.
    #[getter]
    fn is_leader(&self) -> bool {
        self.candidate.is_leader()
    }

    /// The key of the election.
    #[getter]
    fn election(&self) -> &str {
        self.candidate.election()
    }

    /// The candidate's name.
    #[getter]
    fn name(&self) -> &str {
        self.candidate.name()
    }

    /// The state of the campaign.
    #[getter]
    fn state(&self) -> &'static str {
        self.candidate.state().code()
    }

    /// The leader of the election, as far as this candidate has seen.
    #[getter]
    fn leader(&self) -> Option<LeaderTuple> {
        self.candidate.leader().map(leader)
    }

    /// The current term; None while this candidate does not lead.
    #[getter]
    fn term(&self) -> Option<Term> {
        self.candidate.term().map(Term::from)
    }

    /// Returns the events from now on, beginning with the current state.
    fn events(&self, py: Python<'_>) -> PyResult<Feed> {
        self.candidate.events(|seen| Item::Event(event(seen))).or_raise(py).map(Feed::from)
    }

    /// Returns the same events in pairs: a term is held from the moment it is won, and `Won` comes with the hold.
    fn holding_events(&self, py: Python<'_>) -> PyResult<Feed> {
        self.candidate.holding_events(held_event).or_raise(py).map(Feed::from)
    }

    /// Returns the health questions, if there is a health check; only the first call returns them.
    fn questions(&self, py: Python<'_>) -> PyResult<Option<Feed>> {
        let questions = self.candidate.questions(|question| Item::Question(question.into())).or_raise(py)?;
        Ok(questions.map(Feed::from))
    }

    /// Answers with a hold on the current or the next term, or on the term that follows `after`; None once the campaign
    /// is over.
    #[pyo3(signature = (after))]
    fn next_term(&self, after: Option<&Bound<'_, Term>>) -> Operation {
        let after = after.map(|term| term.get().into());
        Operation::new(self.candidate.next_term(after), |py, hold| match hold {
            Some(hold) => Ok(Py::new(py, Hold::from(hold))?.into_any()),
            None => Ok(py.None()),
        })
    }

    /// Gives up leadership. Answers once the key is released, or, inside of the work, once the drain has begun.
    fn resign(&self, inside: bool) -> Operation {
        Operation::of_nothing(self.candidate.leave(Leave::Resign, inside))
    }

    /// Hands leadership over to the candidate named `to`.
    fn hand_over(&self, to: Name, inside: bool) -> Operation {
        Operation::of_nothing(self.candidate.leave(Leave::HandOver(&to.0), inside))
    }

    /// Gives up leadership and ends the campaign.
    fn close(&self, inside: bool) -> Operation {
        self.is_closing.store(true, Ordering::Relaxed);
        Operation::of_nothing(self.candidate.leave(Leave::Close, inside))
    }

    /// Sets whether this candidate is healthy.
    fn set_healthy(&self, py: Python<'_>, is_well: bool) -> PyResult<()> {
        self.candidate.set_healthy(is_well).or_raise(py)
    }

    /// Accepts that tokens may start again after the store was reset.
    fn accept_reset(&self, py: Python<'_>) -> PyResult<()> {
        self.candidate.accept_reset().or_raise(py)
    }
}

/// The question "Are you healthy?". Dropping it without an answer counts as a no.
#[pyclass(frozen, module = "incumbent._incumbent")]
pub struct Question {
    question: Mutex<Option<incumbent_ffi::Question>>,
}

impl From<incumbent_ffi::Question> for Question {
    fn from(question: incumbent_ffi::Question) -> Self {
        Self { question: Mutex::new(Some(question)) }
    }
}

#[pymethods]
impl Question {
    /// Answers the question. A second answer does nothing.
    fn answer(&self, is_well: bool) {
        let question = self.question.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(question) = question {
            question.answer(is_well);
        }
    }
}
