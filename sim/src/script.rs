//! A run in words: its world, its faults, and the command that shows it again; and the shortest script of a failure.

use std::fmt;
use std::time::Duration;

use crate::kind::{Kind, Store};
use crate::oracle::Violation;
use crate::plan::{Choice, Plan};
use crate::run;

/// The run that a choice decides.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Script {
    /// The run.
    pub choice: Choice,
    /// Its world, in a line.
    pub world: String,
    /// The faults of the run, in the order of time.
    pub faults: Vec<ScriptedFault>,
    /// The command that shows it again.
    pub command: String,
}

/// A fault of a script.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ScriptedFault {
    /// Its index in the seed's whole script.
    pub place: usize,
    /// The kind of the fault.
    pub kind: Kind,
    /// Its beginning, from the run's beginning.
    pub from: Duration,
    /// Its duration.
    pub lasts: Duration,
}

impl Script {
    /// The script of a run.
    pub fn of(choice: &Choice) -> Self {
        let plan = Plan::new(choice);
        let faults = plan.script.iter().map(|fault| ScriptedFault {
            place: fault.place,
            kind: fault.kind,
            from: fault.from,
            lasts: fault.lasts,
        });
        Self {
            choice: choice.clone(),
            world: world(&plan),
            faults: faults.collect(),
            command: plan.command(),
        }
    }
}

fn world(plan: &Plan) -> String {
    let mut parts = vec![
        format!("{} candidates", plan.choice.candidates),
        format!("lease {:?}", plan.lease),
        match plan.choice.store {
            Store::Nats => format!("maximum age {:?}", plan.max_age),
            Store::Etcd => "etcd".into(),
            Store::Kafka => format!("kafka, {}", plan.group.describe()),
        },
        format!("{} server{}", plan.replicas, if plan.replicas == 1 { "" } else { "s" }),
    ];
    let bucket = plan.choice.store == Store::Nats;
    let further = [
        (plan.own_lease, "own leases"),
        (!plan.keeps_leases, "live leases may be revoked"),
        (plan.markers, "markers"),
        (bucket && plan.acked, "incarnations acknowledged"),
        (plan.shows_all, "watches that say when they have shown all"),
        (plan.never_used, "name never used"),
        (plan.choice.peers > 0, "with candidates of the Go library"),
        (!plan.choice.plain, "settings that differ"),
    ];
    parts.extend(further.iter().filter(|(set, _)| *set).map(|(_, what)| (*what).to_string()));
    parts.join(", ")
}

impl fmt::Display for Script {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "seed {}: {}", self.choice.seed, self.world)?;
        for fault in &self.faults {
            let ScriptedFault { place, kind, from, lasts } = fault;
            writeln!(f, "  {place:>3}  {:>9.3} s  {:<14} for {lasts:?}", from.as_secs_f64(), kind.name())?;
        }
        writeln!(f, "again: {}", self.command)
    }
}

/// Shortens the script of a failing run, so that a person can read what happened.
///
/// Returns the same run with as few faults as still break the same invariant, and its violation.
pub fn shrink(choice: &Choice, violation: &Violation) -> (Choice, Violation) {
    let mut kept: Vec<usize> = Plan::new(choice).script.iter().map(|fault| fault.place).collect();
    let mut best = violation.clone();
    let mut chunk = kept.len().div_ceil(2);
    while chunk > 0 {
        let mut at = 0;
        let mut shorter = false;
        while at < kept.len() {
            let mut fewer = kept.clone();
            fewer.drain(at..(at + chunk).min(kept.len()));
            match violates(choice, &fewer, violation.invariant) {
                Some(found) => {
                    (kept, best) = (fewer, found);
                    shorter = true;
                }
                None => at += chunk,
            }
        }
        chunk = match (chunk, shorter) {
            (1, true) => 1,
            (1, false) => 0,
            (chunk, _) => chunk.div_ceil(2),
        };
    }
    (Choice { keep: Some(kept), ..choice.clone() }, best)
}

fn violates(choice: &Choice, keep: &[usize], invariant: &str) -> Option<Violation> {
    let choice = Choice { keep: Some(keep.to_vec()), ..choice.clone() };
    run(&choice).violation.filter(|found| found.invariant == invariant)
}
