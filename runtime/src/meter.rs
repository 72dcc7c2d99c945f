//! Who is told what became of every write.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use incumbent_core::store::{Action, Outcome};

/// A write that was answered, or given up.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Wrote<'a> {
    /// The election's key.
    pub election: &'a str,
    /// What was written.
    pub action: &'a Action,
    /// What became of it; `Unknown` where no answer came.
    pub outcome: &'a Outcome,
    /// How long the answer took, or was waited for.
    pub took: Duration,
}

type Listener = dyn Fn(&Wrote<'_>) + Send + Sync;

/// Who is told, if anybody is.
#[derive(Clone, Default)]
pub(crate) struct Meter(Option<Arc<Listener>>);

impl Meter {
    pub(crate) fn new(listener: impl Fn(&Wrote<'_>) + Send + Sync + 'static) -> Self {
        Self(Some(Arc::new(listener)))
    }

    pub(crate) fn tell(&self, wrote: &Wrote<'_>) {
        if let Some(listener) = &self.0 {
            listener(wrote);
        }
    }
}

impl fmt::Debug for Meter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.0.is_some() { "Meter(told)" } else { "Meter" })
    }
}
