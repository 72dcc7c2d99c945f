//! A call that takes time and has one answer.

use pyo3::prelude::*;
use pyo3::types::PyTuple;

use crate::mailbox::Mailbox;
use crate::value::Convert;
use crate::value::OrRaise;
use crate::wait::{waited, wake};

/// A call that takes time and has one answer; it runs from its creation.
#[pyclass(frozen, generic, module = "incumbent._incumbent")]
pub struct Operation {
    operation: incumbent_ffi::Operation<Convert>,
}

impl Operation {
    /// Wraps an operation; `convert` converts its answer to Python.
    pub(crate) fn new<T: Send + 'static>(
        operation: incumbent_ffi::Operation<T>,
        convert: fn(Python<'_>, T) -> PyResult<Py<PyAny>>,
    ) -> Self {
        let operation =
            operation.map(move |answer| Box::new(move |py: Python<'_>| convert(py, answer)) as Convert);
        Self { operation }
    }

    /// Wraps an operation without a value.
    pub(crate) fn of_nothing(operation: incumbent_ffi::Operation<()>) -> Self {
        Self::new(operation, |py, ()| Ok(py.None()))
    }
}

#[pymethods]
impl Operation {
    /// Takes the answer, in a tuple, once; None while there is none. Raises the error of the operation.
    fn take<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyTuple>>> {
        let Some(answer) = self.operation.take() else { return Ok(None) };
        let convert = answer.or_raise(py)?;
        PyTuple::new(py, [convert(py)?]).map(Some)
    }

    /// Waits for the answer, with the interpreter's lock released. Returns whether it is there.
    #[pyo3(signature = (timeout, interruptible))]
    fn wait(&self, py: Python<'_>, timeout: Option<f64>, interruptible: bool) -> PyResult<bool> {
        waited(py, timeout, interruptible, |limit| self.operation.ready().wait(limit))
    }

    /// Calls `callback`, on another thread, when the answer is there; returns False if it is there already.
    fn wake(&self, callback: Py<PyAny>) -> bool {
        self.operation.ready().wake(wake(callback))
    }

    /// Puts `message` into `mailbox` when the answer is there; returns False if it is there already.
    fn post(&self, mailbox: &Bound<'_, Mailbox>, message: u64) -> bool {
        self.operation.ready().post(&mailbox.get().mailbox, message)
    }

    /// Cancels the operation.
    fn cancel(&self) {
        self.operation.cancel();
    }
}
