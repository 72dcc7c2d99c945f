//! A stream of items, in order.

use incumbent_ffi::{Event, NextItem};
use pyo3::prelude::*;
use pyo3::types::PyTuple;

use crate::candidate::Question;
use crate::mailbox::Mailbox;
use crate::term::{Hold, Term};
use crate::value::{DIALECT, LeaderTuple, OrRaise, leader};
use crate::wait::{waited, wake};

/// A stream of items, in order; each item goes to one taker.
#[pyclass(frozen, generic, module = "incumbent._incumbent")]
pub struct Feed {
    feed: incumbent_ffi::Feed<Item>,
}

/// An item of a feed; Python gets the value in it.
#[derive(IntoPyObject)]
pub(crate) enum Item {
    Event(EventTuple),
    /// With a hold on the term that is won.
    HeldEvent((EventTuple, Option<Hold>)),
    Question(Question),
    /// The election, its leader, and for how many seconds that has been so.
    Observation((String, Option<LeaderTuple>, f64)),
}

impl From<incumbent_ffi::Feed<Item>> for Feed {
    fn from(feed: incumbent_ffi::Feed<Item>) -> Self {
        Self { feed }
    }
}

#[pymethods]
impl Feed {
    /// Takes the next item, in a tuple; an empty tuple at the end of the feed; None while there is nothing.
    fn take<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyTuple>>> {
        match self.feed.take().or_raise(py)? {
            NextItem::Ready(item) => PyTuple::new(py, [item]).map(Some),
            NextItem::Pending => Ok(None),
            NextItem::End => Ok(Some(PyTuple::empty(py))),
        }
    }

    /// Waits until there may be an item, with the interpreter's lock released. Returns whether there may.
    #[pyo3(signature = (timeout, interruptible))]
    fn wait(&self, py: Python<'_>, timeout: Option<f64>, interruptible: bool) -> PyResult<bool> {
        waited(py, timeout, interruptible, |limit| self.feed.ready().wait(limit))
    }

    /// Calls `callback`, on another thread, when there may be an item; returns False if there may be already.
    fn wake(&self, callback: Py<PyAny>) -> bool {
        self.feed.ready().wake(wake(callback))
    }

    /// Puts `message` into `mailbox` when there may be an item; returns False if there may be already.
    fn post(&self, mailbox: &Bound<'_, Mailbox>, message: u64) -> bool {
        self.feed.ready().post(&mailbox.get().mailbox, message)
    }

    /// The number of items that were dropped because they were not taken in time.
    #[getter]
    fn missed(&self) -> u64 {
        self.feed.missed()
    }

    /// Ends the feed: nothing more is taken, and waiters are notified.
    fn close(&self) {
        self.feed.close();
    }
}

/// `(kind, term, detail, leader)`: the detail is a reason, a state, or a warning's code and message.
pub(crate) type EventTuple =
    (&'static str, Option<Term>, Option<(&'static str, Option<String>)>, Option<LeaderTuple>);

/// Converts an event, and holds its term if it is won.
pub(crate) fn held_event(held: Event) -> Item {
    let hold = match &held {
        Event::Won(term) => Some(Hold::from(incumbent_ffi::Hold::from(term.clone()))),
        _ => None,
    };
    Item::HeldEvent((event(held), hold))
}

/// Converts an event.
pub(crate) fn event(event: Event) -> EventTuple {
    let kind = event.code();
    let view = |term| Some(Term::from(incumbent_ffi::Term::from(term)));
    match event {
        Event::Won(term) => (kind, view(term), None, None),
        Event::Draining { term, reason, .. } | Event::Lost { term, reason } => {
            (kind, view(term), Some((reason.code(), None)), None)
        }
        Event::LeaderChanged(holder) => (kind, None, None, holder.map(leader)),
        Event::StateChanged(state) => (kind, None, Some((state.code(), None)), None),
        Event::Warning(warning) => {
            (kind, None, Some((warning.code(), Some(warning.text().spelled(DIALECT.names)))), None)
        }
    }
}
