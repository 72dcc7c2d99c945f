//! One watch of a store, shared by all guests that watch one of its keys.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

use futures_util::StreamExt;
use futures_util::stream::BoxStream;
use incumbent::Clock;
use incumbent::incumbent_core::Incarnation;
use incumbent::incumbent_core::record::Entry;
use incumbent::incumbent_core::store::{Fault, FaultKind};
use incumbent::store::{Adapter, WatchEvent, Watched};
use tokio::sync::Notify;
use tokio::task::JoinHandle;

/// The watch of a store. It begins when the first guest requests it, and ends when the store closes it or has a new
/// incarnation. The next request begins it again.
#[derive(Default)]
pub(crate) struct Feed {
    present: Arc<Mutex<Present>>,
    /// Held while a watch is opened, so that there is only one.
    beginning: tokio::sync::Mutex<()>,
}

#[derive(Default)]
struct Present {
    /// The incarnation of the store at its latest inspection.
    incarnation: Option<Incarnation>,
    /// Counts the watches; a watch with an outdated number belongs to an old incarnation, and its entries are ignored.
    number: u64,
    stream: Option<Stream>,
}

struct Stream {
    /// The newest entry of every key, for later followers.
    newest: HashMap<String, Entry>,
    followers: Vec<(String, Weak<Unread>)>,
    reader: JoinHandle<()>,
}

impl Drop for Stream {
    fn drop(&mut self) {
        self.reader.abort();
        self.followers.iter().filter_map(|(_, unread)| unread.upgrade()).for_each(|unread| unread.end());
    }
}

impl Feed {
    /// Records the incarnation from an inspection. Ends a watch of another incarnation.
    pub(crate) fn inspected(&self, incarnation: Incarnation) {
        let mut present = lock(&self.present);
        if present.incarnation.replace(incarnation).is_some_and(|known| known != incarnation) {
            present.number += 1;
            present.stream = None;
        }
    }

    /// Follows a key: its current entry, and every change from now on.
    pub(crate) async fn follow(
        &self,
        adapter: &dyn Adapter,
        key: String,
        clock: Clock,
        news: Arc<Notify>,
    ) -> Result<Watch, Fault> {
        let _one_at_a_time = self.beginning.lock().await;
        let unread = Arc::new(Unread { state: Mutex::default(), news });
        if !lock(&self.present).join(&key, &unread) {
            let number = {
                let mut present = lock(&self.present);
                present.number += 1;
                present.number
            };
            let stream = adapter.watch().await?;
            let mut present = lock(&self.present);
            if present.number != number {
                let detail = "the store was replaced while the watch began".into();
                return Err(Fault { kind: FaultKind::Unreachable, detail });
            }
            let reader = tokio::spawn(read(stream, Arc::downgrade(&self.present), number));
            present.stream = Some(Stream { newest: HashMap::new(), followers: Vec::new(), reader });
            present.join(&key, &unread);
        }
        Ok(Watch { unread, clock })
    }
}

impl Present {
    /// Adds a follower and passes it the known entry at once. Returns whether there is a watch to follow.
    fn join(&mut self, key: &str, unread: &Arc<Unread>) -> bool {
        let Some(stream) = &mut self.stream else { return false };
        if let Some(entry) = stream.newest.get(key) {
            unread.show(entry.clone());
        }
        stream.followers.retain(|(_, unread)| unread.strong_count() > 0);
        stream.followers.push((key.to_owned(), Arc::downgrade(unread)));
        true
    }
}

/// Reads a watch to its end.
async fn read(mut stream: BoxStream<'static, Watched>, present: Weak<Mutex<Present>>, number: u64) {
    loop {
        let next = stream.next().await;
        let Some(present) = present.upgrade() else { return };
        let mut present = lock(&present);
        if present.number != number {
            return;
        }
        let (Some(next), Some(stream)) = (next, &mut present.stream) else {
            // Dropping it notifies the followers.
            present.stream = None;
            return;
        };
        let Watched::Entry(WatchEvent { key, entry }) = next else { continue };
        let followers = stream.followers.iter().filter(|(followed, _)| *followed == key);
        followers.filter_map(|(_, unread)| unread.upgrade()).for_each(|unread| unread.show(entry.clone()));
        stream.newest.insert(key, entry);
    }
}

/// A watch of one key that a guest holds.
#[allow(unreachable_pub, reason = "named by the generated bindings")]
pub struct Watch {
    unread: Arc<Unread>,
    clock: Clock,
}

/// The entry that one guest has not read yet; only the newest is kept.
struct Unread {
    state: Mutex<State>,
    news: Arc<Notify>,
}

#[derive(Default)]
struct State {
    entry: Option<Entry>,
    ended: bool,
}

impl Unread {
    fn show(&self, entry: Entry) {
        lock(&self.state).entry = Some(entry);
        self.news.notify_one();
    }

    fn end(&self) {
        lock(&self.state).ended = true;
        self.news.notify_one();
    }

    /// Takes an entry, or the end of the watch; `None` if there is nothing new.
    fn take(&self) -> Option<Result<Entry, Fault>> {
        let mut state = lock(&self.state);
        match state.entry.take() {
            Some(entry) => Some(Ok(entry)),
            None if state.ended => {
                let detail = "the watch ended; begin another one".into();
                Some(Err(Fault { kind: FaultKind::Unreachable, detail }))
            }
            None => None,
        }
    }
}

impl Watch {
    /// Waits for a new entry, up to `limit`.
    pub(crate) async fn poll(&self, limit: Duration) -> Result<Option<Entry>, Fault> {
        let until = self.clock.now() + limit;
        loop {
            if let Some(result) = self.unread.take() {
                return result.map(Some);
            }
            if self.clock.now() >= until {
                return Ok(None);
            }
            tokio::select! {
                () = self.unread.news.notified() => {}
                () = self.clock.sleep_until(until) => {}
            }
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    // No code panics halfway through a change while it holds the lock.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
