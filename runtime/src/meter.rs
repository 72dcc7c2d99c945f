//! The listener for the outcome of every write.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use incumbent_core::store::{Action, Outcome};

use crate::notifier::Notifier;

/// A write that was answered, or whose limit has passed.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct WriteEvent<'a> {
    /// The election's key.
    pub election: &'a str,
    /// The kind of the write.
    pub action: &'a Action,
    /// The outcome; `Unknown` without an answer.
    pub outcome: &'a Outcome,
    /// The time until the answer, or until the limit.
    pub took: Duration,
}

type Listener = dyn Fn(&WriteEvent<'_>) + Send + Sync;

/// The listener, if there is one.
#[derive(Clone, Default)]
pub(crate) struct Meter(Option<Arc<Listener>>);

impl Meter {
    pub(crate) fn new(listener: impl Fn(&WriteEvent<'_>) + Send + Sync + 'static) -> Self {
        Self(Some(Arc::new(listener)))
    }

    /// Calls the listener on the notifier's thread.
    pub(crate) fn tell(
        &self,
        notifier: &Notifier,
        election: &Arc<str>,
        wrote: (&Action, &Outcome, Duration),
    ) {
        let Some(listener) = self.0.clone() else { return };
        let (election, (action, outcome, took)) = (Arc::clone(election), wrote);
        let (action, outcome) = (action.clone(), outcome.clone());
        notifier.notify(move || {
            listener(&WriteEvent { election: &election, action: &action, outcome: &outcome, took });
        });
    }
}

impl fmt::Debug for Meter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.0.is_some() { "Meter(told)" } else { "Meter" })
    }
}
