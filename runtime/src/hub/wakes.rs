//! Who is to be woken when.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use incumbent_core::Instant;

use super::CampaignId;

/// Who sleeps until an instant.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Sleeper {
    Campaign(CampaignId),
    /// The observers of a key.
    Seat(Arc<str>),
    /// The watch, while it is down.
    Watch,
    /// The roll, of which the adapter could not be told.
    Roll,
}

/// One instant a sleeper, ordered by time.
#[derive(Debug, Default)]
pub(super) struct Wakes {
    at: HashMap<Sleeper, Instant>,
    order: BTreeSet<(Instant, Sleeper)>,
}

impl Wakes {
    /// Wakes `sleeper` at `at` and at no other time; with `None`, never.
    pub(super) fn set(&mut self, sleeper: Sleeper, at: Option<Instant>) {
        let before = match at {
            Some(at) => self.at.insert(sleeper.clone(), at),
            None => self.at.remove(&sleeper),
        };
        if let Some(before) = before {
            self.order.remove(&(before, sleeper.clone()));
        }
        if let Some(at) = at {
            self.order.insert((at, sleeper));
        }
    }

    /// When the first is due.
    pub(super) fn next(&self) -> Option<Instant> {
        self.order.first().map(|(at, _)| *at)
    }

    /// Those that are due, which are then forgotten.
    pub(super) fn take_due(&mut self, now: Instant) -> Vec<Sleeper> {
        let mut due = Vec::new();
        while let Some((_, sleeper)) = self.order.first().filter(|(at, _)| *at <= now).cloned() {
            self.set(sleeper.clone(), None);
            due.push(sleeper);
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
        let (one, two) = (Sleeper::Campaign(1), Sleeper::Campaign(2));
        let mut wakes = Wakes::default();
        wakes.set(one.clone(), Some(at(5)));
        wakes.set(two.clone(), Some(at(3)));
        wakes.set(Sleeper::Watch, Some(at(1)));
        wakes.set(one.clone(), Some(at(2)));
        wakes.set(Sleeper::Watch, None);
        assert_eq!(wakes.next(), Some(at(2)));
        assert_eq!(wakes.take_due(at(1)), []);
        assert_eq!(wakes.take_due(at(2)), [one]);
        assert_eq!(wakes.next(), Some(at(3)));
        assert_eq!(wakes.take_due(at(9)), [two]);
        assert_eq!(wakes.take_due(at(9)), []);
        assert_eq!(wakes.next(), None);
    }
}
