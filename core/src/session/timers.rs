//! The timers of a session: a table of optional deadlines, ordered by time.

use alloc::collections::BinaryHeap;
use alloc::vec::Vec;
use core::cmp::Reverse;

use super::CampaignId;
use super::map::Map;
use crate::campaign;
use crate::time::Instant;

/// The reason for a wake-up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Timer<T = campaign::Timer> {
    /// A timer of this campaign is due.
    Campaign(CampaignId, T),
    /// No candidate of this campaign's election has been seen to lead for longer than the worst fail-over, and the campaign
    /// has no timer of its own.
    Vacant(CampaignId),
    /// Inspect the store again for a campaign that has not begun.
    Enter(CampaignId),
    /// The watch has not shown all there is in time: campaigns that waited for it go on without.
    Shown,
    /// None of the questions that campaigns ask when they enter was answered for a while: more enter.
    Answered,
    /// Watch again, because the watch ended or could not begin.
    Watch,
    /// Request a connection again, because the last attempt failed.
    Reconnect,
    /// Register the candidates again, because that failed.
    Register,
    /// A request outlasts its limit, and leaves its place to one that waits.
    Turn,
}

/// A wake-up, and the timer it is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wake<T = campaign::Timer> {
    /// The time to call [`handle`](super::Session::handle) with [`Input::Tick`](super::Input::Tick).
    pub at: Instant,
    /// Its timer.
    pub timer: Timer<T>,
}

/// As many times of old timers are kept without looking for more: dropping them costs more than keeping them.
const FEW: usize = 64;

/// The owner of a timer. It has one at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Key {
    Shown,
    Answered,
    Watch,
    Reconnect,
    Register,
    Turn,
    Campaign(CampaignId),
}

impl<T> From<Timer<T>> for Key {
    fn from(timer: Timer<T>) -> Self {
        match timer {
            Timer::Campaign(id, _) | Timer::Vacant(id) | Timer::Enter(id) => Self::Campaign(id),
            Timer::Shown => Self::Shown,
            Timer::Answered => Self::Answered,
            Timer::Watch => Self::Watch,
            Timer::Reconnect => Self::Reconnect,
            Timer::Register => Self::Register,
            Timer::Turn => Self::Turn,
        }
    }
}

#[derive(Clone, Debug)]
pub(super) struct Timers<T> {
    /// The timer of each owner, where it is set, under a number of its own.
    set: Map<Key, Option<(u64, Wake<T>)>>,
    /// The times of the timers; of those that are no longer set, too, until they come first. The first is one that is set.
    order: BinaryHeap<Reverse<(Instant, Key, u64)>>,
    /// The number of the newest.
    newest: u64,
}

impl<T> Default for Timers<T> {
    fn default() -> Self {
        Self { set: Map::default(), order: BinaryHeap::new(), newest: 0 }
    }
}

impl<T: Copy> Timers<T> {
    /// Sets a timer in place of the one that its owner had.
    pub(super) fn set(&mut self, timer: Timer<T>, at: Instant) {
        let (key, wake) = (Key::from(timer), Wake { at, timer });
        match self.set.get_or_default(key) {
            Some((_, before)) if before.at == at => *before = wake,
            set => {
                self.newest += 1;
                *set = Some((self.newest, wake));
                self.order.push(Reverse((at, key, self.newest)));
                self.skip_old();
            }
        }
    }

    /// Stops the timer of a campaign.
    pub(super) fn stop(&mut self, id: CampaignId) {
        self.unset(Key::Campaign(id));
    }

    /// Sets a timer, unless it is set.
    pub(super) fn set_first(&mut self, timer: Timer<T>, at: Instant) {
        if self.wake(&timer.into()).is_none() {
            self.set(timer, at);
        }
    }

    /// Stops a timer that is of no campaign.
    pub(super) fn stop_shared(&mut self, timer: Timer<T>) {
        self.unset(timer.into());
    }

    /// Stops the timer of a campaign that is over.
    pub(super) fn forget(&mut self, id: CampaignId) {
        self.set.remove(&Key::Campaign(id));
        self.skip_old();
    }

    /// The next timer to fire.
    pub(super) fn next(&self) -> Option<Wake<T>> {
        let Reverse((_, key, _)) = self.order.peek()?;
        self.wake(key).map(|(_, wake)| wake)
    }

    /// Stops and returns the timers that are due, the earliest first.
    pub(super) fn take_due(&mut self, now: Instant) -> Vec<Timer<T>> {
        let mut due = Vec::new();
        while let Some(wake) = self.next().filter(|wake| wake.at <= now) {
            self.unset(wake.timer.into());
            due.push(wake.timer);
        }
        due
    }

    fn wake(&self, key: &Key) -> Option<(u64, Wake<T>)> {
        self.set.get(key).copied().flatten()
    }

    fn unset(&mut self, key: Key) {
        if self.set.get_mut(&key).is_some_and(|wake| wake.take().is_some()) {
            self.skip_old();
        }
    }

    /// Drops the times that come first and are of no timer that is set; and all such times, where they are most.
    fn skip_old(&mut self) {
        if self.order.len() > 2 * self.set.len() + FEW {
            self.order.clear();
            for (key, wake) in self.set.iter() {
                if let Some((number, wake)) = wake {
                    self.order.push(Reverse((wake.at, *key, *number)));
                }
            }
        }
        while let Some(Reverse((_, key, number))) = self.order.peek()
            && self.wake(key).is_none_or(|(present, _)| present != *number)
        {
            self.order.pop();
        }
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
        let mut timers = Timers::<campaign::Timer>::default();
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

    #[test]
    fn a_timer_that_fired_or_was_stopped_can_be_set_to_the_same_time_again() {
        let at = Instant::from_nanos;
        let timer = Timer::<campaign::Timer>::Enter(1);
        let mut timers = Timers::<campaign::Timer>::default();
        timers.set(timer, at(5));
        timers.stop(1);
        assert_eq!(timers.next(), None);
        timers.set(timer, at(5));
        assert_eq!(timers.take_due(at(5)), [timer]);
        timers.set(timer, at(5));
        assert_eq!(timers.take_due(at(9)), [timer]);
        assert_eq!(timers.take_due(at(9)), []);
    }

    #[test]
    fn a_timer_that_is_set_again_and_again_takes_no_more_memory() {
        let mut timers = Timers::<campaign::Timer>::default();
        timers.set(Timer::Watch, Instant::ZERO);
        for nanos in 1..10_000 {
            timers.set(Timer::Enter(1), Instant::from_nanos(nanos));
        }
        assert!(timers.order.len() <= 2 * 2 + FEW + 1, "{}", timers.order.len());
        assert_eq!(timers.take_due(Instant::NEVER), [Timer::Watch, Timer::Enter(1)]);
    }
}
