//! The properties: invariants that a step can break, each with its statement, and liveness.

mod foreign_above_ours;
mod invariants;
pub(crate) mod liveness;

use std::sync::Arc;

use incumbent_core::campaign::{Input, Reason, Term};
use incumbent_core::store::Write;

use crate::node::name;
use crate::state::State;
use crate::world::World;

/// A property of every state that can be reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Property {
    /// At most one leads at any instant.
    I1,
    /// The leader reported its win, and is in time.
    I2,
    /// The deadline counts from the send.
    I3,
    /// Tokens grow.
    I4,
    /// Won and Lost alternate.
    I5,
    /// Deletes are compared.
    I7,
    /// A released candidate no longer leads.
    I8,
    /// A foreign record ends the term; an input without proof does nothing.
    I9,
    /// Only an acknowledgement wins.
    I11,
    /// Another incarnation of the store ends the term.
    I12,
    /// Without further faults a candidate leads.
    I15,
    /// Few faults cost no term.
    Keeps,
    /// The checker keeps the contract of the core.
    Contract,
}

impl Property {
    /// All properties.
    pub const ALL: [Self; 13] = [
        Self::I1,
        Self::I2,
        Self::I3,
        Self::I4,
        Self::I5,
        Self::I7,
        Self::I8,
        Self::I9,
        Self::I11,
        Self::I12,
        Self::I15,
        Self::Keeps,
        Self::Contract,
    ];

    /// The short name, as in the design: `I1`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::I1 => "I1",
            Self::I2 => "I2",
            Self::I3 => "I3",
            Self::I4 => "I4",
            Self::I5 => "I5",
            Self::I7 => "I7",
            Self::I8 => "I8",
            Self::I9 => "I9",
            Self::I11 => "I11",
            Self::I12 => "I12",
            Self::I15 => "I15",
            Self::Keeps => "keeps",
            Self::Contract => "contract",
        }
    }

    /// The statement.
    pub const fn states(self) -> &'static str {
        match self {
            Self::I1 => states::I1,
            Self::I2 => states::I2,
            Self::I3 => states::I3,
            Self::I4 => states::I4,
            Self::I5 => states::I5,
            Self::I7 => states::I7,
            Self::I8 => states::I8,
            Self::I9 => foreign_above_ours::STATES,
            Self::I11 => states::I11,
            Self::I12 => states::I12,
            Self::I15 => liveness::STATES,
            Self::Keeps => states::KEEPS,
            Self::Contract => "A campaign accepts its inputs.",
        }
    }
}

/// A property that does not hold, and the observed breach.
#[derive(Clone, Debug)]
pub(crate) struct Broken {
    pub(crate) property: Property,
    pub(crate) says: String,
}

pub(crate) use foreign_above_ours::Proof;
use invariants::states;
pub(crate) use liveness::vacancy;

impl State {
    /// Notes the first property that does not hold.
    pub(crate) fn check(&mut self, property: Property, verdict: Result<(), String>) {
        if let (Err(says), None) = (verdict, &self.broken) {
            self.broken = Some(Arc::new(Broken { property, says }));
        }
    }

    /// Checks a reported win.
    pub(crate) fn check_won(&mut self, world: &World, place: usize, term: Term) {
        self.check(Property::I5, invariants::won_alternates(&self.nodes[place], term).map_err(by(place)));
        self.check(Property::I4, invariants::tokens_grow(self.largest_reported, term).map_err(by(place)));
        self.check(
            Property::I11,
            invariants::only_an_acknowledgement_wins(&self.nodes[place], term).map_err(by(place)),
        );
        self.check(
            Property::I12,
            invariants::incarnation_is_old_enough(world, self, term).map_err(by(place)),
        );
    }

    /// Checks a reported loss.
    pub(crate) fn check_lost(&mut self, world: &World, place: usize, term: Term, reason: Reason) {
        let verdict = invariants::lost_alternates(&self.nodes[place], term, reason);
        self.check(Property::I5, verdict.map_err(by(place)));
        self.check(Property::Keeps, invariants::keeps_its_term(world, term, reason).map_err(by(place)));
    }

    /// Checks a write that a candidate sends.
    pub(crate) fn check_write(&mut self, place: usize, write: &Write) {
        let verdict = invariants::deletes_are_compared(&self.nodes[place], write);
        self.check(Property::I7, verdict.map_err(by(place)));
        let verdict = invariants::released_is_over(&self.nodes[place], write);
        self.check(Property::I8, verdict.map_err(by(place)));
    }

    /// Checks a candidate after an input and all of its outputs.
    pub(crate) fn check_node(&mut self, world: &World, place: usize, proof: &Proof) {
        let node = &self.nodes[place];
        let now = world.clock(place).at(self.now);
        let verdicts = [
            (Property::I2, invariants::reported_and_in_time(node, now)),
            (Property::I3, invariants::deadline_from_the_send(world, place, node)),
            (Property::I5, invariants::term_has_its_state(node)),
            (Property::I9, foreign_above_ours::stands(node, proof)),
            (Property::I12, invariants::another_incarnation_ends_the_term(node, proof)),
        ];
        for (property, verdict) in verdicts {
            self.check(property, verdict.map_err(by(place)));
        }
    }

    /// Checks the state after a step.
    pub(crate) fn check_step(&mut self, world: &World) {
        let verdict = invariants::one_leader(world, self);
        self.check(Property::I1, verdict);
    }
}

/// Names the candidate.
fn by(place: usize) -> impl Fn(String) -> String {
    move |says| format!("{} {says}", name(place))
}

pub(crate) fn proof_of(node: &crate::node::Node, input: &Input, now: incumbent_core::Instant) -> Proof {
    foreign_above_ours::proof_of(node, input, now)
}
