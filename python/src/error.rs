//! Errors as Python raises them.

use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::PyAny;

/// `incumbent.errors._make`: the classes are Python's, and so is choosing one.
static MAKE: PyOnceLock<Py<PyAny>> = PyOnceLock::new();

/// The exception for an error.
pub(crate) fn raised(py: Python<'_>, error: incumbent_ffi::Error) -> PyErr {
    let make = MAKE
        .get_or_try_init(py, || Ok::<_, PyErr>(py.import("incumbent.errors")?.getattr("_make")?.unbind()));
    let reason = error.reason.map(incumbent_ffi::Reason::code);
    let made = make.and_then(|make| make.call1(py, (error.code.text(), error.message, error.causes, reason)));
    match made {
        Ok(exception) => PyErr::from_value(exception.into_bound(py)),
        // The package is incomplete; that is the better error then.
        Err(error) => error,
    }
}

/// An outcome as Python has it.
pub(crate) trait OrRaise<T> {
    fn or_raise(self, py: Python<'_>) -> PyResult<T>;
}

impl<T> OrRaise<T> for incumbent_ffi::Result<T> {
    fn or_raise(self, py: Python<'_>) -> PyResult<T> {
        self.map_err(|error| raised(py, error))
    }
}
