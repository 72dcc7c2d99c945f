//! A scripted election, a store with faults and a manual clock, for tests.

use incumbent_ffi::settings;
use incumbent_ffi::testing as ffi;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::candidate::Candidate;
use crate::operation::Operation;
use crate::store::Store;
use crate::value::OrRaise;
use crate::value::{self, DIALECT};
use crate::wait::limit;

/// A clock that moves only when it is advanced.
#[pyclass(frozen, module = "incumbent.testing")]
pub struct ManualClock {
    clock: ffi::ManualClock,
}

#[pymethods]
impl ManualClock {
    #[new]
    fn new() -> Self {
        Self { clock: ffi::ManualClock::new() }
    }

    /// Advances the clock by that many seconds.
    fn advance(&self, seconds: f64) -> PyResult<()> {
        self.clock.advance(limit(Some(seconds))?.unwrap_or_default());
        Ok(())
    }
}

/// A scripted election. It follows the test with the interpreter's lock released, like a real one.
#[pyclass(frozen, module = "incumbent._incumbent")]
pub struct Script {
    script: ffi::Script,
    candidate: incumbent_ffi::Candidate,
}

#[pymethods]
impl Script {
    #[new]
    #[pyo3(signature = (election, candidate, clock))]
    fn new(
        py: Python<'_>,
        election: &str,
        candidate: &str,
        clock: Option<&Bound<'_, ManualClock>>,
    ) -> PyResult<Self> {
        let clock = clock.map(|clock| clock.get().clock.clone());
        let (script, candidate) = ffi::Script::new(election, candidate, clock.as_ref()).or_raise(py)?;
        Ok(Self { script, candidate })
    }

    /// The candidate of the election.
    fn candidate(&self) -> Candidate {
        self.candidate.clone().into()
    }

    /// Lets the candidate win, with a lease of that many seconds or without an expiry.
    #[pyo3(signature = (lease))]
    fn acquire(&self, py: Python<'_>, lease: Option<f64>) -> PyResult<(u64, u64)> {
        let lease = limit(lease)?;
        let token = py.detach(|| self.script.acquire(lease)).or_raise(py)?;
        Ok((token.incarnation.0, token.sequence.0))
    }

    /// Ends the term at once, for that reason.
    fn revoke(&self, py: Python<'_>, reason: &str) -> PyResult<()> {
        let reason = value::reason(reason)?;
        py.detach(|| self.script.revoke(reason)).or_raise(py)
    }

    /// Lets the term drain, for that reason.
    fn drain(&self, py: Python<'_>, reason: &str) -> PyResult<()> {
        let reason = value::reason(reason)?;
        py.detach(|| self.script.drain(reason)).or_raise(py)
    }

    /// Shows the candidate a leader of that name, or no leader.
    #[pyo3(signature = (name))]
    fn leader(&self, py: Python<'_>, name: Option<&str>) -> PyResult<()> {
        py.detach(|| self.script.leader(name)).or_raise(py)
    }

    /// Emits a warning.
    fn warning(&self, py: Python<'_>) -> PyResult<()> {
        py.detach(|| self.script.warning()).or_raise(py)
    }

    /// The requests of the code under test, in order.
    #[getter]
    fn asked(&self, py: Python<'_>) -> PyResult<Vec<(&'static str, Option<String>)>> {
        self.script.asked().or_raise(py)
    }
}

/// Injects faults into a store.
#[pyclass(frozen, module = "incumbent._incumbent")]
pub struct Faults {
    faults: ffi::Faults,
}

/// Opens a store with fault injection; answers with the store and its faults.
#[pyfunction]
#[pyo3(signature = (url, settings, clock))]
pub fn open_faulty(
    py: Python<'_>,
    url: &str,
    settings: &Bound<'_, PyDict>,
    clock: Option<&Bound<'_, ManualClock>>,
) -> PyResult<Operation> {
    let opening = settings::opening(url, value::settings(settings)?, DIALECT).or_raise(py)?;
    let clock = clock.map(|clock| clock.get().clock.clone());
    Ok(Operation::new(ffi::Faults::open(opening, clock.as_ref()), |py, (store, faults)| {
        Ok((Store::from(store), Faults { faults }).into_pyobject(py)?.into_any().unbind())
    }))
}

#[pymethods]
impl Faults {
    /// Makes the next `count` writes fail in that way: `lose_answer`, `lose_request` or `busy`.
    fn writes(&self, py: Python<'_>, fault: &str, count: usize) -> PyResult<()> {
        let fault = match fault {
            "lose_answer" => ffi::WriteFault::LoseAnswer,
            "lose_request" => ffi::WriteFault::LoseRequest,
            "busy" => ffi::WriteFault::Busy,
            _ => return Err(PyValueError::new_err(format!("{fault:?} is not a fault of writes"))),
        };
        self.faults.writes(fault, count).or_raise(py)
    }

    /// Delays every answer by that many seconds; zero ends it.
    fn delay_answers(&self, py: Python<'_>, seconds: f64) -> PyResult<()> {
        self.faults.delay_answers(limit(Some(seconds))?.unwrap_or_default()).or_raise(py)
    }

    /// Refuses writes for that reason until None is given.
    #[pyo3(signature = (reason))]
    fn deny_writes(&self, py: Python<'_>, reason: Option<&str>) -> PyResult<()> {
        self.faults.deny_writes(reason).or_raise(py)
    }

    /// Cuts the connection, or restores it.
    fn partition(&self, py: Python<'_>, is_cut: bool) -> PyResult<()> {
        self.faults.partition(is_cut).or_raise(py)
    }

    /// Silences every present watch.
    fn kill_watches(&self, py: Python<'_>) -> PyResult<()> {
        self.faults.kill_watches().or_raise(py)
    }
}
