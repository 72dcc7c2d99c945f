//! Future events, in the order of time.

use std::cmp::Ordering;
use std::collections::BinaryHeap;

use incumbent_core::Instant;

/// A queue of events; those of one instant come in the order in which they were put in.
#[derive(Debug)]
pub(crate) struct Queue<E> {
    heap: BinaryHeap<Due>,
    put: u64,
    /// The events of the heap, which are large: the heap moves only their places.
    events: Vec<Option<E>>,
    free: Vec<usize>,
}

#[derive(Debug)]
struct Due {
    at: Instant,
    number: u64,
    place: usize,
}

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
        self.heap.push(Due { at, number: self.put, place });
    }

    pub(crate) fn take(&mut self) -> Option<(Instant, E)> {
        let Due { at, place, .. } = self.heap.pop()?;
        self.free.push(place);
        Some((at, self.events[place].take()?))
    }
}

impl Ord for Due {
    fn cmp(&self, other: &Self) -> Ordering {
        // The greatest item of the heap is the earliest.
        (other.at, other.number).cmp(&(self.at, self.number))
    }
}

impl PartialOrd for Due {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Due {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Due {}
