//! Hands log records to Python's `logging`.

use incumbent_ffi::log::{LogLevel, Record, keep, set_threshold, take};
use pyo3::prelude::*;

use crate::value::OrRaise;

/// `(level, target, message, fields)`; the level is one of Python's.
type RecordTuple = (u8, String, String, Vec<(&'static str, String)>);

/// Keeps each record from now on until it is taken. Returns True for the first call in a process: its caller starts the
/// thread that takes them.
#[pyfunction]
pub fn keep_logs(py: Python<'_>) -> PyResult<bool> {
    keep().or_raise(py)
}

/// Waits for records, with the interpreter's lock released, and takes them; none once no more can come.
#[pyfunction]
pub fn take_logs(py: Python<'_>) -> Vec<RecordTuple> {
    let records = py.detach(take);
    let tuple = |record| {
        let Record { level, target, message, fields } = record;
        (python_level(level), target, message, fields)
    };
    records.into_iter().map(tuple).collect()
}

/// Keeps records of at least this Python level.
#[pyfunction]
pub fn set_log_threshold(least: u8) {
    set_threshold(Some(match least {
        0..=5 => LogLevel::Trace,
        6..=10 => LogLevel::Debug,
        11..=20 => LogLevel::Info,
        21..=30 => LogLevel::Warning,
        _ => LogLevel::Error,
    }));
}

/// Converts a level. Python has none for a trace; 5 is common practice.
fn python_level(level: LogLevel) -> u8 {
    match level {
        LogLevel::Trace => 5,
        LogLevel::Debug => 10,
        LogLevel::Info => 20,
        LogLevel::Warning => 30,
        LogLevel::Error => 40,
    }
}

/// Reports an error that no caller can catch to `sys.unraisablehook`; `source` raised it.
#[pyfunction]
pub fn report(error: Bound<'_, PyAny>, source: &Bound<'_, PyAny>) {
    let py = error.py();
    PyErr::from_value(error).write_unraisable(py, Some(source));
}
