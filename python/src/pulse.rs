//! Whether an event loop turns.

use pyo3::prelude::*;

use crate::mailbox::Mailbox;
use crate::wait::call;

/// Tells whether an event loop turns. The loop alone keeps it: once that is closed it is watched no more.
#[pyclass(frozen, weakref, module = "incumbent._incumbent")]
pub struct Pulse {
    pub(crate) pulse: incumbent_ffi::Pulse,
}

#[pymethods]
impl Pulse {
    /// Of the loop that takes what is in that mailbox.
    #[staticmethod]
    fn of_mailbox(mailbox: &Bound<'_, Mailbox>) -> Self {
        Self { pulse: mailbox.get().mailbox.pulse() }
    }

    /// Of a loop that `ask`, called on another thread, has call `beat`.
    #[staticmethod]
    fn called(ask: Py<PyAny>) -> Self {
        let ask = std::sync::Arc::new(ask);
        Self {
            pulse: incumbent_ffi::pulse(move || {
                let ask = std::sync::Arc::clone(&ask);
                // None: the interpreter is going down.
                Box::new(move || {
                    Python::try_attach(|py| call(py, &ask));
                })
            }),
        }
    }

    /// Says that the loop turns.
    fn beat(&self) {
        self.pulse.beat();
    }

    /// Says that the loop is over.
    fn stop(&self) {
        self.pulse.stop();
    }
}

impl Drop for Pulse {
    fn drop(&mut self) {
        self.pulse.stop();
    }
}
