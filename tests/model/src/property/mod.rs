//! The properties, one a file, each with its statement.

mod deadline_from_the_send;
mod deletes_are_compared;
mod foreign_above_ours;
mod keeps_its_term;
mod new_life;
mod one_leader;
mod only_an_acknowledgement_wins;
mod released_is_over;
mod somebody_leads;
mod tokens_grow;
mod told_and_in_time;
mod won_and_lost_alternate;

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
            Self::I1 => one_leader::STATES,
            Self::I2 => told_and_in_time::STATES,
            Self::I3 => deadline_from_the_send::STATES,
            Self::I4 => tokens_grow::STATES,
            Self::I5 => won_and_lost_alternate::STATES,
            Self::I7 => deletes_are_compared::STATES,
            Self::I8 => released_is_over::STATES,
            Self::I9 => foreign_above_ours::STATES,
            Self::I11 => only_an_acknowledgement_wins::STATES,
            Self::I12 => new_life::STATES,
            Self::I15 => somebody_leads::STATES,
            Self::Keeps => keeps_its_term::STATES,
            Self::Contract => "What a campaign is handed, it takes.",
        }
    }
}

/// A property that does not hold, and the observed breach.
#[derive(Clone, Debug)]
pub(crate) struct Broken {
    pub(crate) property: Property,
    pub(crate) says: String,
}

pub(crate) use foreign_above_ours::Weight;
pub(crate) use somebody_leads::vacancy;

impl State {
    /// Notes the first property that does not hold.
    pub(crate) fn judge(&mut self, property: Property, verdict: Result<(), String>) {
        if let (Err(says), None) = (verdict, &self.broken) {
            self.broken = Some(Arc::new(Broken { property, says }));
        }
    }

    /// Judges a reported win.
    pub(crate) fn judge_won(&mut self, world: &World, place: usize, term: Term) {
        self.judge(Property::I5, won_and_lost_alternate::won(&self.nodes[place], term).map_err(by(place)));
        self.judge(Property::I4, tokens_grow::won(self.told, term).map_err(by(place)));
        self.judge(
            Property::I11,
            only_an_acknowledgement_wins::won(&self.nodes[place], term).map_err(by(place)),
        );
        self.judge(Property::I12, new_life::won(world, self, term).map_err(by(place)));
    }

    /// Judges a reported loss.
    pub(crate) fn judge_lost(&mut self, world: &World, place: usize, term: Term, reason: Reason) {
        let verdict = won_and_lost_alternate::lost(&self.nodes[place], term, reason);
        self.judge(Property::I5, verdict.map_err(by(place)));
        self.judge(Property::Keeps, keeps_its_term::lost(world, term, reason).map_err(by(place)));
    }

    /// Judges a write that a candidate sends.
    pub(crate) fn judge_write(&mut self, place: usize, write: &Write) {
        let verdict = deletes_are_compared::sent(&self.nodes[place], write);
        self.judge(Property::I7, verdict.map_err(by(place)));
        let verdict = released_is_over::sent(&self.nodes[place], write);
        self.judge(Property::I8, verdict.map_err(by(place)));
    }

    /// Judges a candidate after an input and all of its outputs.
    pub(crate) fn judge_stand(&mut self, world: &World, place: usize, weight: &Weight) {
        let node = &self.nodes[place];
        let now = world.clock(place).at(self.now);
        let verdicts = [
            (Property::I2, told_and_in_time::stands(node, now)),
            (Property::I3, deadline_from_the_send::stands(world, place, node)),
            (Property::I5, won_and_lost_alternate::stands(node)),
            (Property::I9, foreign_above_ours::stands(node, weight)),
            (Property::I12, new_life::stands(node, weight)),
        ];
        for (property, verdict) in verdicts {
            self.judge(property, verdict.map_err(by(place)));
        }
    }

    /// Judges the state after a step.
    pub(crate) fn judge_step(&mut self, world: &World) {
        let verdict = one_leader::stands(world, self);
        self.judge(Property::I1, verdict);
    }
}

/// Names the candidate.
fn by(place: usize) -> impl Fn(String) -> String {
    move |says| format!("{} {says}", name(place))
}

pub(crate) fn weigh(node: &crate::node::Node, input: &Input, now: incumbent_core::Instant) -> Weight {
    foreign_above_ours::weigh(node, input, now)
}
