//! The compiled part of the Python package `incumbent`: handles only. The Python code on top of it provides the idioms
//! of the language.
//!
//! A call returns at once, or waits with the interpreter's lock released, or later calls a callable on another thread.
//! No application code runs where a lease is renewed.

#![deny(unsafe_code)]
// Public items are public for Python; the stubs describe them.
#![allow(unreachable_pub, missing_docs)]

mod candidate;
mod feed;
mod log;
mod mailbox;
mod operation;
mod store;
mod term;
mod testing;
mod value;
mod wait;

use incumbent_ffi::{Code, Reason, State};
use pyo3::prelude::*;

/// Sound without the interpreter's lock: every class is frozen, and its mutable parts have locks of their own.
#[pymodule(gil_used = false)]
mod _incumbent {
    use super::*;

    #[pymodule_export]
    use super::candidate::Candidate;
    #[pymodule_export]
    use super::candidate::Question;
    #[pymodule_export]
    use super::feed::Feed;
    #[pymodule_export]
    use super::log::{keep_logs, report, set_log_threshold, take_logs};
    #[pymodule_export]
    use super::mailbox::LoopProbe;
    #[pymodule_export]
    use super::mailbox::Mailbox;
    #[pymodule_export]
    use super::operation::Operation;
    #[pymodule_export]
    use super::store::{Store, check_campaign, check_opening, init_store, open_store};
    #[pymodule_export]
    use super::term::{Hold, Term};
    #[pymodule_export]
    use super::testing::{Faults, ManualClock, Script, open_faulty};

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        module.add("__version__", env!("CARGO_PKG_VERSION"))?;
        let codes: Vec<_> = Code::all().map(|code| (code.text(), code.is_temporary())).collect();
        module.add("CODES", codes)?;
        let reasons = Reason::ALL.map(|reason| (reason.code(), reason.may_drain(), reason.to_string()));
        module.add("REASONS", reasons.to_vec())?;
        module.add("STATES", State::ALL.map(State::code).to_vec())?;
        module.add("STORES", pyo3::types::PyTuple::new(module.py(), incumbent_ffi::BUILT_IN)?)?;
        module.add("CAMPAIGN_SETTINGS", incumbent_ffi::settings::CAMPAIGN.to_vec())
    }

    /// Returns true if this process has opened a store.
    #[pyfunction]
    fn is_running() -> bool {
        incumbent_ffi::engine::is_running()
    }

    /// Releases every key that this process holds, within `limit` seconds, and stops calling callbacks.
    #[pyfunction]
    fn shut_down(py: Python<'_>, limit: f64) -> PyResult<()> {
        let limit = wait::limit(Some(limit))?.unwrap_or_default();
        py.detach(|| incumbent_ffi::shut_down(limit));
        Ok(())
    }
}
