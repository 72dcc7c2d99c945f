//! Conversion of values from and to Python, and of errors to its exceptions.

use std::path::PathBuf;
use std::time::Duration;

use incumbent_ffi::settings::{Dialect, Map, Value};
use incumbent_ffi::{CandidateInfo, Error, ErrorKind, Leader, Reason};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyAny, PyBool, PyDict, PyFloat, PyInt, PyList, PyString, PyTuple};

pub(crate) const DIALECT: Dialect = Dialect::PYTHON;

/// A value that is converted once the interpreter's lock is held.
pub(crate) type Convert = Box<dyn FnOnce(Python<'_>) -> PyResult<Py<PyAny>> + Send>;

/// `(name, revision, nonce, metadata)`
pub(crate) type LeaderTuple = (String, u64, Option<String>, Vec<(String, String)>);

pub(crate) fn leader(leader: Leader) -> LeaderTuple {
    (leader.name, leader.revision.0, leader.nonce.map(|nonce| nonce.to_string()), leader.metadata)
}

/// `(election, name, nonce, standing_for)`
pub(crate) type CandidateTuple = (String, String, Option<String>, f64);

pub(crate) fn candidate(candidate: CandidateInfo) -> CandidateTuple {
    let CandidateInfo { election, name, nonce, standing_for } = candidate;
    (election, name, nonce.map(|nonce| nonce.to_string()), standing_for.as_secs_f64())
}

/// Returns the reason with that code.
pub(crate) fn reason(code: &str) -> PyResult<Reason> {
    let found = Reason::ALL.into_iter().find(|reason| reason.code() == code);
    found.ok_or_else(|| PyValueError::new_err(format!("{code:?} is not a reason for a term to end")))
}

/// A key, or the name of a candidate.
pub(crate) struct Name(pub(crate) String);

impl<'a, 'py> FromPyObject<'a, 'py> for Name {
    type Error = PyErr;

    fn extract(given: Borrowed<'a, 'py, PyAny>) -> PyResult<Self> {
        let text = given.cast::<PyString>()?;
        let refused = |_| {
            let shown = text.repr().map_or_else(|_| String::new(), |shown| format!(" {shown}"));
            let message = format!("the name{shown} is not Unicode: it has half of a surrogate pair");
            raised(given.py(), Error::new(ErrorKind::InvalidName, message))
        };
        Ok(Self(text.to_str().map_err(refused)?.to_owned()))
    }
}

/// Converts settings.
pub(crate) fn settings(given: &Bound<'_, PyDict>) -> PyResult<Map> {
    given.iter().map(|(name, given)| Ok((name.str()?.to_string(), value(&given)?))).collect()
}

/// Converts a value.
pub(crate) fn value(given: &Bound<'_, PyAny>) -> PyResult<Value> {
    if given.is_none() {
        return Ok(Value::Nothing);
    }
    if let Ok(flag) = given.cast::<PyBool>() {
        return Ok(Value::Flag(flag.is_true()));
    }
    if given.is_instance_of::<PyInt>() || given.is_instance_of::<PyFloat>() {
        // An integer too large for a float is outside of every range.
        return Ok(Value::Number(given.extract().unwrap_or(f64::INFINITY)));
    }
    // Text that is not Unicode is no setting, because replacing the bad character would change the name.
    if let Some(text) = given.cast::<PyString>().ok().and_then(|text| text.to_str().ok()) {
        return Ok(Value::Text(text.to_owned()));
    }
    if let Ok(map) = given.cast::<PyDict>() {
        return settings(map).map(Value::Map);
    }
    if given.is_instance_of::<PyList>() || given.is_instance_of::<PyTuple>() {
        let values = given.try_iter()?.map(|one| value(&one?));
        return values.collect::<PyResult<_>>().map(Value::List);
    }
    if let Ok(time) = given.extract::<Duration>() {
        return Ok(Value::Time(time));
    }
    if !given.is_instance_of::<PyString>()
        && let Ok(path) = given.extract::<PathBuf>()
        && let Ok(text) = path.into_os_string().into_string()
    {
        return Ok(Value::Text(text));
    }
    Ok(Value::Other(given.repr()?.to_string()))
}

/// `incumbent.errors._make`: Python code defines the exception classes and chooses one.
static MAKE: PyOnceLock<Py<PyAny>> = PyOnceLock::new();

/// Makes the exception for an error.
pub(crate) fn raised(py: Python<'_>, error: Error) -> PyErr {
    let make = MAKE
        .get_or_try_init(py, || Ok::<_, PyErr>(py.import("incumbent.errors")?.getattr("_make")?.unbind()));
    let reason = error.reason.map(Reason::code);
    let made = make
        .and_then(|make| make.call1(py, (error.code.text(), error.message(DIALECT), error.causes, reason)));
    match made {
        Ok(exception) => PyErr::from_value(exception.into_bound(py)),
        // The package is incomplete, and its own error is more useful.
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
