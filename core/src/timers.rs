//! The timers of a campaign, whatever its rule: a table of optional deadlines.

use core::marker::PhantomData;

use crate::time::Instant;

/// The most timers of a rule.
pub const TIMERS: usize = 13;

/// The kinds of timers of one rule. If several are due at once, they fire in this order.
pub trait Kind: Copy + 'static {
    /// All timers of the rule, at most [`TIMERS`].
    const ALL: &'static [Self];
    /// When the lease can no longer be proven.
    const DEADLINE: Self;
    /// When a draining term ends even if its work is not done.
    const DRAIN: Self;
    /// When to stop waiting, after a close, for the removal of what the candidate left in the store.
    const CLOSE: Self;
    /// When the splay is over.
    const SPLAY: Self;

    /// The place in [`ALL`](Self::ALL).
    fn place(self) -> usize;
}

/// A wake-up, and the timer it is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wake<T> {
    /// The time to call the campaign's `handle` with `Input::Tick`.
    pub at: Instant,
    /// The timer that wakes.
    pub timer: T,
}

/// Declares the timers of one rule as `Timer`. If several are due at once, they fire in the order in which they are
/// declared. Every candidate has `Deadline`, `Drain`, `Close` and `Splay`.
#[macro_export]
macro_rules! timers {
    ($($(#[$meaning:meta])* $timer:ident,)+) => {
        /// Which timer a wake-up is for. If several are due at once, they fire in this order.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum Timer {
            $($(#[$meaning])* $timer,)+
        }

        impl $crate::candidacy::TimerKind for Timer {
            const ALL: &'static [Self] = &[$(Self::$timer),+];
            const DEADLINE: Self = Self::Deadline;
            const DRAIN: Self = Self::Drain;
            const CLOSE: Self = Self::Close;
            const SPLAY: Self = Self::Splay;

            fn place(self) -> usize {
                self as usize
            }
        }
    };
}

/// The times of the timers, and one bit for each timer that is set. This takes half the memory of optional times.
#[derive(Clone, Debug, Hash)]
pub(crate) struct Timers<T> {
    at: [Instant; TIMERS],
    set: u16,
    of: PhantomData<T>,
}

impl<T: Kind> Default for Timers<T> {
    fn default() -> Self {
        const { assert!(T::ALL.len() <= TIMERS && TIMERS <= u16::BITS as usize, "each timer has a bit") };
        Self { at: [Instant::ZERO; TIMERS], set: 0, of: PhantomData }
    }
}

impl<T: Kind> Timers<T> {
    pub(crate) fn set(&mut self, timer: T, at: Instant) {
        self.at[timer.place()] = at;
        self.set |= 1 << timer.place();
    }

    pub(crate) fn stop(&mut self, timer: T) {
        // A stopped timer's time is cleared, because equal tables must be equal in memory.
        self.at[timer.place()] = Instant::ZERO;
        self.set &= !(1 << timer.place());
    }

    pub(crate) fn get(&self, timer: T) -> Option<Instant> {
        self.is_set(timer).then(|| self.at[timer.place()])
    }

    pub(crate) fn is_set(&self, timer: T) -> bool {
        self.set & (1 << timer.place()) != 0
    }

    /// The timers that will fire, in the table's order. A timer set to `NEVER` does not fire, even at the end of the
    /// clock's range.
    fn firing(&self) -> impl Iterator<Item = Wake<T>> {
        let mut left = self.set;
        let set = core::iter::from_fn(move || {
            let place = left.trailing_zeros() as usize;
            let timer = *T::ALL.get(place)?;
            left &= left - 1;
            Some(Wake { at: self.at[place], timer })
        });
        set.filter(|wake| wake.at < Instant::NEVER)
    }

    /// Stops and returns the first timer in the table's order that is due.
    pub(crate) fn take_due(&mut self, now: Instant) -> Option<T> {
        let due = self.firing().find(|wake| wake.at <= now)?.timer;
        self.stop(due);
        Some(due)
    }

    /// The next timer to fire.
    pub(crate) fn next(&self) -> Option<Wake<T>> {
        self.firing().min_by_key(|wake| wake.at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{campaign, induction, queue};

    fn has_a_place_for_every_timer<T: Kind>() {
        for (place, timer) in T::ALL.iter().enumerate() {
            assert_eq!(timer.place(), place);
        }
    }

    #[test]
    fn the_table_of_each_rule_has_a_place_for_every_timer() {
        has_a_place_for_every_timer::<campaign::Timer>();
        has_a_place_for_every_timer::<queue::Timer>();
        has_a_place_for_every_timer::<induction::Timer>();
    }

    #[test]
    fn a_timer_that_is_set_for_never_does_not_fire() {
        let mut timers = Timers::default();
        timers.set(campaign::Timer::Renew, Instant::NEVER);
        assert_eq!((timers.next(), timers.take_due(Instant::NEVER)), (None, None));
        assert!(timers.is_set(campaign::Timer::Renew));
    }

    #[test]
    fn due_timers_come_in_the_tables_order_and_the_next_by_time() {
        use campaign::Timer;
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

    #[test]
    fn in_a_queue_due_timers_come_in_the_tables_order_too() {
        use queue::Timer;
        let mut timers = Timers::default();
        let at = Instant::from_nanos;
        timers.set(Timer::Round, at(1));
        timers.set(Timer::Deadline, at(2));
        assert_eq!(timers.next(), Some(Wake { at: at(1), timer: Timer::Round }));
        assert_eq!(timers.take_due(at(2)), Some(Timer::Deadline));
        assert_eq!(timers.take_due(at(2)), Some(Timer::Round));
        assert_eq!(timers.take_due(at(2)), None);
    }
}
