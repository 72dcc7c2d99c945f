//! The properties, and the checks of those that are the same for every rule.

use incumbent_core::campaign::{Reason, State as Stage, Term};
use incumbent_core::{Instant, Token};

use crate::node::{Node, name};
use crate::state::State;
use crate::store::Store;
use crate::world::World;

/// A property of every reachable state.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Property {
    /// At most one candidate leads at any instant.
    I1,
    /// A candidate that leads has reported its win, and its deadline has not passed.
    I2,
    /// The deadline counts from the send of a write.
    I3,
    /// Tokens grow.
    I4,
    /// Won and Lost alternate.
    I5,
    /// Deletes are compared.
    I7,
    /// A candidate that has released no longer leads.
    I8,
    /// A foreign record ends the term, and an input that proves nothing does not.
    I9,
    /// Only an acknowledgement wins.
    I11,
    /// Another incarnation of the store ends the term.
    I12,
    /// Without further faults a candidate leads.
    I15,
    /// A candidate that cannot prove its claim gives way.
    I17,
    /// Few faults cost no term.
    Keeps,
    /// The checker keeps the contract of the core.
    Contract,
}

impl Property {
    /// All properties.
    pub const ALL: [Self; 14] = [
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
        Self::I17,
        Self::Keeps,
        Self::Contract,
    ];

    /// The property's short name, as in the design: `I1`.
    pub const fn name(self) -> &'static str {
        self.words().0
    }

    /// The statement.
    pub const fn states(self) -> &'static str {
        self.words().1
    }

    const fn words(self) -> (&'static str, &'static str) {
        match self {
            Self::I1 => ("I1", "At most one candidate's is_leader is true at any instant."),
            Self::I2 => (
                "I2",
                "A leader's win was reported, the end of its term was not, and its deadline has not passed.",
            ),
            Self::I3 => (
                "I3",
                "No deadline is later than a lease, less the margin, after the send of a write that was really applied, \
                 nor after the question that last showed the store's incarnation; and no term leads after its deadline.",
            ),
            Self::I4 => ("I4", "Every term's token is larger than the token of every term reported before."),
            Self::I5 => ("I5", "Won and Lost alternate, and each Won gets its own Lost, also on close."),
            Self::I7 => ("I7", "Every delete states a revision that the candidate itself wrote."),
            Self::I8 => (
                "I8",
                "A candidate that sends its release has reported Lost, no longer leads, and its work has ended; the \
                 release is of that term.",
            ),
            Self::I9 => (
                "I9",
                "A foreign record above ours ends the term at once; Busy, NotSent, Unknown and stale answers do no more \
                 than the time at which they come.",
            ),
            Self::I11 => (
                "I11",
                "A candidate wins only by the acknowledgement of an acquire, never by a read or the watch alone.",
            ),
            Self::I12 => (
                "I12",
                "Another incarnation of the store ends the term, and no candidate wins in one that is younger than a \
                 lease, or that it takes for another.",
            ),
            Self::I15 => (
                "I15",
                "From every state, if nothing more goes wrong, a candidate leads within the worst fail-over.",
            ),
            Self::I17 => ("I17", "A candidate that can prove nothing gives way to another."),
            Self::Keeps => ("keeps", "If little goes wrong, no candidate loses a term because of it."),
            Self::Contract => ("contract", "A campaign accepts its inputs."),
        }
    }
}

/// A broken property, and the observation that shows it.
#[derive(Clone, Debug)]
pub(crate) struct Broken {
    pub(crate) property: Property,
    pub(crate) says: String,
}

/// Checks I1. Between two inputs leadership can end but not begin, so a check after each input covers every instant.
pub(crate) fn one_leader<S: Store>(world: &World<S>, state: &State<S>) -> Result<(), String> {
    let mut leaders = state.leaders(world);
    match (leaders.next(), leaders.next()) {
        (Some(one), Some(other)) => Err(format!("{} and {} lead at once", name(one), name(other))),
        _ => Ok(()),
    }
}

/// I2.
pub(crate) fn reported_and_in_time<S: Store>(node: &Node<S>, now: Instant) -> Result<(), String> {
    let Some(campaign) = &node.campaign else { return Ok(()) };
    let Some(lease) = campaign.lease() else { return Ok(()) };
    match node.term {
        None => Err(format!("has a lease ({lease:?}) but reported no term")),
        Some(term) if term.token != lease.token => {
            Err(format!("reported {} but has a lease of {}", term.token, lease.token))
        }
        Some(_) if campaign.is_leader(now) != (now < lease.deadline) => {
            Err(format!("is_leader disagrees with its deadline ({:?}) at {now:?}", lease.deadline))
        }
        Some(_) => Ok(()),
    }
}

/// I4.
pub(crate) fn tokens_grow(reported: Option<Token>, term: Term) -> Result<(), String> {
    match reported {
        Some(reported) if term.token <= reported => Err(format!("won {} after {reported}", term.token)),
        _ => Ok(()),
    }
}

/// I5, for a win.
pub(crate) fn won_alternates<S: Store>(node: &Node<S>, term: Term) -> Result<(), String> {
    match node.term {
        None => Ok(()),
        Some(before) => Err(format!("won {} but never reported the end of {}", term.token, before.token)),
    }
}

/// I5, for a loss.
pub(crate) fn lost_alternates<S: Store>(node: &Node<S>, term: Term, reason: Reason) -> Result<(), String> {
    match node.term {
        Some(reported) if reported == term => Ok(()),
        reported => Err(format!("lost {} ({reason}), and had reported {reported:?}", term.token)),
    }
}

/// I5, after an input.
pub(crate) fn term_has_its_stage<S: Store>(node: &Node<S>) -> Result<(), String> {
    let Some((campaign, term)) = node.campaign.as_ref().zip(node.term) else { return Ok(()) };
    let stage = campaign.state();
    match stage {
        Stage::Leading | Stage::Draining => Ok(()),
        _ => Err(format!("is {} but never reported the end of {}", stage.code(), term.token)),
    }
}
