//! A run described in words: its world, its faults, and the command that repeats it.

use std::fmt;
use std::time::Duration;

use crate::kind::{Kind, Store};
use crate::plan::{Choice, Plan};

/// The description of the run that a choice decides.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Script {
    /// The run.
    pub choice: Choice,
    /// Its world, in a line.
    pub world: String,
    /// The faults of the run, ordered by time.
    pub faults: Vec<ScriptedFault>,
    /// The command that repeats it.
    pub command: String,
}

/// A fault of a script.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ScriptedFault {
    /// The fault's index in the seed's whole script.
    pub place: usize,
    /// The kind of the fault.
    pub kind: Kind,
    /// When the fault begins, counted from the beginning of the run.
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
            command: choice.command(),
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
            writeln!(f, "  {fault}")?;
        }
        writeln!(f, "again: {}", self.command)
    }
}

impl fmt::Display for ScriptedFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { place, kind, from, lasts } = self;
        write!(f, "{place:>3}  {:>9.3} s  {:<14} for {lasts:?}", from.as_secs_f64(), kind.name())
    }
}
