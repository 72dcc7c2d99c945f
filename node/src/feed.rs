//! A stream of items, in order.

use std::time::Duration;

use incumbent_ffi::{Event, NextItem, Observation};
use napi_derive::napi;

use crate::notifier::Notifier;
use crate::term::{Hold, Term};
use crate::value::{self, Failure, LeaderRow};

/// An item of a feed: an event, an observation or an error; none of them at the end.
#[napi(object, object_from_js = false, js_name = "Item")]
#[derive(Default)]
pub struct Item {
    pub failure: Option<Failure>,
    pub event: Option<EventRow>,
    pub observation: Option<ObservationRow>,
}

/// An event: the detail is a reason, a state, or a warning's code.
#[napi(object, object_from_js = false, js_name = "EventRow")]
pub struct EventRow {
    pub kind: &'static str,
    pub term: Option<Term>,
    /// The hold on a term, for an event that comes with one.
    pub hold: Option<Hold>,
    pub detail: Option<&'static str>,
    pub message: Option<String>,
    pub leader: Option<LeaderRow>,
}

/// An observation.
#[napi(object, object_from_js = false, js_name = "ObservationRow")]
pub struct ObservationRow {
    pub election: String,
    pub leader: Option<LeaderRow>,
    pub age_ms: f64,
}

/// A stream of items, in order; each item goes to one taker.
#[napi(js_name = "Feed")]
pub struct Feed {
    feed: incumbent_ffi::Feed<Item>,
}

impl From<incumbent_ffi::Feed<Item>> for Feed {
    fn from(feed: incumbent_ffi::Feed<Item>) -> Self {
        Self { feed }
    }
}

#[napi]
impl Feed {
    /// Takes the next item; null while there is nothing.
    #[napi]
    pub fn take(&self) -> Option<Item> {
        match self.feed.take() {
            Ok(NextItem::Ready(item)) => Some(item),
            Ok(NextItem::Pending) => None,
            Ok(NextItem::End) => Some(Item::default()),
            Err(error) => Some(Item { failure: Some(error.into()), ..Item::default() }),
        }
    }

    /// Notifies the event loop with that number when there may be something; returns false if there may be already.
    #[napi]
    pub fn notify(&self, notifier: &Notifier, id: u32) -> bool {
        self.feed.ready().wake_inline(notifier.wake(id))
    }

    /// The number of items that were dropped because they were not taken in time.
    #[napi(getter)]
    pub fn missed(&self) -> f64 {
        // Exact up to 2^53.
        self.feed.missed() as f64
    }

    /// Ends the feed: nothing more is taken, and waiters are notified.
    #[napi]
    pub fn close(&self) {
        self.feed.close();
    }
}

/// Converts an event.
pub(crate) fn event(event: Event) -> Item {
    let kind = event.code();
    let mut row = EventRow { kind, term: None, hold: None, detail: None, message: None, leader: None };
    let view = |term| Some(Term::from(incumbent_ffi::Term::from(term)));
    match event {
        Event::Won(term) => row.term = view(term),
        Event::Draining { term, reason, .. } | Event::Lost { term, reason } => {
            row.term = view(term);
            row.detail = Some(reason.code());
        }
        Event::LeaderChanged(leader) => row.leader = leader.map(LeaderRow::from),
        Event::StateChanged(state) => row.detail = Some(state.code()),
        Event::Warning(warning) => {
            row.detail = Some(warning.code());
            row.message = Some(warning.text().spelled(value::DIALECT.names));
        }
    }
    Item { event: Some(row), ..Item::default() }
}

/// Converts an event, and holds its term if it is won.
pub(crate) fn held_event(held: Event) -> Item {
    let hold = match &held {
        Event::Won(term) => Some(Hold::from(incumbent_ffi::Hold::from(term.clone()))),
        _ => None,
    };
    let mut item = event(held);
    if let Some(row) = &mut item.event {
        row.hold = hold;
    }
    item
}

/// Converts an observation that has held for `age`.
pub(crate) fn observation(seen: Observation, age: Duration) -> Item {
    let row = ObservationRow {
        election: seen.election.to_string(),
        leader: seen.leader.map(LeaderRow::from),
        age_ms: age.as_secs_f64() * 1000.0,
    };
    Item { observation: Some(row), ..Item::default() }
}
