//! Waiting on a thread of Python.

use std::time::{Duration, Instant};

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

/// The longest delay of a signal while the main thread waits.
const SIGNALS: Duration = Duration::from_millis(50);

/// Converts a limit in seconds; None for no limit.
pub(crate) fn limit(seconds: Option<f64>) -> PyResult<Option<Duration>> {
    let Some(seconds) = seconds else { return Ok(None) };
    match Duration::try_from_secs_f64(seconds.max(0.0)) {
        Ok(limit) => Ok(Some(limit)),
        Err(_) if seconds > 0.0 => Ok(None),
        Err(_) => Err(PyValueError::new_err("a timeout must be a number of seconds")),
    }
}

/// Waits with the interpreter's lock released; calls `wait` with a limit, and returns whether the result came. With
/// `interruptible`, on the thread that handles signals, it handles them meanwhile, so that Ctrl-C works.
pub(crate) fn waited(
    py: Python<'_>,
    seconds: Option<f64>,
    interruptible: bool,
    wait: impl Fn(Option<Duration>) -> bool + Sync,
) -> PyResult<bool> {
    let limit = limit(seconds)?;
    if !interruptible {
        return Ok(py.detach(|| wait(limit)));
    }
    let until = limit.and_then(|limit| Instant::now().checked_add(limit));
    loop {
        let left = until.map(|until| until.saturating_duration_since(Instant::now()));
        let slice = left.map_or(SIGNALS, |left| left.min(SIGNALS));
        if py.detach(|| wait(Some(slice))) {
            return Ok(true);
        }
        py.check_signals()?;
        if left.is_some_and(|left| left <= slice) {
            return Ok(false);
        }
    }
}

/// Makes a wake that calls `callable`; no caller could handle its errors.
pub(crate) fn wake(callable: Py<PyAny>) -> incumbent_ffi::Wake {
    Box::new(move || {
        // `None` means that the interpreter is shutting down.
        Python::try_attach(|py| {
            call(py, &callable);
            drop(callable);
        });
    })
}

/// Calls `callable`; Python reports its errors.
pub(crate) fn call(py: Python<'_>, callable: &Py<PyAny>) {
    if let Err(error) = callable.call0(py) {
        error.write_unraisable(py, Some(callable.bind(py)));
    }
}
