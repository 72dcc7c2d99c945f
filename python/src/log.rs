//! What is logged, handed to Python's `logging`.

use incumbent_ffi::log::{Loudness, Record, keep, set_threshold, take};
use pyo3::prelude::*;

use crate::error::OrRaise;

/// `(level, target, message, fields)`, the level one of Python's.
type RecordTuple = (u8, String, String, Vec<(&'static str, String)>);

/// Keeps what is logged from now on until it is taken. True for the first call in a process, whose caller starts the
/// thread that takes it.
#[pyfunction]
pub fn keep_logs(py: Python<'_>) -> PyResult<bool> {
    keep().or_raise(py)
}

/// Waits for what is logged, with the interpreter's lock released, and takes it; nothing where nothing comes any more.
#[pyfunction]
pub fn take_logs(py: Python<'_>) -> Vec<RecordTuple> {
    let records = py.detach(take);
    let tuple = |record| {
        let Record { loudness, target, message, fields } = record;
        (level(loudness), target, message, fields)
    };
    records.into_iter().map(tuple).collect()
}

/// What is at least as loud as this level of Python's is handed on.
#[pyfunction]
pub fn set_log_threshold(least: u8) {
    set_threshold(Some(match least {
        0..=5 => Loudness::Trace,
        6..=10 => Loudness::Debug,
        11..=20 => Loudness::Info,
        21..=30 => Loudness::Warning,
        _ => Loudness::Error,
    }));
}

/// Python has no level for a trace; 5 is what others use.
fn level(loudness: Loudness) -> u8 {
    match loudness {
        Loudness::Trace => 5,
        Loudness::Debug => 10,
        Loudness::Info => 20,
        Loudness::Warning => 30,
        Loudness::Error => 40,
    }
}

/// Reports an error that nobody can catch by `sys.unraisablehook`; it was raised by `source`.
#[pyfunction]
pub fn report(error: Bound<'_, PyAny>, source: &Bound<'_, PyAny>) {
    let py = error.py();
    PyErr::from_value(error).write_unraisable(py, Some(source));
}
