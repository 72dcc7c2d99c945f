//! A stream of items, in order.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use crate::bell::Bell;
use crate::engine::Engine;
use crate::here::Here;
use crate::mailbox::Mailbox;
use crate::teller::Wake;
use crate::{Error, Result};

/// The source of a feed: a bounded queue. The driver writes to it without waiting.
pub(crate) trait Source<T>: Send {
    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Option<T>>;

    /// The number of items that were dropped because they were not read in time.
    fn missed(&self) -> u64;
}

/// A stream of items, in order; each item goes to one taker.
///
/// The protocol is that of an [`Operation`](crate::Operation): take; where nothing is there, wait or register a wake
/// for an event loop; then repeat.
pub struct Feed<T> {
    source: Here<Mutex<Option<Box<dyn Source<T>>>>>,
    bell: Arc<Bell>,
}

/// The outcome of taking from a feed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Taken<T> {
    /// The next item.
    Item(T),
    /// Nothing at present.
    Nothing,
    /// The end of the feed.
    Over,
}

impl<T> Feed<T> {
    pub(crate) fn new(source: impl Source<T> + 'static) -> Result<Self> {
        // Rung from the start: the source notifies nothing before the first `take` has polled it.
        let bell = Bell::new(Engine::get()?);
        bell.ring();
        Ok(Self { source: Here::new(Mutex::new(Some(Box::new(source)))), bell })
    }

    /// Takes the next item, if it is there. Never waits.
    ///
    /// # Errors
    /// `Forked` in a forked child.
    pub fn take(&self) -> Result<Taken<T>> {
        let mut place = self.lock()?;
        let Some(source) = place.as_mut() else { return Ok(Taken::Over) };
        // Cleared before the poll, so that an item that arrives in between is noticed.
        self.bell.reset();
        let waker = Waker::from(Arc::clone(&self.bell));
        let taken = match source.poll(&mut Context::from_waker(&waker)) {
            Poll::Ready(Some(item)) => Taken::Item(item),
            Poll::Ready(None) => Taken::Over,
            Poll::Pending => return Ok(Taken::Nothing),
        };
        // Wakes other waiters, since there may be more: an item that was there already wakes no one else.
        self.bell.ring();
        Ok(taken)
    }

    /// Waits on this thread until there may be something to take, up to `limit`. Returns whether there may.
    pub fn wait(&self, limit: Option<Duration>) -> bool {
        self.bell.wait(limit)
    }

    /// Calls `wake`, on the wake thread, when there may be something to take. Where there may be already, drops `wake`
    /// and returns false: the caller takes.
    pub fn tell(&self, wake: Wake) -> bool {
        self.bell.tell(wake)
    }

    /// Like [`tell`](Self::tell), and sooner by a change of threads: calls `wake` on the notifying thread, possibly the
    /// one that renews leases. `wake` must not wait for anything, nor run application code.
    pub fn tell_here(&self, wake: Wake) -> bool {
        self.bell.tell_here(wake)
    }

    /// Puts `letter` into `mailbox` when there may be something to take, from the notifying thread; otherwise like
    /// [`tell`](Self::tell). For event loops that can watch a file descriptor: involves no other thread and no lock of
    /// the language.
    pub fn write(&self, mailbox: &Arc<Mailbox>, letter: u64) -> bool {
        self.bell.write(mailbox, letter)
    }

    /// The number of items that were dropped because they were not taken in time.
    pub fn missed(&self) -> u64 {
        self.lock().ok().and_then(|place| place.as_ref().map(|source| source.missed())).unwrap_or(0)
    }

    /// Ends the feed: nothing more is taken, and waiters are notified.
    pub fn close(&self) {
        let Ok(mut place) = self.lock() else { return };
        let source = place.take();
        drop(place);
        drop(source);
        self.bell.ring();
    }

    fn lock(&self) -> Result<MutexGuard<'_, Option<Box<dyn Source<T>>>>> {
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
    use futures_util::StreamExt;
    use std::sync::mpsc;

    /// Reads numbers as from a tokio channel.
    struct Numbers(futures_util::stream::BoxStream<'static, u32>);

    impl Source<u32> for Numbers {
        fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Option<u32>> {
            self.0.poll_next_unpin(cx)
        }

        fn missed(&self) -> u64 {
            0
        }
    }

    fn feed() -> (tokio::sync::mpsc::UnboundedSender<u32>, Feed<u32>) {
        let (sender, mut receiver) = tokio::sync::mpsc::unbounded_channel();
        let stream = futures_util::stream::poll_fn(move |cx| receiver.poll_recv(cx)).boxed();
        (sender, Feed::new(Numbers(stream)).unwrap())
    }

    #[test]
    fn what_comes_wakes_who_waits_and_is_taken_in_order() {
        let (sender, feed) = feed();
        assert_eq!(feed.take(), Ok(Taken::Nothing));
        let (told, heard) = mpsc::channel();
        assert!(feed.tell(Box::new(move || told.send(()).unwrap())));
        sender.send(1).unwrap();
        sender.send(2).unwrap();
        heard.recv().unwrap();
        assert_eq!(
            [feed.take(), feed.take(), feed.take()],
            [Ok(Taken::Item(1)), Ok(Taken::Item(2)), Ok(Taken::Nothing)]
        );
        drop(sender);
        assert!(feed.wait(None));
        assert_eq!(feed.take(), Ok(Taken::Over));
    }

    #[test]
    fn a_wake_that_asks_for_it_is_called_where_the_news_is_and_one_that_panics_harms_nothing() {
        let (sender, feed) = feed();
        assert_eq!(feed.take(), Ok(Taken::Nothing));
        let (told, heard) = mpsc::channel();
        assert!(feed.tell_here(Box::new(|| panic!("on purpose"))));
        assert!(feed.tell_here(Box::new(move || told.send(std::thread::current().id()).unwrap())));
        sender.send(1).unwrap();
        // Already there, so called on this very thread.
        assert_eq!(heard.try_recv(), Ok(std::thread::current().id()));
        assert!(!feed.tell_here(Box::new(|| ())), "it is there already");
    }

    #[test]
    fn a_second_waiter_hears_of_what_the_first_left() {
        let (sender, feed) = feed();
        assert_eq!(feed.take(), Ok(Taken::Nothing));
        sender.send(1).unwrap();
        sender.send(2).unwrap();
        assert_eq!(feed.take(), Ok(Taken::Item(1)));
        assert!(feed.wait(Some(Duration::ZERO)), "a second one is there");
    }

    #[test]
    fn a_feed_that_is_closed_is_over_for_who_waits() {
        let (_sender, feed) = feed();
        assert_eq!(feed.take(), Ok(Taken::Nothing));
        let (told, heard) = mpsc::channel();
        assert!(feed.tell(Box::new(move || told.send(()).unwrap())));
        feed.close();
        heard.recv().unwrap();
        assert_eq!(feed.take(), Ok(Taken::Over));
    }

    #[test]
    fn waiting_ends_at_its_limit() {
        let (_sender, feed) = feed();
        assert_eq!(feed.take(), Ok(Taken::Nothing));
        assert!(!feed.wait(Some(Duration::from_millis(1))));
    }
}
