//! What happens to a candidate, as plain values.

use std::task::{Context, Poll};

use futures_util::StreamExt;
use incumbent::{Reason, State};

use crate::feed::Source;
use crate::{Hold, Term};

/// Something the user of a candidate should know.
#[derive(Clone, Debug)]
pub enum Event {
    /// This candidate leads, from now until `Lost`.
    Won(Term),
    /// This leader leaves of its own will; [`Term::drain_remaining`] says how long it may take.
    Draining(Term, Reason),
    /// This candidate leads no more. Told exactly once for every `Won`.
    Lost(Term, Reason),
    /// The seat is known to be held by somebody else than before, or by nobody.
    LeaderChanged(Option<Leader>),
    /// The campaign entered another state.
    StateChanged(State),
    /// Something a person should look at.
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

/// Who holds the seat.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Leader {
    /// Its name.
    pub name: String,
    /// The revision of its newest record when it was first seen to hold the seat.
    pub revision: u64,
    /// Its campaign, as 32 hexadecimal digits; `None` for other software.
    pub nonce: Option<String>,
    /// What it publishes about itself.
    pub metadata: Vec<(String, String)>,
}

/// Something a person should look at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Warning {
    /// A stable name.
    pub code: &'static str,
    /// What it is, and what to do.
    pub message: String,
}

impl Event {
    /// What kind of event.
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

/// Events whose terms are held from the moment they are won: a `Won` comes with the hold.
pub(crate) struct Holding(pub(crate) incumbent::Events);

impl Source<(Event, Option<Hold>)> for Holding {
    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Option<(Event, Option<Hold>)>> {
        self.0.poll_next_unpin(cx).map(|event| {
            event.map(|event| {
                // Before the event becomes one that only looks on.
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
