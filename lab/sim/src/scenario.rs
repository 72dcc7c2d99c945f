//! A run written by hand: its candidates, their clocks and its faults, none of them drawn.
//!
//! A seed shows an interleaving only until the drawing changes; a scenario keeps showing it. Events within milliseconds
//! are still drawn, always in the same way.

use std::time::Duration;

use crate::etcd::Etcd;
use crate::kind::{Kind, Store};
use crate::nats::Nats;
use crate::plan::Plan;
use crate::{Outcome, TracedRun, world};

/// A run that is written down. Its store is new: a one-server bucket that keeps a lease for each record, or an etcd of
/// three members.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Scenario {
    /// The store: NATS or etcd.
    pub store: Store,
    /// The candidates: `c0`, `c1` and so on.
    pub candidates: Vec<Candidate>,
    /// The bucket's maximum age.
    pub max_age: Duration,
    /// The faults, in the order of time.
    pub faults: Vec<PlannedFault>,
    /// The length of the phase with faults; after it everything must recover.
    pub lasts: Duration,
}

/// A candidate of a scenario. It has the default settings, and campaigns without a random wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Candidate {
    /// Its lease.
    pub lease: Duration,
    /// When its process begins, counted from the run's beginning.
    pub begins: Duration,
    /// Parts per million by which its clock runs fast.
    pub rate: i64,
}

/// A fault of a scenario.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PlannedFault {
    /// The kind of the fault.
    pub kind: Kind,
    /// The affected candidate, if it affects one.
    pub candidate: Option<usize>,
    /// When it begins, counted from the run's beginning.
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
