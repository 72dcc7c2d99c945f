//! A mailbox that wakes an event loop through a file descriptor.

use std::sync::Arc;

use pyo3::prelude::*;

use crate::error::OrRaise;

/// Messages, as numbers, and a file descriptor that is readable while there are any.
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

    /// The file descriptor, for an event loop to watch.
    fn fileno(&self) -> i32 {
        self.mailbox.descriptor()
    }

    /// Takes the messages.
    fn take(&self) -> Vec<u64> {
        self.mailbox.take()
    }

    /// Whether the mailbox was made before a fork, and is not to be used in this process.
    #[getter]
    fn is_forked(&self) -> bool {
        self.mailbox.is_forked()
    }
}
