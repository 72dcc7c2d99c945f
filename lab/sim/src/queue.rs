//! Future events, ordered by time.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use incumbent_core::Instant;

/// A queue of events. Events of the same instant happen in the order in which they were added.
#[derive(Debug)]
pub(crate) struct Queue<E> {
    heap: BinaryHeap<Reverse<Due>>,
    put: u64,
    /// The events. They are large, so the heap moves only their indices.
    events: Vec<Option<E>>,
    free: Vec<usize>,
}

/// The time and number of an event as one number, so that both are compared at once, and the event's index.
type Due = (u128, usize);

impl<E> Queue<E> {
    pub(crate) fn new() -> Self {
        Self { heap: BinaryHeap::new(), put: 0, events: Vec::new(), free: Vec::new() }
    }

    pub(crate) fn put(&mut self, at: Instant, event: E) {
        self.put += 1;
        let place = match self.free.pop() {
            Some(place) => {
                self.events[place] = Some(event);
                place
            }
            None => {
                self.events.push(Some(event));
                self.events.len() - 1
            }
        };
        let order = u128::from(at.as_nanos()) << 64 | u128::from(self.put);
        self.heap.push(Reverse((order, place)));
    }

    pub(crate) fn take(&mut self) -> Option<(Instant, E)> {
        let Reverse((order, place)) = self.heap.pop()?;
        self.free.push(place);
        Some((Instant::from_nanos((order >> 64) as u64), self.events[place].take()?))
    }
}
