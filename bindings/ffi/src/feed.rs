//! A stream of items, in order: the events of a candidate, the observations of an election.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Wake as _, Waker};

use futures::stream::Map;
use futures::{Stream, StreamExt as _};

use crate::engine::{Engine, ProcessBound};
use crate::ready::Ready;
use crate::{Error, Result};

/// The source of a feed: a bounded queue. The driver writes to it without waiting.
pub(crate) trait Source: Stream + Send + Unpin + 'static {
    /// The number of items that were dropped because they were not read in time.
    fn missed(&self) -> u64 {
        0
    }
}

impl Source for incumbent::Events {
    fn missed(&self) -> u64 {
        Self::missed(self)
    }
}

impl Source for incumbent::Observer {}

/// A source that converts its items for a language.
trait Converted<T>: Stream<Item = T> + Send + Unpin {
    fn missed(&self) -> u64;
}

impl<S: Source, T, F: FnMut(S::Item) -> T + Send> Converted<T> for Map<S, F> {
    fn missed(&self) -> u64 {
        self.get_ref().missed()
    }
}

/// A stream of items, in order; each item goes to one taker.
///
/// The protocol is the same as for an [`Operation`](crate::Operation): take an item; if there is none, wait until the
/// feed is [ready](Self::ready), or register a wake there; then repeat.
pub struct Feed<T> {
    source: ProcessBound<Mutex<Option<Box<dyn Converted<T>>>>>,
    ready: Arc<Ready>,
}

/// The outcome of taking from a feed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NextItem<T> {
    /// The next item.
    Ready(T),
    /// Nothing at present.
    Pending,
    /// The end of the feed.
    End,
}

impl<T: 'static> Feed<T> {
    /// `convert` turns an item into the language's value when it is taken.
    pub(crate) fn new<S: Source>(
        source: S,
        convert: impl FnMut(S::Item) -> T + Send + 'static,
    ) -> Result<Self> {
        // Ready from the start, because the source notifies nothing before the first `take` has polled it.
        let ready = Ready::new(Engine::get()?);
        ready.wake_by_ref();
        Ok(Self { source: ProcessBound::new(Mutex::new(Some(Box::new(source.map(convert))))), ready })
    }

    /// Takes the next item, if it is there. Never waits.
    ///
    /// # Errors
    /// `Forked` in a forked child.
    pub fn take(&self) -> Result<NextItem<T>> {
        let mut source = self.lock()?;
        let Some(source) = source.as_mut() else { return Ok(NextItem::End) };
        // Cleared before the poll, so that an item that arrives in between is noticed.
        self.ready.reset();
        let waker = Waker::from(Arc::clone(&self.ready));
        let taken = match source.poll_next_unpin(&mut Context::from_waker(&waker)) {
            Poll::Ready(Some(item)) => NextItem::Ready(item),
            Poll::Ready(None) => NextItem::End,
            Poll::Pending => return Ok(NextItem::Pending),
        };
        // Wakes other waiters, since there may be more items, and items that were already there wake no other waiter.
        self.ready.wake_by_ref();
        Ok(taken)
    }

    /// The signal that there may be something to take, and the ways to wait for it.
    pub fn ready(&self) -> &Ready {
        &self.ready
    }

    /// The number of items that were dropped because they were not taken in time.
    pub fn missed(&self) -> u64 {
        self.lock().ok().and_then(|source| source.as_ref().map(|source| source.missed())).unwrap_or(0)
    }

    /// Ends the feed: nothing more is taken, and waiters are notified.
    pub fn close(&self) {
        let Ok(mut locked) = self.lock() else { return };
        let source = locked.take();
        drop(locked);
        drop(source);
        self.ready.wake_by_ref();
    }

    fn lock(&self) -> Result<MutexGuard<'_, Option<Box<dyn Converted<T>>>>> {
        let source = self.source.get("feed").map_err(|_| Error::forked())?;
        Ok(source.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl<T> fmt::Debug for Feed<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Feed").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures::stream::BoxStream;
    use std::sync::mpsc;
    use std::time::Duration;

    /// Reads numbers as from a tokio channel.
    impl Source for BoxStream<'static, u32> {}

    fn feed() -> (tokio::sync::mpsc::UnboundedSender<u32>, Feed<u32>) {
        let (sender, mut receiver) = tokio::sync::mpsc::unbounded_channel();
        let stream = futures::stream::poll_fn(move |cx| receiver.poll_recv(cx));
        (sender, Feed::new(Box::pin(stream) as BoxStream<'static, u32>, |number| number).unwrap())
    }

    #[test]
    fn an_item_wakes_the_waiters_and_is_taken_in_order() {
        let (sender, feed) = feed();
        assert_eq!(feed.take(), Ok(NextItem::Pending));
        let (woke, woken) = mpsc::channel();
        assert!(feed.ready().wake(Box::new(move || woke.send(()).unwrap())));
        sender.send(1).unwrap();
        sender.send(2).unwrap();
        woken.recv().unwrap();
        assert_eq!(
            [feed.take(), feed.take(), feed.take()],
            [Ok(NextItem::Ready(1)), Ok(NextItem::Ready(2)), Ok(NextItem::Pending)]
        );
        drop(sender);
        assert!(feed.ready().wait(None));
        assert_eq!(feed.take(), Ok(NextItem::End));
    }

    #[test]
    fn an_inline_wake_is_called_on_the_notifying_thread_and_a_panic_in_it_harms_nothing() {
        let (sender, feed) = feed();
        assert_eq!(feed.take(), Ok(NextItem::Pending));
        let (woke, woken) = mpsc::channel();
        assert!(feed.ready().wake_inline(Box::new(|| panic!("on purpose"))));
        assert!(feed.ready().wake_inline(Box::new(move || woke.send(std::thread::current().id()).unwrap())));
        sender.send(1).unwrap();
        // The item is already there, so the wake is called on this thread.
        assert_eq!(woken.try_recv(), Ok(std::thread::current().id()));
        assert!(!feed.ready().wake_inline(Box::new(|| ())), "it is there already");
    }

    #[test]
    fn a_second_waiter_is_notified_of_what_the_first_left() {
        let (sender, feed) = feed();
        assert_eq!(feed.take(), Ok(NextItem::Pending));
        sender.send(1).unwrap();
        sender.send(2).unwrap();
        assert_eq!(feed.take(), Ok(NextItem::Ready(1)));
        assert!(feed.ready().wait(Some(Duration::ZERO)), "a second one is there");
    }

    #[test]
    fn a_feed_that_is_closed_is_over_for_its_waiters() {
        let (_sender, feed) = feed();
        assert_eq!(feed.take(), Ok(NextItem::Pending));
        let (woke, woken) = mpsc::channel();
        assert!(feed.ready().wake(Box::new(move || woke.send(()).unwrap())));
        feed.close();
        woken.recv().unwrap();
        assert_eq!(feed.take(), Ok(NextItem::End));
    }

    #[test]
    fn waiting_ends_at_its_limit() {
        let (_sender, feed) = feed();
        assert_eq!(feed.take(), Ok(NextItem::Pending));
        assert!(!feed.ready().wait(Some(Duration::from_millis(1))));
    }
}
