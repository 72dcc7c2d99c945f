//! A check that an event loop runs.

use pyo3::prelude::*;

use crate::mailbox::Mailbox;
use crate::wait::call;

/// Checks whether an event loop runs. Only the loop keeps it alive: a loop that is closed is not watched any more.
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
        let ask = std::sync::Arc::new(ask);
        Self {
            probe: incumbent_ffi::loop_probe(move || {
                let ask = std::sync::Arc::clone(&ask);
                // None: the interpreter is shutting down.
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
