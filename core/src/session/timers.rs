//! The timers of a session: a table of optional deadlines, ordered by time.

use alloc::vec::Vec;

use super::candidates::Slot;
use super::{CampaignId, spare};
use crate::campaign;
use crate::time::Instant;

/// The reason for a wake-up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Timer<T = campaign::Timer> {
    /// A timer of this campaign is due.
    Campaign(CampaignId, T),
    /// No candidate of this campaign's election has been seen to lead for longer than the worst fail-over, and the
    /// campaign has no timer of its own.
    Vacant(CampaignId),
    /// Inspect the store again for a campaign that has not begun.
    Enter(CampaignId),
    /// Let campaigns that waited for the watch continue without it, because the watch did not show everything in time.
    Shown,
    /// Let more campaigns enter, because no question of an entering campaign was answered for a while.
    Answered,
    /// Watch again, because the watch ended or could not begin.
    Watch,
    /// Request a connection again, because the last attempt failed.
    Reconnect,
    /// Register the candidates again, because the last registration failed.
    Register,
    /// A request outlasts its limit and gives up its place to a waiting request.
    Turn,
}

/// A wake-up, and the timer it is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wake<T = campaign::Timer> {
    /// The time to call [`handle`](super::Session::handle) with [`Input::Tick`](super::Input::Tick).
    pub at: Instant,
    /// The timer that wakes.
    pub timer: Timer<T>,
}

/// The owner of a timer. Each owner has one timer at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Owner {
    /// The session's own timers, by their order.
    Shared(u32),
    Campaign(CampaignId),
}

/// The number of timers that belong to no campaign.
const SHARED: u32 = 6;

impl<T> Timer<T> {
    fn owner(self) -> Owner {
        match self {
            Self::Campaign(id, _) | Self::Vacant(id) | Self::Enter(id) => Owner::Campaign(id),
            Self::Shown => Owner::Shared(0),
            Self::Answered => Owner::Shared(1),
            Self::Watch => Owner::Shared(2),
            Self::Reconnect => Owner::Shared(3),
            Self::Register => Owner::Shared(4),
            Self::Turn => Owner::Shared(5),
        }
    }
}

/// A heap of the timers that are set, and the position of each timer in the heap.
#[derive(Clone, Debug)]
pub(super) struct Timers<T> {
    heap: Vec<Set<T>>,
    /// For each owner, the position of its timer in the heap, or [`UNSET`]. The session's own timers come first, then
    /// the slots of candidates.
    places: Vec<u32>,
    /// Memory for the timers that are due.
    due: Vec<Timer<T>>,
}

#[derive(Clone, Copy, Debug)]
struct Set<T> {
    wake: Wake<T>,
    /// The owner's position in `places`.
    owner: u32,
}

const UNSET: u32 = u32::MAX;

impl<T: Copy> Set<T> {
    /// If timers are due at the same time, the session's own come first, then campaigns by number.
    fn order(&self) -> (Instant, u32, CampaignId) {
        match self.wake.timer.owner() {
            Owner::Shared(owner) => (self.wake.at, owner, 0),
            Owner::Campaign(id) => (self.wake.at, SHARED, id),
        }
    }
}

impl<T> Default for Timers<T> {
    fn default() -> Self {
        Self { heap: Vec::new(), places: Vec::new(), due: Vec::new() }
    }
}

impl<T: Copy> Timers<T> {
    /// Sets one of the session's own timers, replacing its previous time.
    pub(super) fn set(&mut self, timer: Timer<T>, at: Instant) {
        if let Owner::Shared(owner) = timer.owner() {
            self.put(owner, Wake { at, timer });
        }
    }

    /// Sets the timer of the campaign in this slot, replacing its previous timer.
    pub(super) fn set_of(&mut self, slot: Slot, timer: Timer<T>, at: Instant) {
        self.put(SHARED + slot, Wake { at, timer });
    }

    /// Stops the timer of the campaign in this slot.
    pub(super) fn stop(&mut self, slot: Slot) {
        self.unset(SHARED + slot);
    }

    /// Sets a timer, unless it is set already.
    pub(super) fn set_first(&mut self, timer: Timer<T>, at: Instant) {
        if let Owner::Shared(owner) = timer.owner()
            && self.place(owner).is_none()
        {
            self.put(owner, Wake { at, timer });
        }
    }

    /// Stops one of the session's own timers.
    pub(super) fn stop_shared(&mut self, timer: Timer<T>) {
        if let Owner::Shared(owner) = timer.owner() {
            self.unset(owner);
        }
    }

    /// The next timer to fire.
    pub(super) fn next(&self) -> Option<Wake<T>> {
        self.heap.first().map(|set| set.wake)
    }

    /// Stops the timers that are due and returns them, earliest first. Pass the vector to [`keep`](Self::keep) to reuse
    /// its memory.
    pub(super) fn take_due(&mut self, now: Instant) -> Vec<Timer<T>> {
        let mut due = core::mem::take(&mut self.due);
        while let Some(set) = self.heap.first().filter(|set| set.wake.at <= now) {
            due.push(set.wake.timer);
            self.unset(set.owner);
        }
        due
    }

    /// Keeps the memory of timers that were due.
    pub(super) fn keep(&mut self, mut due: Vec<Timer<T>>) {
        due.clear();
        spare(&mut due);
        self.due = due;
    }

    fn place(&self, owner: u32) -> Option<usize> {
        self.places.get(owner as usize).filter(|place| **place != UNSET).map(|place| *place as usize)
    }

