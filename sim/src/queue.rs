//! Future events, in the order of time.

use std::cmp::Ordering;
use std::collections::BinaryHeap;

use incumbent_core::Instant;

/// A queue of events; those of one instant come in the order in which they were put in.
#[derive(Debug)]
pub(crate) struct Queue<E> {
    heap: BinaryHeap<Due<E>>,
    put: u64,
}

#[derive(Debug)]
struct Due<E> {
    at: Instant,
    number: u64,
    event: E,
}

impl<E> Queue<E> {
    pub(crate) fn new() -> Self {
        Self { heap: BinaryHeap::new(), put: 0 }
    }

    pub(crate) fn put(&mut self, at: Instant, event: E) {
        self.put += 1;
        self.heap.push(Due { at, number: self.put, event });
    }

    pub(crate) fn take(&mut self) -> Option<(Instant, E)> {
        self.heap.pop().map(|due| (due.at, due.event))
    }
}

impl<E> Ord for Due<E> {
    fn cmp(&self, other: &Self) -> Ordering {
        // The greatest item of the heap is the earliest.
        (other.at, other.number).cmp(&(self.at, self.number))
    }
}

impl<E> PartialOrd for Due<E> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<E> PartialEq for Due<E> {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl<E> Eq for Due<E> {}
