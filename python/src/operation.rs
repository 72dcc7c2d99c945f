//! A call that takes time and has one answer.

use std::sync::Arc;
use std::time::Duration;

use incumbent_ffi::Mailbox;
use pyo3::prelude::*;
use pyo3::types::PyTuple;

use crate::error::raised;
use crate::wait::{waited, wake};

/// A call that takes time and has one answer; it runs from its creation.
#[pyclass(frozen, generic, module = "incumbent._incumbent")]
pub struct Operation {
    pending: Box<dyn Pending>,
}

/// An operation with an answer of any type.
trait Pending: Send + Sync {
    fn take(&self, py: Python<'_>) -> Option<PyResult<Py<PyAny>>>;
    fn wait(&self, limit: Option<Duration>) -> bool;
    fn tell(&self, wake: incumbent_ffi::Wake) -> bool;
    fn write(&self, mailbox: &Arc<Mailbox>, letter: u64) -> bool;
    fn cancel(&self);
}

struct Mapped<T, F> {
    operation: incumbent_ffi::Operation<T>,
    map: F,
}

impl<T, F> Pending for Mapped<T, F>
where
    T: Send + 'static,
    F: Fn(Python<'_>, T) -> PyResult<Py<PyAny>> + Send + Sync,
{
    fn take(&self, py: Python<'_>) -> Option<PyResult<Py<PyAny>>> {
        self.operation.take().map(|outcome| match outcome {
            Ok(answer) => (self.map)(py, answer),
            Err(error) => Err(raised(py, error)),
        })
    }

    fn wait(&self, limit: Option<Duration>) -> bool {
        self.operation.wait(limit)
    }

    fn tell(&self, wake: incumbent_ffi::Wake) -> bool {
        self.operation.tell(wake)
    }

    fn write(&self, mailbox: &Arc<Mailbox>, letter: u64) -> bool {
        self.operation.write(mailbox, letter)
    }

    fn cancel(&self) {
        self.operation.cancel();
    }
}

impl Operation {
    /// Wraps an operation; `map` converts its answer to Python.
    pub(crate) fn new<T, F>(operation: incumbent_ffi::Operation<T>, map: F) -> Self
    where
        T: Send + 'static,
        F: Fn(Python<'_>, T) -> PyResult<Py<PyAny>> + Send + Sync + 'static,
    {
        Self { pending: Box::new(Mapped { operation, map }) }
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
        let Some(answer) = self.pending.take(py) else { return Ok(None) };
        PyTuple::new(py, [answer?]).map(Some)
    }

    /// Waits for the answer, with the interpreter's lock released. Returns whether it is there.
    #[pyo3(signature = (timeout, interruptible))]
    fn wait(&self, py: Python<'_>, timeout: Option<f64>, interruptible: bool) -> PyResult<bool> {
        waited(py, timeout, interruptible, |limit| self.pending.wait(limit))
    }

    /// Calls `callback`, on another thread, when the answer is there; returns False where it is there already.
    fn tell(&self, callback: Py<PyAny>) -> bool {
        self.pending.tell(wake(callback))
    }

    /// Puts `letter` into `mailbox` when the answer is there; returns False where it is there already.
    fn write(&self, mailbox: &Bound<'_, crate::mailbox::Mailbox>, letter: u64) -> bool {
        self.pending.write(&mailbox.get().mailbox, letter)
    }

    /// Cancels the operation.
    fn cancel(&self) {
        self.pending.cancel();
    }
}
