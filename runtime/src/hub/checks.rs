//! The instants at which observed elections are read again.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use incumbent_core::Instant;

/// One instant per election, ordered by time.
#[derive(Debug, Default)]
pub(super) struct Checks {
    at: HashMap<Arc<str>, Instant>,
    order: BTreeSet<(Instant, Arc<str>)>,
}

impl Checks {
    /// Looks at `key` at `at` and at no other time; with `None`, never.
    pub(super) fn set(&mut self, key: &Arc<str>, at: Option<Instant>) {
        let before = match at {
            Some(at) => self.at.insert(Arc::clone(key), at),
            None => self.at.remove(key),
        };
        if let Some(before) = before {
            self.order.remove(&(before, Arc::clone(key)));
        }
        if let Some(at) = at {
            self.order.insert((at, Arc::clone(key)));
        }
    }

    /// The earliest instant.
    pub(super) fn next(&self) -> Option<Instant> {
        self.order.first().map(|(at, _)| *at)
    }

    /// Removes and returns the elections that are due.
    pub(super) fn take_due(&mut self, now: Instant) -> Vec<Arc<str>> {
        let mut due = Vec::new();
        while let Some((_, key)) = self.order.first().filter(|(at, _)| *at <= now).cloned() {
            self.set(&key, None);
            due.push(key);
        }
        due
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_earliest_comes_first_and_a_newer_time_replaces_an_older() {
        let at = Instant::from_nanos;
        let (jobs, mail): (Arc<str>, Arc<str>) = ("jobs".into(), "mail".into());
        let mut checks = Checks::default();
        checks.set(&jobs, Some(at(5)));
        checks.set(&mail, Some(at(3)));
        checks.set(&jobs, Some(at(2)));
        assert_eq!(checks.next(), Some(at(2)));
        assert_eq!(checks.take_due(at(1)), []);
        assert_eq!(checks.take_due(at(2)), std::slice::from_ref(&jobs));
        checks.set(&jobs, Some(at(4)));
        checks.set(&jobs, None);
        assert_eq!(checks.take_due(at(9)), [mail]);
        assert_eq!(checks.next(), None);
    }
}
