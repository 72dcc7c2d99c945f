//! A candidate's health check, answered by Python.

use std::sync::{Mutex, PoisonError};

use pyo3::prelude::*;

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
