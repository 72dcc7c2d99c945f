//! I1.

use incumbent_core::Instant;

use super::Oracle;
use crate::moment::{Moment, View};

/// Keeps, for each candidate, the span in which its `is_leader` answers yes unless an event changes that.
///
/// A span begins only with an event of its candidate. So a check for another open span at the beginning of each one
/// covers every instant, also for candidates that are stopped.
pub(super) struct OneLeader {
    until: Vec<Option<Instant>>,
}

impl OneLeader {
    pub(super) fn new(count: usize) -> Self {
        Self { until: vec![None; count] }
    }

    fn check(&self, view: &View<'_>) -> Result<(), String> {
        let leaders =
            || (0..self.until.len()).filter(|node| self.until[*node].is_some_and(|until| until > view.now));
        let excused = leaders().any(|node| view.promises.excuses(view.now, node));
        if leaders().count() <= 1 || excused || !view.promises.one_leader(view.now) {
            return Ok(());
        }
        let names: Vec<_> = leaders().map(|node| format!("c{node}")).collect();
        Err(format!("{} lead at once", names.join(" and ")))
    }
}

impl Oracle for OneLeader {
    fn states(&self) -> (&'static str, &'static str) {
        ("I1", "At most one candidate's is_leader is true at any real instant.")
    }

    fn see(&mut self, view: &View<'_>, moment: &Moment<'_>) -> Result<(), String> {
        match moment {
            Moment::Stands { node, until, .. } | Moment::Clock { node, until }
                if self.until[*node] != *until =>
            {
                self.until[*node] = *until;
                self.check(view)
            }
            Moment::Ends { node } => {
                self.until[*node] = None;
                Ok(())
            }
            _ => Ok(()),
        }
    }
}
