//! A check that an event loop runs.

use pyo3::prelude::*;

use crate::mailbox::Mailbox;
use crate::wait::call;

/// Checks whether an event loop runs. Only the loop keeps it alive: a loop that is closed is not watched any more.
#[pyclass(frozen, weakref, module = "incumbent._incumbent")]
pub struct Pulse {
    pub(crate) pulse: incumbent_ffi::Pulse,
}

#[pymethods]
impl Pulse {
    /// Creates the pulse of the loop that takes the messages of that mailbox.
    #[staticmethod]
    fn of_mailbox(mailbox: &Bound<'_, Mailbox>) -> Self {
        Self { pulse: mailbox.get().mailbox.pulse() }
    }

    /// Creates the pulse of a loop: `ask` is called on another thread and makes the loop call `beat`.
    #[staticmethod]
    fn called(ask: Py<PyAny>) -> Self {
        let ask = std::sync::Arc::new(ask);
        Self {
            pulse: incumbent_ffi::pulse(move || {
                let ask = std::sync::Arc::clone(&ask);
                // None: the interpreter is shutting down.
                Box::new(move || {
                    Python::try_attach(|py| call(py, &ask));
                })
            }),
        }
    }

    /// Reports that the loop runs.
    fn beat(&self) {
        self.pulse.beat();
    }

    /// Reports that the loop is closed.
    fn stop(&self) {
        self.pulse.stop();
    }
}

impl Drop for Pulse {
    fn drop(&mut self) {
        self.pulse.stop();
    }
}
