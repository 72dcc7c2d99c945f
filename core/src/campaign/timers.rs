//! The timers of a campaign: a table of optional deadlines.

use crate::time::Instant;

/// The reason of a wake-up. Where several are due at once, they fire in this order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Timer {
    /// When the lease can no longer be proven.
    Deadline,
    /// When to stop waiting for the answer to a write.
    Attempt,
    /// When to stop waiting for the answer to a read.
    Read,
    /// When to inspect the store again, because the last inspection gave no answer.
    Inspect,
    /// When to stop waiting for the release after a close.
    Close,
    /// When a release has been tried for long enough, or the lease has run out before the work of its term ended.
    Release,
    /// When a draining term ends though its work is not done.
    Drain,
    /// When to report the win of a holder, or to give up because it cannot prove the incarnation.
    Win,
    /// When to renew the lease.
    Renew,
    /// When to repeat what failed.
    Retry,
    /// When the splay is over.
    Splay,
    /// When to send an acquire.
    Acquire,
    /// When to read the key, because the watch has been silent.
    Poll,
}

/// A wake-up, and the timer it is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wake {
    /// The time to call [`handle`](super::Campaign::handle) with [`Input::Tick`](super::Input::Tick).
    pub at: Instant,
    /// Its timer.
    pub timer: Timer,
}

impl Timer {
    const ALL: [Self; 13] = [
        Self::Deadline,
        Self::Attempt,
        Self::Read,
        Self::Inspect,
        Self::Close,
        Self::Release,
        Self::Drain,
        Self::Win,
        Self::Renew,
        Self::Retry,
        Self::Splay,
        Self::Acquire,
        Self::Poll,
    ];
}

#[derive(Clone, Debug, Hash, Default)]
pub(super) struct Timers([Option<Instant>; Timer::ALL.len()]);

impl Timers {
    pub(super) fn set(&mut self, timer: Timer, at: Instant) {
        self.0[timer as usize] = Some(at);
    }

    pub(super) fn stop(&mut self, timer: Timer) {
        self.0[timer as usize] = None;
    }

    pub(super) fn get(&self, timer: Timer) -> Option<Instant> {
        self.0[timer as usize]
    }

    pub(super) fn is_set(&self, timer: Timer) -> bool {
        self.get(timer).is_some()
    }

    /// When a timer fires. One that is set for never does not, not even at the end of all time.
    fn fires(&self, timer: Timer) -> Option<Instant> {
        self.get(timer).filter(|at| *at < Instant::NEVER)
    }

    /// The first timer in the table's order that is due, which it stops.
    pub(super) fn take_due(&mut self, now: Instant) -> Option<Timer> {
        let due = Timer::ALL.into_iter().find(|timer| self.fires(*timer).is_some_and(|at| at <= now))?;
        self.stop(due);
        Some(due)
    }

    /// The next timer to fire.
    pub(super) fn next(&self) -> Option<Wake> {
        Timer::ALL
            .into_iter()
            .filter_map(|timer| self.fires(timer).map(|at| Wake { at, timer }))
            .min_by_key(|wake| wake.at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_has_a_place_for_every_timer() {
        for (place, timer) in Timer::ALL.into_iter().enumerate() {
            assert_eq!(timer as usize, place);
        }
    }

    #[test]
    fn a_timer_that_is_set_for_never_does_not_fire() {
        let mut timers = Timers::default();
        timers.set(Timer::Renew, Instant::NEVER);
        assert_eq!((timers.next(), timers.take_due(Instant::NEVER)), (None, None));
        assert!(timers.is_set(Timer::Renew));
    }

    #[test]
    fn due_timers_come_in_the_tables_order_and_the_next_by_time() {
        let mut timers = Timers::default();
        let at = Instant::from_nanos;
        timers.set(Timer::Poll, at(1));
        timers.set(Timer::Deadline, at(2));
        timers.set(Timer::Renew, at(9));
        assert_eq!(timers.next(), Some(Wake { at: at(1), timer: Timer::Poll }));
        assert_eq!(timers.take_due(at(2)), Some(Timer::Deadline));
        assert_eq!(timers.take_due(at(2)), Some(Timer::Poll));
        assert_eq!(timers.take_due(at(2)), None);
        assert_eq!(timers.next(), Some(Wake { at: at(9), timer: Timer::Renew }));
    }
}
