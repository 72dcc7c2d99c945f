//! Future events, ordered by time.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use incumbent_core::Instant;

/// A queue of events. Events of the same instant happen in the order in which they were added.
///
/// It is a radix heap: an event is added without a comparison, and moves a few times until it is taken. That works
/// because hardly any event is added for an instant before the last one taken.
#[derive(Debug)]
pub(crate) struct Queue<E> {
    /// The instant of the last event taken, but never earlier than one before it.
    last: u64,
    /// The events at that instant.
    ready: VecDeque<u32>,
    /// Later events, in the order in which they were added: each at the highest bit in which its instant differs from
    /// the last one. So the first list with an event has the earliest.
    later: [Vec<(u64, u32)>; 64],
    /// A bit for each list with an event.
    filled: u64,
    /// Earlier events: instants, numbers and indices.
    overdue: BinaryHeap<Reverse<(u64, u64, u32)>>,
    put: u64,
    /// The events. They are large, so only their indices are moved.
    events: Vec<Option<E>>,
    free: Vec<u32>,
}

impl<E> Queue<E> {
    pub(crate) fn new() -> Self {
        Self {
            last: 0,
            ready: VecDeque::new(),
            later: [const { Vec::new() }; 64],
            filled: 0,
            overdue: BinaryHeap::new(),
            put: 0,
            events: Vec::new(),
            free: Vec::new(),
        }
    }

    pub(crate) fn put(&mut self, at: Instant, event: E) {
        self.put += 1;
        let place = match self.free.pop() {
            Some(place) => {
                self.events[place as usize] = Some(event);
                place
            }
            None => {
                self.events.push(Some(event));
                // Memory is exhausted long before indices are.
                (self.events.len() - 1) as u32
            }
        };
        let at = at.as_nanos();
        if at < self.last {
            self.overdue.push(Reverse((at, self.put, place)));
        } else {
            self.sort(at, place);
        }
    }

    /// Takes the next event.
    pub(crate) fn take(&mut self) -> Option<(Instant, E)> {
        let (at, place) = self.next()?;
        Some((at, self.remove(place)?))
    }

    /// The next event's instant and index, for [`remove`](Self::remove).
    pub(crate) fn next(&mut self) -> Option<(Instant, u32)> {
        if let Some(Reverse((at, _, place))) = self.overdue.pop() {
            return Some((Instant::from_nanos(at), place));
        }
        if self.ready.is_empty() && self.filled != 0 {
            let bit = self.filled.trailing_zeros();
            self.filled ^= 1 << bit;
            let mut first = std::mem::take(&mut self.later[bit as usize]);
            self.last = first.iter().map(|(at, _)| *at).min().unwrap_or(self.last);
            first.drain(..).for_each(|(at, place)| self.sort(at, place));
            // Keeps its memory.
            self.later[bit as usize] = first;
        }
        let place = self.ready.pop_front()?;
        Some((Instant::from_nanos(self.last), place))
    }

    /// Takes the event at an index. In two calls an event, which is large, moves once.
    pub(crate) fn remove(&mut self, place: u32) -> Option<E> {
        self.free.push(place);
        self.events[place as usize].take()
    }

    /// Lists an event at the last instant or later.
    fn sort(&mut self, at: u64, place: u32) {
        match (at ^ self.last).checked_ilog2() {
            None => self.ready.push_back(place),
            Some(bit) => {
                self.filled |= 1 << bit;
                self.later[bit as usize].push((at, place));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dice::Dice;

    #[test]
    fn events_come_by_their_instants_and_then_as_they_were_added() {
        let mut dice = Dice::new(1, 1);
        let mut queue = Queue::new();
        let mut expected = Vec::new();
        let (mut now, mut number) = (1_000_u64, 0_u64);
        for _ in 0..20_000 {
            for _ in 0..dice.below(4) {
                number += 1;
                // Some soon, some late, many at once, and now and then one that should have been taken already.
                let span = dice.pick(&[0, 3, 1_000, 1_000_000_000]);
                let at = (now + dice.below(span + 1)).saturating_sub(dice.pick(&[0, 0, 0, 0, 0, 0, 0, 50]));
                queue.put(Instant::from_nanos(at), number);
                expected.push((at, number));
            }
            let first = expected.iter().copied().min();
            assert_eq!(queue.take().map(|(at, number)| (at.as_nanos(), number)), first);
            expected.retain(|event| Some(*event) != first);
            now = first.map_or(now, |(at, _)| at);
        }
    }
}
