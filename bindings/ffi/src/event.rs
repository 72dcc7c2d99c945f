//! Events of a candidate, as plain values.

use std::task::{Context, Poll};

use futures_util::StreamExt;
use incumbent::{Reason, State};

use crate::feed::Source;
use crate::{Hold, Term};

/// An event of a candidate.
#[derive(Clone, Debug)]
pub enum Event {
    /// This candidate leads, from now until `Lost`.
    Won(Term),
    /// This leader leaves of its own accord; [`Term::drain_remaining`] says how long it may take.
    Draining(Term, Reason),
    /// This candidate leads no more. Emitted exactly once for every `Won`.
    Lost(Term, Reason),
    /// Another candidate than before holds the key, or none does.
    LeaderChanged(Option<Leader>),
    /// The campaign entered another state.
    StateChanged(State),
    /// A problem that a person should look at.
    Warning(Warning),
}

/// The name of an event's kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum EventKind {
    /// [`Event::Won`]
    Won,
    /// [`Event::Draining`]
    Draining,
    /// [`Event::Lost`]
    Lost,
    /// [`Event::LeaderChanged`]
    LeaderChanged,
    /// [`Event::StateChanged`]
    StateChanged,
    /// [`Event::Warning`]
    Warning,
}

/// The leader of an election.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Leader {
    /// The name of the candidate.
    pub name: String,
    /// The revision of its newest record when it was first seen as the leader.
    pub revision: u64,
    /// The nonce of its campaign, as 32 hexadecimal digits; `None` for other software.
    pub nonce: Option<String>,
    /// The metadata that it publishes.
    pub metadata: Vec<(String, String)>,
}

/// A problem that a person should look at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Warning {
    /// A stable name.
    pub code: &'static str,
    /// The problem and the remedy.
    pub message: String,
}

impl Event {
    /// Returns the kind of the event.
    pub fn kind(&self) -> EventKind {
        match self {
            Self::Won(_) => EventKind::Won,
            Self::Draining(..) => EventKind::Draining,
            Self::Lost(..) => EventKind::Lost,
            Self::LeaderChanged(_) => EventKind::LeaderChanged,
            Self::StateChanged(_) => EventKind::StateChanged,
            Self::Warning(_) => EventKind::Warning,
        }
    }
}

impl EventKind {
    /// A stable, machine-readable name, the same in every language.
    pub const fn code(self) -> &'static str {
        match self {
            Self::Won => "WON",
            Self::Draining => "DRAINING",
            Self::Lost => "LOST",
            Self::LeaderChanged => "LEADER_CHANGED",
            Self::StateChanged => "STATE_CHANGED",
            Self::Warning => "WARNING",
        }
    }
}

impl From<incumbent::Event> for Event {
    fn from(event: incumbent::Event) -> Self {
        let term = |term: incumbent::Term| Term { view: term.view() };
        match event {
            incumbent::Event::Won(won) => Self::Won(term(won)),
            incumbent::Event::Draining { term: leaving, until: _, reason } => {
                Self::Draining(term(leaving), reason)
            }
            incumbent::Event::Lost { term: lost, reason } => Self::Lost(term(lost), reason),
            incumbent::Event::LeaderChanged(leader) => Self::LeaderChanged(leader.map(Leader::from)),
            incumbent::Event::StateChanged(state) => Self::StateChanged(state),
            incumbent::Event::Warning(warning) => {
                Self::Warning(Warning { code: warning.code(), message: warning.to_string() })
            }
        }
    }
}

impl From<incumbent::Leader> for Leader {
    fn from(leader: incumbent::Leader) -> Self {
        Self {
            name: leader.name,
            revision: leader.revision.0,
            nonce: leader.nonce.map(|nonce| nonce.to_string()),
            metadata: leader.metadata,
        }
    }
}

impl Source<Event> for incumbent::Events {
    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Option<Event>> {
        self.poll_next_unpin(cx).map(|event| event.map(Event::from))
    }

    fn missed(&self) -> u64 {
        Self::missed(self)
    }
}

/// Events whose terms are held from the moment they are won: each `Won` comes with the hold.
pub(crate) struct Holding(pub(crate) incumbent::Events);

impl Source<(Event, Option<Hold>)> for Holding {
    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Option<(Event, Option<Hold>)>> {
        self.0.poll_next_unpin(cx).map(|event| {
            event.map(|event| {
                // Taken before the conversion, which keeps a mere view of the term.
                let hold = if let incumbent::Event::Won(term) = &event {
                    Some(Hold::of(term.clone()))
                } else {
                    None
                };
                (Event::from(event), hold)
            })
        })
    }

    fn missed(&self) -> u64 {
        self.0.missed()
    }
}
