//! The source of messages: an election, or a person.

use incumbent::incumbent_core::reconcile::Message;
use incumbent::{Candidate, Event, Events, Store};

use super::console::Console;

/// The store name that stands for no store.
pub(super) const CONSOLE: &str = "console:";

/// The source of messages.
pub(super) enum Source {
    Store {
        store: Store,
        candidate: Candidate,
        events: Events,
    },
    /// None once the input has ended.
    Console(Option<Console>),
}

pub(super) enum Incoming {
    Event(Event),
    Typed(Message),
    Over,
}

impl Source {
    /// A person who types messages.
    pub(super) fn console(as_json: bool) -> Self {
        Self::Console(Some(Console::new(as_json)))
    }

    /// The next event. Cancel-safe.
    pub(super) async fn next(&mut self) -> Incoming {
        match self {
            Self::Store { events, .. } => events.next().await.map_or(Incoming::Over, Incoming::Event),
            Self::Console(Some(console)) => match console.next().await {
                Some(message) => Incoming::Typed(message),
                None => {
                    *self = Self::Console(None);
                    Incoming::Over
                }
            },
            Self::Console(None) => std::future::pending().await,
        }
    }

    /// Whether it may produce an event: typed messages are read when the handler before them has returned.
    pub(super) fn is_ready(&self, is_running: bool) -> bool {
        matches!(self, Self::Store { .. }) || !is_running
    }

    pub(super) fn prompt(&self) {
        if let Self::Console(Some(console)) = self {
            console.prompt();
        }
    }
}
