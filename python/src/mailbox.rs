//! What wakes an event loop that can watch a file descriptor.

use std::sync::Arc;

use pyo3::prelude::*;

use crate::error::OrRaise;

/// What rang, as numbers, and a file descriptor that can be read while there are any.
#[pyclass(frozen, module = "incumbent._incumbent")]
pub struct Mailbox {
    pub(crate) mailbox: Arc<incumbent_ffi::Mailbox>,
}

#[pymethods]
impl Mailbox {
    #[new]
    fn new(py: Python<'_>) -> PyResult<Self> {
        Ok(Self { mailbox: incumbent_ffi::Mailbox::new().or_raise(py)? })
    }

    /// What an event loop watches.
    fn fileno(&self) -> i32 {
        self.mailbox.descriptor()
    }

    /// What is in it.
    fn take(&self) -> Vec<u64> {
        self.mailbox.take()
    }

    /// Whether it is of a process that this one was forked from, and not to be used here.
    #[getter]
    fn is_forked(&self) -> bool {
        self.mailbox.is_forked()
    }
}
