//! A bounded queue from a driver to one subscriber. The driver never waits.

use std::collections::VecDeque;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

use futures_util::Stream;

/// The number of items that a queue keeps for a subscriber that does not read.
pub(crate) const LIMIT: usize = 1024;

/// An item of a queue.
pub(crate) trait QueueItem: Sized {
    /// Removes items from a full queue, and returns their number.
    fn shed(waiting: &mut VecDeque<Self>) -> u64;
}

/// The driver's end.
pub(crate) struct Queue<T>(Mutex<Inner<T>>);

struct Inner<T> {
    waiting: VecDeque<T>,
    waker: Option<Waker>,
    missed: u64,
    /// The subscriber is gone.
    unsubscribed: bool,
    /// No more items will come.
    ended: bool,
}

impl<T: QueueItem> Queue<T> {
    pub(crate) fn new() -> (Arc<Self>, Subscription<T>) {
        let inner =
            Inner { waiting: VecDeque::new(), waker: None, missed: 0, unsubscribed: false, ended: false };
        let queue = Arc::new(Self(Mutex::new(inner)));
        (Arc::clone(&queue), Subscription(queue))
    }

    /// Adds an item, and returns the task to wake. Items after [`end`](Self::end) are dropped.
    #[must_use = "the subscriber waits until it is woken"]
    pub(crate) fn push(&self, item: T) -> Option<Waker> {
        let mut inner = self.lock();
        if inner.unsubscribed || inner.ended {
            return None;
        }
        inner.waiting.push_back(item);
        if inner.waiting.len() > LIMIT {
            inner.missed += T::shed(&mut inner.waiting);
        }
        inner.waker.take()
    }

    /// Ends the queue. Waiting items can still be read.
    #[must_use = "the subscriber waits until it is woken"]
    pub(crate) fn end(&self) -> Option<Waker> {
        let mut inner = self.lock();
        inner.ended = true;
        inner.waker.take()
    }

    /// Returns true if the subscriber is gone.
    pub(crate) fn is_unsubscribed(&self) -> bool {
        self.lock().unsubscribed
    }

    fn lock(&self) -> MutexGuard<'_, Inner<T>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The subscriber's end.
pub(crate) struct Subscription<T: QueueItem>(Arc<Queue<T>>);

impl<T: QueueItem> Subscription<T> {
    /// The number of items that were removed because the subscriber was too slow.
    pub(crate) fn missed(&self) -> u64 {
        self.0.lock().missed
    }

    /// Refuses further items, and drops the waiting ones.
    pub(crate) fn unsubscribe(&self) {
        let mut inner = self.0.lock();
        inner.unsubscribed = true;
        let unread = (std::mem::take(&mut inner.waiting), inner.waker.take());
        // The lock is released first, because unread items and the waker may own values whose destructors take locks.
        drop(inner);
        drop(unread);
    }
}

impl<T: QueueItem> Stream for Subscription<T> {
    type Item = T;

    fn poll_next(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<T>> {
        let mut inner = self.0.lock();
        match inner.waiting.pop_front() {
            Some(item) => Poll::Ready(Some(item)),
            None if inner.ended => Poll::Ready(None),
            None => {
                inner.waker = Some(cx.waker().clone());
                Poll::Pending
            }
        }
    }
}

impl<T: QueueItem> Drop for Subscription<T> {
    fn drop(&mut self) {
        self.unsubscribe();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures_util::{FutureExt, StreamExt};

    impl QueueItem for u64 {
        fn shed(waiting: &mut VecDeque<Self>) -> u64 {
            waiting.pop_front().map_or(0, |_| 1)
        }
    }

    #[test]
    fn a_full_queue_sheds_and_counts_what_it_shed() {
        let (queue, mut subscription) = Queue::new();
        for n in 0..LIMIT as u64 + 3 {
            assert!(queue.push(n).is_none());
        }
        assert_eq!(subscription.missed(), 3);
        assert_eq!(subscription.next().now_or_never(), Some(Some(3)));
    }

    #[test]
    fn what_waits_at_the_end_can_still_be_read() {
        let (queue, mut subscription) = Queue::new();
        assert!(queue.push(1).is_none());
        assert!(subscription.next().now_or_never().is_some());
        assert!(subscription.next().now_or_never().is_none());
        // The subscriber waits now.
        assert!(queue.push(2).is_some());
        assert!(queue.end().is_none());
        assert!(queue.push(3).is_none());
        assert_eq!(subscription.next().now_or_never(), Some(Some(2)));
        assert_eq!(subscription.next().now_or_never(), Some(None));
    }

    #[test]
    fn a_queue_without_a_reader_keeps_nothing() {
        let (queue, subscription) = Queue::new();
        drop(subscription);
        assert!(queue.is_unsubscribed());
        assert!(queue.push(1).is_none());
        assert!(queue.lock().waiting.is_empty());
    }
}
