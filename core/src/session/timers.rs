//! The timers of a session: a table of optional deadlines, ordered by time.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec::Vec;

use super::CampaignId;
use crate::campaign;
use crate::time::Instant;

/// The reason for a wake-up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Timer {
    /// A timer of this campaign is due.
    Campaign(CampaignId, campaign::Timer),
    /// Inspect the store again for a campaign that has not begun.
    Enter(CampaignId),
    /// Watch again, because the watch ended or could not begin.
    Watch,
    /// Request a connection again, because the last attempt failed.
    Reconnect,
    /// Register the candidates again, because that failed.
    Register,
}

/// A wake-up, and the timer it is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wake {
    /// The time to call [`handle`](super::Session::handle) with [`Input::Tick`](super::Input::Tick).
    pub at: Instant,
    /// Its timer.
    pub timer: Timer,
}

/// The owner of a timer. It has one at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Key {
    Watch,
    Reconnect,
    Register,
    Campaign(CampaignId),
}

impl From<Timer> for Key {
    fn from(timer: Timer) -> Self {
        match timer {
            Timer::Campaign(id, _) | Timer::Enter(id) => Self::Campaign(id),
            Timer::Watch => Self::Watch,
            Timer::Reconnect => Self::Reconnect,
            Timer::Register => Self::Register,
        }
    }
}

#[derive(Clone, Debug, Default)]
pub(super) struct Timers {
    set: BTreeMap<Key, Wake>,
    order: BTreeSet<(Instant, Key)>,
}

impl Timers {
    /// Sets a timer in place of the one that its owner had.
    pub(super) fn set(&mut self, timer: Timer, at: Instant) {
        let key = Key::from(timer);
        self.remove(key);
        self.set.insert(key, Wake { at, timer });
        self.order.insert((at, key));
    }

    /// Stops the timer of a campaign.
    pub(super) fn stop(&mut self, id: CampaignId) {
        self.remove(Key::Campaign(id));
    }

    fn remove(&mut self, key: Key) {
        if let Some(before) = self.set.remove(&key) {
            self.order.remove(&(before.at, key));
        }
    }

    /// The next timer to fire.
    pub(super) fn next(&self) -> Option<Wake> {
        let (_, key) = self.order.first()?;
        self.set.get(key).copied()
    }

    /// Stops and returns the timers that are due, the earliest first.
    pub(super) fn take_due(&mut self, now: Instant) -> Vec<Timer> {
        let mut due = Vec::new();
        while let Some(wake) = self.next().filter(|wake| wake.at <= now) {
            self.remove(wake.timer.into());
            due.push(wake.timer);
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
        let one = Timer::Campaign(1, campaign::Timer::Renew);
        let two = Timer::Enter(2);
        let mut timers = Timers::default();
        timers.set(Timer::Campaign(1, campaign::Timer::Poll), at(5));
        timers.set(two, at(3));
        timers.set(one, at(2));
        timers.set(Timer::Watch, at(4));
        assert_eq!(timers.next(), Some(Wake { at: at(2), timer: one }));
        assert_eq!(timers.take_due(at(1)), []);
        assert_eq!(timers.take_due(at(3)), [one, two]);
        timers.set(one, at(4));
        timers.stop(1);
        assert_eq!(timers.take_due(at(9)), [Timer::Watch]);
        assert_eq!(timers.next(), None);
    }
}
