//! Conversion of errors to Python exceptions.

use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::PyAny;

/// `incumbent.errors._make`: Python code defines the exception classes and chooses one.
static MAKE: PyOnceLock<Py<PyAny>> = PyOnceLock::new();

/// Makes the exception for an error.
pub(crate) fn raised(py: Python<'_>, error: incumbent_ffi::Error) -> PyErr {
    let make = MAKE
        .get_or_try_init(py, || Ok::<_, PyErr>(py.import("incumbent.errors")?.getattr("_make")?.unbind()));
    let reason = error.reason.map(incumbent_ffi::Reason::code);
    let made = make.and_then(|make| make.call1(py, (error.code.text(), error.message, error.causes, reason)));
    match made {
        Ok(exception) => PyErr::from_value(exception.into_bound(py)),
        // An incomplete package: its own error is the more useful one.
        Err(error) => error,
    }
}

/// Converts a result to Python's.
pub(crate) trait OrRaise<T> {
    fn or_raise(self, py: Python<'_>) -> PyResult<T>;
}

impl<T> OrRaise<T> for incumbent_ffi::Result<T> {
    fn or_raise(self, py: Python<'_>) -> PyResult<T> {
        self.map_err(|error| raised(py, error))
    }
}