    fn put(&mut self, owner: u32, wake: Wake<T>) {
        let set = Set { wake, owner };
        let place = self.place(owner).unwrap_or_else(|| {
            if self.places.len() <= owner as usize {
                self.places.resize(owner as usize + 1, UNSET);
            }
            self.heap.push(set);
            self.heap.len() - 1
        });
        self.settle(place, set);
    }

    fn unset(&mut self, owner: u32) {
        let Some(place) = self.place(owner) else { return };
        self.places[owner as usize] = UNSET;
        if let Some(last) = self.heap.pop()
            && place < self.heap.len()
        {
            self.settle(place, last);
        }
        spare(&mut self.heap);
        if self.heap.is_empty() {
            self.places.clear();
            spare(&mut self.places);
        }
    }

    /// Writes a timer to a free position, moving it up or down to keep the heap in order.
    fn settle(&mut self, mut place: usize, set: Set<T>) {
        let order = set.order();
        while let Some(above) = place.checked_sub(1).map(|place| place / 2)
            && order < self.heap[above].order()
        {
            self.write(place, self.heap[above]);
            place = above;
        }
        loop {
            let (left, right) = (2 * place + 1, 2 * place + 2);
            let Some(mut least) = self.heap.get(left) else { break };
            let mut below = left;
            if let Some(other) = self.heap.get(right).filter(|other| other.order() < least.order()) {
                (least, below) = (other, right);
            }
            if order <= least.order() {
                break;
            }
            self.write(place, *least);
            place = below;
        }
        self.write(place, set);
    }

    fn write(&mut self, place: usize, set: Set<T>) {
        self.heap[place] = set;
        self.places[set.owner as usize] = place as u32;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(nanos: u64) -> Instant {
        Instant::from_nanos(nanos)
    }

    /// Sets a timer of a campaign, in the slot with its number.
    fn set(timers: &mut Timers<campaign::Timer>, timer: Timer, nanos: u64) {
        match timer.owner() {
            Owner::Campaign(id) => timers.set_of(id as Slot, timer, at(nanos)),
            Owner::Shared(_) => timers.set(timer, at(nanos)),
        }
    }

    fn due(timers: &mut Timers<campaign::Timer>, nanos: u64) -> Vec<Timer> {
        timers.take_due(at(nanos))
    }

    #[test]
    fn the_earliest_comes_first_and_a_newer_time_replaces_an_older() {
        let one = Timer::Campaign(1, campaign::Timer::Renew);
        let two = Timer::Enter(2);
        let mut timers = Timers::<campaign::Timer>::default();
        set(&mut timers, Timer::Campaign(1, campaign::Timer::Poll), 5);
        set(&mut timers, two, 3);
        set(&mut timers, one, 2);
        set(&mut timers, Timer::Watch, 4);
        assert_eq!(timers.next(), Some(Wake { at: at(2), timer: one }));
        assert_eq!(due(&mut timers, 1), []);
        assert_eq!(due(&mut timers, 3), [one, two]);
        set(&mut timers, one, 4);
        timers.stop(1);
        assert_eq!(due(&mut timers, 9), [Timer::Watch]);
        assert_eq!(timers.next(), None);
    }

    #[test]
    fn of_those_due_at_the_same_time_the_shared_ones_come_first_and_then_campaigns_by_their_numbers() {
        let mut timers = Timers::<campaign::Timer>::default();
        for timer in [Timer::Enter(9), Timer::Turn, Timer::Enter(2), Timer::Shown] {
            set(&mut timers, timer, 5);
        }
        assert_eq!(due(&mut timers, 5), [Timer::Shown, Timer::Turn, Timer::Enter(2), Timer::Enter(9)]);
    }

    #[test]
    fn a_timer_that_fired_or_was_stopped_can_be_set_to_the_same_time_again() {
        let timer = Timer::<campaign::Timer>::Enter(1);
        let mut timers = Timers::<campaign::Timer>::default();
        set(&mut timers, timer, 5);
        timers.stop(1);
        assert_eq!(timers.next(), None);
        set(&mut timers, timer, 5);
        assert_eq!(due(&mut timers, 5), [timer]);
        set(&mut timers, timer, 5);
        assert_eq!(due(&mut timers, 9), [timer]);
        assert_eq!(due(&mut timers, 9), []);
    }

    #[test]
    fn many_timers_that_are_set_stopped_and_set_again_come_in_order() {
        let mut timers = Timers::<campaign::Timer>::default();
        // Any order works. The prime 7,919 only scatters the times.
        let nanos = |id: u64, round: u64| (id * 7_919 + round * 104_729) % 1_000;
        for round in 0..3 {
            (0..500).for_each(|id| set(&mut timers, Timer::Enter(id), nanos(id, round)));
        }
        (0..500).step_by(3).for_each(|slot| timers.stop(slot));
        let mut expected: Vec<_> = (0..500).filter(|id| id % 3 != 0).map(|id| (nanos(id, 2), id)).collect();
        expected.sort_unstable();
        let expected: Vec<_> = expected.into_iter().map(|(_, id)| Timer::Enter(id)).collect();
        assert_eq!(due(&mut timers, 1_000), expected);
        assert_eq!(timers.next(), None);
    }

    #[test]
    fn a_timer_that_is_set_again_and_again_takes_no_more_memory() {
        let mut timers = Timers::<campaign::Timer>::default();
        (0..10_000).for_each(|nanos| set(&mut timers, Timer::Turn, nanos));
        assert_eq!(timers.heap.len(), 1);
        assert_eq!(due(&mut timers, 9_999), [Timer::Turn]);
    }
}
