//! A stream of items, in order.

use std::sync::Arc;
use std::time::Duration;

use incumbent_ffi::{Event, Mailbox, Observed, Taken};
use pyo3::prelude::*;
use pyo3::types::PyTuple;

use crate::error::OrRaise;
use crate::health::Question;
use crate::term::{Hold, Term};
use crate::value::{LeaderTuple, leader};
use crate::wait::{waited, wake};

/// A stream of items, in order; each item goes to one taker.
#[pyclass(frozen, generic, module = "incumbent._incumbent")]
pub struct Feed {
    source: Box<dyn Source>,
}

/// A feed of any type.
trait Source: Send + Sync {
    fn take<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyTuple>>>;
    fn wait(&self, limit: Option<Duration>) -> bool;
    fn tell(&self, wake: incumbent_ffi::Wake) -> bool;
    fn write(&self, mailbox: &Arc<Mailbox>, letter: u64) -> bool;
    fn missed(&self) -> u64;
    fn close(&self);
}

struct Mapped<T, F> {
    feed: incumbent_ffi::Feed<T>,
    map: F,
}

impl<T, F> Source for Mapped<T, F>
where
    T: Send + 'static,
    F: for<'py> Fn(Python<'py>, T) -> PyResult<Bound<'py, PyAny>> + Send + Sync,
{
    fn take<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyTuple>>> {
        match self.feed.take().or_raise(py)? {
            Taken::Item(item) => PyTuple::new(py, [(self.map)(py, item)?]).map(Some),
            Taken::Nothing => Ok(None),
            Taken::Over => Ok(Some(PyTuple::empty(py))),
        }
    }

    fn wait(&self, limit: Option<Duration>) -> bool {
        self.feed.wait(limit)
    }

    fn tell(&self, wake: incumbent_ffi::Wake) -> bool {
        self.feed.tell(wake)
    }

    fn write(&self, mailbox: &Arc<Mailbox>, letter: u64) -> bool {
        self.feed.write(mailbox, letter)
    }

    fn missed(&self) -> u64 {
        self.feed.missed()
    }

    fn close(&self) {
        self.feed.close();
    }
}

impl Feed {
    pub(crate) fn of_events(feed: incumbent_ffi::Feed<Event>) -> Self {
        Self { source: Box::new(Mapped { feed, map: event }) }
    }

    pub(crate) fn of_held_events(feed: incumbent_ffi::Feed<(Event, Option<incumbent_ffi::Hold>)>) -> Self {
        Self { source: Box::new(Mapped { feed, map: held_event }) }
    }

    pub(crate) fn of_questions(feed: incumbent_ffi::Feed<incumbent_ffi::Question>) -> Self {
        Self { source: Box::new(Mapped { feed, map: question }) }
    }

    pub(crate) fn of_observations(feed: incumbent_ffi::Feed<Observed>) -> Self {
        Self { source: Box::new(Mapped { feed, map: observed }) }
    }
}

#[pymethods]
impl Feed {
    /// Takes the next item, in a tuple; an empty tuple at the end of the feed; None while there is nothing.
    fn take<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyTuple>>> {
        self.source.take(py)
    }

    /// Waits until there may be an item, with the interpreter's lock released. Returns whether there may.
    #[pyo3(signature = (timeout, interruptible))]
    fn wait(&self, py: Python<'_>, timeout: Option<f64>, interruptible: bool) -> PyResult<bool> {
        waited(py, timeout, interruptible, |limit| self.source.wait(limit))
    }

    /// Calls `callback`, on another thread, when there may be an item; returns False where there may be already.
    fn tell(&self, callback: Py<PyAny>) -> bool {
        self.source.tell(wake(callback))
    }

    /// Puts `letter` into `mailbox` when there may be an item; returns False where there may be already.
    fn write(&self, mailbox: &Bound<'_, crate::mailbox::Mailbox>, letter: u64) -> bool {
        self.source.write(&mailbox.get().mailbox, letter)
    }

    /// The number of items that were dropped because they were not taken in time.
    #[getter]
    fn missed(&self) -> u64 {
        self.source.missed()
    }

    /// Ends the feed: nothing more is taken, and waiters are notified.
    fn close(&self) {
        self.source.close();
    }
}

/// `(kind, term, detail, leader)`: the detail is a reason, a state, or a warning's code and message.
type EventTuple = (&'static str, Option<Term>, Option<(&'static str, Option<String>)>, Option<LeaderTuple>);

fn event(py: Python<'_>, event: Event) -> PyResult<Bound<'_, PyAny>> {
    let kind = event.kind().code();
    let plain: EventTuple = match event {
        Event::Won(term) => (kind, Some(term.into()), None, None),
        Event::Draining(term, reason) | Event::Lost(term, reason) => {
            (kind, Some(term.into()), Some((reason.code(), None)), None)
        }
        Event::LeaderChanged(holder) => (kind, None, None, holder.map(leader)),
        Event::StateChanged(state) => (kind, None, Some((state.code(), None)), None),
        Event::Warning(warning) => (kind, None, Some((warning.code, Some(warning.message))), None),
    };
    plain.into_pyobject(py).map(Bound::into_any)
}

fn held_event(
    py: Python<'_>,
    (told, hold): (Event, Option<incumbent_ffi::Hold>),
) -> PyResult<Bound<'_, PyAny>> {
    (event(py, told)?, hold.map(Hold::from)).into_pyobject(py).map(Bound::into_any)
}

fn question(py: Python<'_>, asked: incumbent_ffi::Question) -> PyResult<Bound<'_, PyAny>> {
    Bound::new(py, Question::from(asked)).map(Bound::into_any)
}

fn observed(py: Python<'_>, seen: Observed) -> PyResult<Bound<'_, PyAny>> {
    let plain = (seen.election, seen.leader.map(leader), seen.age.as_secs_f64());
    plain.into_pyobject(py).map(Bound::into_any)
}
