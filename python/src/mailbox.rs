//! A mailbox that wakes an event loop through a file descriptor.

use std::sync::Arc;

use pyo3::prelude::*;

use crate::value::OrRaise;
use crate::wait::call;

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

    /// Returns true if the mailbox was made before a fork, and is not to be used in this process.
    #[getter]
    fn is_forked(&self) -> bool {
        self.mailbox.is_forked()
    }
}

/// Checks whether an event loop runs. Only the loop keeps it alive: a closed loop is no longer watched.
#[pyclass(frozen, weakref, module = "incumbent._incumbent")]
pub struct LoopProbe {
    pub(crate) probe: incumbent_ffi::LoopProbe,
}

#[pymethods]
impl LoopProbe {
    /// Creates the probe of the loop that takes the messages of that mailbox.
    #[staticmethod]
    fn of_mailbox(mailbox: &Bound<'_, Mailbox>) -> Self {
        Self { probe: mailbox.get().mailbox.probe() }
    }

    /// Creates the probe of a loop: `ask` is called on another thread and makes the loop call `answered`.
    #[staticmethod]
    fn called(ask: Py<PyAny>) -> Self {
        let ask = Arc::new(ask);
        Self {
            probe: incumbent_ffi::loop_probe(move || {
                let ask = Arc::clone(&ask);
                // `None` means that the interpreter is shutting down.
                Box::new(move || {
                    Python::try_attach(|py| call(py, &ask));
                })
            }),
        }
    }

    /// Reports that the loop runs.
    fn answered(&self) {
        self.probe.answered();
    }

    /// Reports that the loop is closed.
    fn stop(&self) {
        self.probe.stop();
    }
}

impl Drop for LoopProbe {
    fn drop(&mut self) {
        self.probe.stop();
    }
}
