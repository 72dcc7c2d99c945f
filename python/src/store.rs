//! A store that is open for elections.

use std::sync::atomic::{AtomicBool, Ordering};

use incumbent_ffi::settings::{self, Campaign};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::candidate::Candidate;
use crate::feed::{Feed, Item};
use crate::mailbox::LoopProbe;
use crate::operation::Operation;
use crate::value::{self, DIALECT, Name, OrRaise, candidate, leader};

/// A store that is open for elections. Python derives a class from it, which warns if no close was requested.
#[pyclass(frozen, subclass, module = "incumbent._incumbent")]
pub struct Store {
    store: incumbent_ffi::Store,
    is_closing: AtomicBool,
}

impl From<incumbent_ffi::Store> for Store {
    fn from(store: incumbent_ffi::Store) -> Self {
        Self { store, is_closing: AtomicBool::new(false) }
    }
}

/// Opens the store at `url`.
#[pyfunction]
pub fn open_store(py: Python<'_>, url: &str, settings: &Bound<'_, PyDict>) -> PyResult<Operation> {
    let opening = settings::opening(url, value::settings(settings)?, DIALECT).or_raise(py)?;
    let operation = incumbent_ffi::Store::open(opening);
    Ok(Operation::new(operation, |py, store| Ok(Py::new(py, Store::from(store))?.into_any())))
}

/// `(created, updated, never_used, lease, topic, differences)`; a difference is `(setting, is, should)`.
type InitTuple = (bool, bool, bool, Option<f64>, Option<String>, Vec<(&'static str, String, String)>);

/// Prepares the store at `url`.
#[pyfunction]
pub fn init_store(py: Python<'_>, url: &str, settings: &Bound<'_, PyDict>) -> PyResult<Operation> {
    let init = settings::init(url, value::settings(settings)?, DIALECT).or_raise(py)?;
    init.check().or_raise(py)?;
    Ok(Operation::new(incumbent_ffi::init(init), |py, report| {
        let differences = report.differences.into_iter().map(|one| (one.setting, one.is, one.should));
        let plain: InitTuple = (
            report.created,
            report.updated,
            report.never_used,
            report.lease.map(|lease| lease.as_secs_f64()),
            report.topic,
            differences.collect(),
        );
        Ok(plain.into_pyobject(py)?.into_any().unbind())
    }))
}

/// Checks the settings of a store, as far as possible without opening it.
#[pyfunction]
pub fn check_opening(py: Python<'_>, url: &str, settings: &Bound<'_, PyDict>) -> PyResult<()> {
    settings::opening(url, value::settings(settings)?, DIALECT)
        .and_then(|opening| opening.check())
        .or_raise(py)
}

/// Checks the settings of a candidate, as far as possible without a store.
#[pyfunction]
#[pyo3(signature = (settings, health_interval, watch_loop))]
pub fn check_campaign(
    py: Python<'_>,
    settings: &Bound<'_, PyDict>,
    health_interval: Option<&Bound<'_, PyAny>>,
    watch_loop: &Bound<'_, PyAny>,
) -> PyResult<()> {
    settings::loop_watch(value::value(watch_loop)?, DIALECT).or_raise(py)?;
    campaign_of(py, settings, health_interval).map(drop)
}

fn campaign_of(
    py: Python<'_>,
    settings: &Bound<'_, PyDict>,
    health_interval: Option<&Bound<'_, PyAny>>,
) -> PyResult<Campaign> {
    let campaign = settings::campaign(value::settings(settings)?, DIALECT).or_raise(py)?;
    match health_interval {
        Some(interval) => campaign.ask_health(value::value(interval)?, DIALECT).or_raise(py),
        None => Ok(campaign),
    }
}

#[pymethods]
impl Store {
    /// Takes over the connection of another object.
    #[new]
    fn new(other: &Self) -> Self {
        other.store.clone().into()
    }

    /// Returns true while no close was requested; false in a forked child.
    #[getter]
    fn is_left_open(&self) -> bool {
        !self.is_closing.load(Ordering::Relaxed) && self.store.check().is_ok()
    }

    /// Campaigns in the election of that key. `health_interval` enables the health questions. `watched` is the probe of
    /// an event loop to watch, and the time that the loop may hang.
    #[pyo3(signature = (election, settings, health_interval, watched=None))]
    fn campaign(
        &self,
        py: Python<'_>,
        election: Name,
        settings: &Bound<'_, PyDict>,
        health_interval: Option<&Bound<'_, PyAny>>,
        watched: Option<(Bound<'_, LoopProbe>, Bound<'_, PyAny>)>,
    ) -> PyResult<Operation> {
        let mut campaign = campaign_of(py, settings, health_interval)?;
        if let Some((probe, limit)) = watched {
            let watch = settings::loop_watch(value::value(&limit)?, DIALECT).or_raise(py)?;
            campaign = campaign.watch(&probe.get().probe, watch);
        }
        let operation = self.store.campaign(election.0, campaign);
        Ok(Operation::new(operation, |py, candidate| Ok(Py::new(py, Candidate::from(candidate))?.into_any())))
    }

    /// Watches the election of that key without taking part.
    fn observe(&self, election: Name) -> Operation {
        let operation = self.store.observe(election.0, |seen, age| {
            Item::Observation((seen.election.to_string(), seen.leader.map(leader), age.as_secs_f64()))
        });
        Operation::new(operation, |py, feed| Ok(Py::new(py, Feed::from(feed))?.into_any()))
    }

    /// Answers with the leader of that election now.
    fn leader(&self, election: Name) -> Operation {
        let operation = self.store.leader(election.0);
        Operation::new(operation, |py, holder| Ok(holder.map(leader).into_pyobject(py)?.unbind()))
    }

    /// Answers with all elections of the store, and the leader of each.
    fn list(&self) -> Operation {
        Operation::new(self.store.list(), |py, listed| {
            let plain: Vec<_> =
                listed.into_iter().map(|one| (one.election, one.leader.map(leader))).collect();
            Ok(plain.into_pyobject(py)?.unbind())
        })
    }

    /// Answers with the candidates of that election; None if the store cannot find out.
    fn candidates(&self, election: Name) -> Operation {
        Operation::new(self.store.candidates(election.0), |py, candidates| {
            let plain = candidates.map(|all| all.into_iter().map(candidate).collect::<Vec<_>>());
            Ok(plain.into_pyobject(py)?.unbind())
        })
    }

    /// Closes every candidate, and then the store.
    fn close(&self, inside: bool) -> Operation {
        self.is_closing.store(true, Ordering::Relaxed);
        Operation::of_nothing(self.store.close(inside))
    }

    /// Fails in a forked child.
    fn check(&self, py: Python<'_>) -> PyResult<()> {
        self.store.check().or_raise(py)
    }
}
