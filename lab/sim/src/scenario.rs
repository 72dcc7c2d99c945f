//! A run written by hand, in which the candidates, their clocks and the faults are stated instead of drawn.
//!
//! A seed shows an interleaving only until the drawing changes, but a scenario keeps showing it. Events within
//! milliseconds are still drawn, always in the same way.

use std::time::Duration;

use crate::etcd::Etcd;
use crate::kind::{Kind, Store};
use crate::nats::Nats;
use crate::plan::Plan;
use crate::{Outcome, TracedRun, world};

/// A run that is written by hand. Its store is new, and is a one-server bucket that keeps a lease for each record, or
/// an etcd of three members.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Scenario {
    /// The store: NATS or etcd.
    pub store: Store,
    /// The candidates, which are called `c0`, `c1` and so on.
    pub candidates: Vec<Candidate>,
    /// The bucket's maximum age.
    pub max_age: Duration,
    /// The faults, ordered by time.
    pub faults: Vec<PlannedFault>,
    /// The length of the phase with faults. After it everything must recover.
    pub lasts: Duration,
}

/// A candidate of a scenario. It has the default settings, and begins to campaign without a random wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Candidate {
    /// Its lease.
    pub lease: Duration,
    /// When the candidate's process begins, counted from the beginning of the run.
    pub begins: Duration,
    /// By how many parts per million the candidate's clock runs fast.
    pub rate: i64,
}

/// A fault of a scenario.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PlannedFault {
    /// The kind of the fault.
    pub kind: Kind,
    /// The affected candidate, if the fault affects one.
    pub candidate: Option<usize>,
    /// When the fault begins, counted from the beginning of the run.
    pub from: Duration,
    /// Its duration.
    pub lasts: Duration,
}

impl Scenario {
    /// Makes the run.
    pub fn run(&self) -> Outcome {
        self.run_traced().outcome
    }

    /// Makes the run and records its events.
    pub fn run_traced(&self) -> TracedRun {
        let plan = Plan::of(self);
        match self.store {
            Store::Etcd => world::run_traced::<Etcd>(plan, true, false),
            _ => world::run_traced::<Nats>(plan, true, false),
        }
    }
}
