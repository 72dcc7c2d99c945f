//! The timers of a campaign in a queue: a table of optional deadlines.

use crate::time::Instant;

/// What a wake-up is for. Where several are due at once, they fire in this order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Timer {
    /// When the lease can no longer be proven.
    Deadline,
    /// When to stop waiting for the answers of a round.
    Answer,
    /// When to stop waiting for a grant, or for the answer to a transaction.
    Write,
    /// When to stop waiting for a delete or a revocation, or to repeat it.
    Remove,
    /// When to stop waiting for the release after a close.
    Close,
    /// When the keys of a term whose work has not ended are removed all the same.
    Release,
    /// When a draining term ends though its work is not done.
    Drain,
    /// When to give a hand over up because the successor is not next.
    HandOver,
    /// When the wait that a win owes is over.
    Owed,
    /// When to begin a round.
    Round,
    /// When to try again to enter.
    Retry,
    /// When the splay is over.
    Splay,
}

/// A wake-up, and the timer it is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wake {
    /// When to call [`handle`](super::Campaign::handle) with [`Input::Tick`](super::Input::Tick).
    pub at: Instant,
    /// What for.
    pub timer: Timer,
}

impl Timer {
    const ALL: [Self; 12] = [
        Self::Deadline,
        Self::Answer,
        Self::Write,
        Self::Remove,
        Self::Close,
        Self::Release,
        Self::Drain,
        Self::HandOver,
        Self::Owed,
        Self::Round,
        Self::Retry,
        Self::Splay,
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

    pub(super) fn is_set(&self, timer: Timer) -> bool {
        self.0[timer as usize].is_some()
    }

    /// The first timer in the table's order that is due, which it stops.
    pub(super) fn take_due(&mut self, now: Instant) -> Option<Timer> {
        let due = Timer::ALL.into_iter().find(|timer| self.0[*timer as usize].is_some_and(|at| at <= now))?;
        self.stop(due);
        Some(due)
    }

    /// The next timer to fire.
    pub(super) fn next(&self) -> Option<Wake> {
        Timer::ALL
            .into_iter()
            .filter_map(|timer| self.0[timer as usize].map(|at| Wake { at, timer }))
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
    fn due_timers_come_in_the_tables_order_and_the_next_by_time() {
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
