//! A stream of items, in order.

use std::time::Duration;

use incumbent_ffi::{Event, Observation, Taken};
use pyo3::prelude::*;
use pyo3::types::PyTuple;

use crate::error::OrRaise;
use crate::health::Question;
use crate::mailbox::Mailbox;
use crate::term::{Hold, Term};
use crate::value::{Convert, LeaderTuple, leader};
use crate::wait::{waited, wake};

/// A stream of items, in order; each item goes to one taker.
#[pyclass(frozen, generic, module = "incumbent._incumbent")]
pub struct Feed {
    feed: incumbent_ffi::Feed<Convert>,
}

impl Feed {
    fn new<T: Send + 'static>(
        feed: incumbent_ffi::Feed<T>,
        convert: fn(Python<'_>, T) -> PyResult<Py<PyAny>>,
    ) -> Self {
        Self { feed: feed.map(move |item| Box::new(move |py: Python<'_>| convert(py, item)) as Convert) }
    }

    pub(crate) fn of_events(feed: incumbent_ffi::Feed<Event>) -> Self {
        Self::new(feed, |py, item| event(item).into_pyobject(py).map(|event| event.into_any().unbind()))
    }

    pub(crate) fn of_held_events(feed: incumbent_ffi::Feed<(Event, Option<incumbent_ffi::Hold>)>) -> Self {
        Self::new(feed, |py, (item, hold)| {
            (event(item), hold.map(Hold::from)).into_pyobject(py).map(|pair| pair.into_any().unbind())
        })
    }

    pub(crate) fn of_questions(feed: incumbent_ffi::Feed<incumbent_ffi::Question>) -> Self {
        Self::new(feed, |py, question| Ok(Py::new(py, Question::from(question))?.into_any()))
    }

    pub(crate) fn of_observations(feed: incumbent_ffi::Feed<(Observation, Duration)>) -> Self {
        Self::new(feed, |py, (seen, age)| {
            let plain = (&*seen.election, seen.leader.map(leader), age.as_secs_f64());
            plain.into_pyobject(py).map(|plain| plain.into_any().unbind())
        })
    }
}

#[pymethods]
impl Feed {
    /// Takes the next item, in a tuple; an empty tuple at the end of the feed; None while there is nothing.
    fn take<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyTuple>>> {
        match self.feed.take().or_raise(py)? {
            Taken::Item(convert) => PyTuple::new(py, [convert(py)?]).map(Some),
            Taken::Nothing => Ok(None),
            Taken::Over => Ok(Some(PyTuple::empty(py))),
        }
    }

    /// Waits until there may be an item, with the interpreter's lock released. Returns whether there may.
    #[pyo3(signature = (timeout, interruptible))]
    fn wait(&self, py: Python<'_>, timeout: Option<f64>, interruptible: bool) -> PyResult<bool> {
        waited(py, timeout, interruptible, |limit| self.feed.ready().wait(limit))
    }

    /// Calls `callback`, on another thread, when there may be an item; returns False where there may be already.
    fn wake(&self, callback: Py<PyAny>) -> bool {
        self.feed.ready().wake(wake(callback))
    }

    /// Puts `message` into `mailbox` when there may be an item; returns False where there may be already.
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
type EventTuple = (&'static str, Option<Term>, Option<(&'static str, Option<String>)>, Option<LeaderTuple>);

fn event(event: Event) -> EventTuple {
    let kind = event.code();
    match event {
        Event::Won(term) => (kind, Some(term.into()), None, None),
        Event::Draining { term, reason, .. } | Event::Lost { term, reason } => {
            (kind, Some(term.into()), Some((reason.code(), None)), None)
        }
        Event::LeaderChanged(holder) => (kind, None, None, holder.map(leader)),
        Event::StateChanged(state) => (kind, None, Some((state.code(), None)), None),
        Event::Warning(warning) => (kind, None, Some((warning.code(), Some(warning.to_string()))), None),
    }
}
