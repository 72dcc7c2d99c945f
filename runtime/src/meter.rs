//! Who is told what became of every write.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use incumbent_core::store::{Action, Outcome};

use crate::notifier::Notifier;

/// A write that was answered, or given up.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct WriteEvent<'a> {
    /// The election's key.
    pub election: &'a str,
    /// What was written.
    pub action: &'a Action,
    /// What became of it; `Unknown` where no answer came.
    pub outcome: &'a Outcome,
    /// How long the answer took, or was waited for.
    pub took: Duration,
}

type Listener = dyn Fn(&WriteEvent<'_>) + Send + Sync;

/// Who is told, if anybody is.
#[derive(Clone, Default)]
pub(crate) struct Meter(Option<Arc<Listener>>);

impl Meter {
    pub(crate) fn new(listener: impl Fn(&WriteEvent<'_>) + Send + Sync + 'static) -> Self {
        Self(Some(Arc::new(listener)))
    }

    /// Has the listener called with that, by the notifier.
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
