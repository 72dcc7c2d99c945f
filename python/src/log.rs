//! What is logged, handed to Python's `logging`.

use incumbent_ffi::log::{Loudness, Record, forward, set_threshold};
use pyo3::prelude::*;

/// Has `sink(level, target, message, fields)` called with what is logged, on another thread; the level is one of
/// Python's. Only once: whether this was the first call.
#[pyfunction]
pub fn forward_logs(sink: Py<PyAny>) -> bool {
    forward(move |record| {
        Python::try_attach(|py| {
            let Record { loudness, target, message, fields } = record;
            if let Err(error) = sink.call1(py, (level(loudness), target, message, fields)) {
                error.write_unraisable(py, Some(sink.bind(py)));
            }
        });
    })
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
