//! The candidates under test, behind a trait. All kinds of candidates share one runner, so every verb has the same
//! meaning for all.

use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use incumbent::incumbent_core::campaign::{Event, Leader, Lease, Settings, State};
use incumbent::store::Adapter;
use incumbent::{Clock, Instant};

use crate::scenario::{Scenario, Step};

/// A pending result.
pub type Pending<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;
/// The result of a call that has begun.
pub type Call = Pending<'static, Result<(), Refused>>;

/// A kind of candidates in this process.
pub trait Implementation: Send + Sync {
    /// Opens the store of this URL; its records live for `lease`.
    fn open<'a>(&'a self, url: &'a str, lease: Duration) -> Pending<'a, Result<Arc<dyn OpenStore>, String>>;

    /// Returns a store that uses `adapter` and takes its time from `clock`.
    ///
    /// # Errors
    /// The reason why these candidates cannot use such a store.
    fn wrap(&self, adapter: Box<dyn Adapter>, clock: Clock) -> Result<Arc<dyn OpenStore>, String>;

    /// Returns the reason why these candidates cannot carry out a step on any store, or `None` if they can.
    fn cannot(&self, step: &Step) -> Option<&'static str> {
        let _ = step;
        None
    }
}

/// An open store, on which candidates campaign.
pub trait OpenStore: Send + Sync {
    /// Begins a campaign. If `works` is true, the candidate has work in each of its terms until
    /// [`drained`](CandidateHandle::drained) is called.
    fn campaign<'a>(
        &'a self,
        election: &'a str,
        settings: Settings,
        works: bool,
    ) -> Pending<'a, Result<Arc<dyn CandidateHandle>, Refused>>;

    /// Closes the store, and all candidates on it.
    fn close(&self) -> Call;
}

/// A candidate. Dropping it ends it without a release.
pub trait CandidateHandle: Send + Sync {
    /// Returns the next event, or `None` if the candidate's campaign is over.
    fn next(&self) -> Pending<'_, Option<Reported>>;

    /// Returns true if the candidate leads, by its own answer.
    fn is_leader(&self) -> bool;

    /// Returns the lease of the candidate's term, or `None` if it has no term or its `Lost` event has been reported.
    fn lease(&self) -> Option<Lease>;

    /// The state of its campaign.
    fn state(&self) -> State;

    /// The leader that it sees.
    fn leader(&self) -> Option<Leader>;

    /// Resigns.
    fn resign(&self) -> Call;

    /// Hands leadership over to the candidate of this name.
    fn hand_over(&self, to: &str) -> Call;

    /// Resigns and leaves the election.
    fn close(&self) -> Call;

    /// Sets whether it is well.
    fn set_healthy(&self, is_well: bool);

    /// Reports to the candidate that the work of its term is done.
    fn drained(&self);

    /// Reports to the candidate that the work of its term failed.
    fn fail(&self);
}

/// An event of a candidate.
pub struct Reported {
    /// The event.
    pub event: Event,
    /// True if the term of a `Lost` event is still current when the event is reported, which is an error.
    pub is_current: bool,
}

/// A call that failed.
#[derive(Clone, Debug)]
pub struct Refused {
    /// The library's error code.
    pub code: &'static str,
    /// The reason, for a person.
    pub message: String,
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.code, self.message)
    }
}

/// Returns the deadline of the candidate's lease, or an instant long ago if it has none.
pub(super) fn deadline(handle: &dyn CandidateHandle) -> Instant {
    handle.lease().map_or(Instant::ZERO, |lease| lease.deadline)
}

impl Scenario {
    /// Returns the reason why candidates of this kind cannot play the scenario, or `None` if they can.
    pub fn cannot(&self, implementation: &dyn Implementation) -> Option<&'static str> {
        self.steps.iter().find_map(|step| implementation.cannot(step))
    }
}
