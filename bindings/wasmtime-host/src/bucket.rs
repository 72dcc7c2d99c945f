//! A store of the runtime as the bucket of a guest.

use std::sync::Arc;
use std::time::Duration;

use incumbent::Clock;
use incumbent::incumbent_core::record::{Attempt, Entry, Headers, LONGEST};
use incumbent::incumbent_core::store::{Action, Expect, Fault, FaultKind, Outcome, Put, StoreInfo, Write};
use incumbent::incumbent_core::{Instant, Revision};
use incumbent::store::Adapter;
use tokio::sync::{Mutex, Notify};

use crate::watch::{Feed, Watch};

/// A store, shared by all guests that open it, with one connection and one watch.
pub(crate) struct Shared {
    pub(crate) adapter: Arc<dyn Adapter>,
    pub(crate) clock: Clock,
    feed: Feed,
    /// When the current connection was made; `None` for the first one.
    connected: Mutex<Option<Instant>>,
}

impl Shared {
    pub(crate) fn new(adapter: Box<dyn Adapter>, clock: Clock) -> Self {
        Self { adapter: adapter.into(), clock, feed: Feed::default(), connected: Mutex::new(None) }
    }
}

/// A bucket that a guest has opened.
#[allow(unreachable_pub, reason = "named by the generated bindings")]
pub struct Bucket {
    shared: Arc<Shared>,
    /// The longest time that a call may wait.
    longest: Duration,
    /// The time of the guest's last request.
    requested: Instant,
}

impl Bucket {
    pub(crate) fn new(shared: Arc<Shared>, longest: Duration) -> Self {
        Self { shared, longest, requested: Instant::ZERO }
    }

    pub(crate) fn adapter(&self) -> &dyn Adapter {
        &*self.shared.adapter
    }

    /// Begins a call whose guest allows `nanos`; returns its time limit.
    fn begin(&mut self, nanos: u64) -> Duration {
        self.requested = self.shared.clock.now();
        Duration::from_nanos(nanos).min(self.longest)
    }

    pub(crate) async fn inspect(&mut self, limit: u64) -> Result<StoreInfo, Fault> {
        let limit = self.begin(limit);
        let info = self.answer(limit, "an inspection", self.shared.adapter.inspect()).await?;
        self.shared.feed.inspected(info.incarnation);
        Ok(info)
    }

    pub(crate) async fn read(&mut self, key: &str, limit: u64) -> Result<Entry, Fault> {
        let limit = self.begin(limit);
        self.answer(limit, "a read", self.shared.adapter.read(key)).await
    }

    pub(crate) async fn put(&mut self, key: &str, expect: Expect, put: Put, limit: u64) -> Outcome {
        self.write(key, expect, Action::Renew(put), limit).await
    }

    pub(crate) async fn delete(&mut self, key: &str, expect: u64, headers: Headers, limit: u64) -> Outcome {
        self.write(key, Expect::Revision(Revision(expect)), Action::Release { headers }, limit).await
    }

    async fn write(&mut self, key: &str, expect: Expect, action: Action, limit: u64) -> Outcome {
        let limit = self.begin(limit);
        if let Some(fault) = too_long(&action) {
            return Outcome::Failed(fault);
        }
        // Stores ignore the attempt's number; the headers contain it.
        let write = Write { attempt: Attempt(0), expect, action };
        self.within(limit, self.shared.adapter.write(key, write)).await.unwrap_or(Outcome::Unknown)
    }

    /// Reconnects, unless a new connection was made since this guest's last request: another guest may have asked for
    /// it.
    pub(crate) async fn reconnect(&mut self, limit: u64) -> Result<(), Fault> {
        let requested = self.requested;
        let limit = Duration::from_nanos(limit).min(self.longest);
        let connect = async {
            let mut connected = self.shared.connected.lock().await;
            if connected.is_none_or(|at| at <= requested) {
                self.shared.adapter.reconnect().await;
                *connected = Some(self.shared.clock.now());
            }
            Ok(())
        };
        self.answer(limit, "a new connection", connect).await
    }

    pub(crate) async fn watch(&mut self, key: String, limit: u64, news: Arc<Notify>) -> Result<Watch, Fault> {
        let limit = self.begin(limit);
        let (feed, clock) = (&self.shared.feed, self.shared.clock.clone());
        let follow = feed.follow(&*self.shared.adapter, key, clock, news);
        self.answer(limit, "a watch", follow).await
    }

    async fn answer<T>(
        &self,
        limit: Duration,
        what: &str,
        ask: impl Future<Output = Result<T, Fault>>,
    ) -> Result<T, Fault> {
        self.within(limit, ask).await.unwrap_or_else(|| {
            let detail = format!("the store did not answer {what} within {limit:?}");
            Err(Fault { kind: FaultKind::Unreachable, detail })
        })
    }

    /// Waits for `work`, but no longer than `limit`.
    async fn within<T>(&self, limit: Duration, work: impl Future<Output = T>) -> Option<T> {
        let clock = &self.shared.clock;
        let until = clock.now() + limit;
        tokio::select! {
            biased;
            done = work => Some(done),
            () = clock.sleep_until(until) => None,
        }
    }
}

/// Refuses a write larger than any campaign's, because otherwise a guest that is no campaigner could keep its data in
/// the store.
fn too_long(action: &Action) -> Option<Fault> {
    let (value, headers) = match action {
        Action::Acquire(put) | Action::Renew(put) => (put.value.len(), &put.headers),
        Action::Release { headers } => (0, headers),
    };
    let bytes = headers.iter().fold(value, |sum, (name, text)| sum.saturating_add(name.len() + text.len()));
    let detail = || format!("the guest writes {bytes} bytes, and a record has {LONGEST} at most");
    (bytes > LONGEST).then(|| Fault { kind: FaultKind::Broken, detail: detail() })
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test fails by panicking")]
mod tests {
    use super::*;

    #[test]
    fn the_interfaces_state_the_bound_of_the_core() {
        assert_eq!(LONGEST, 65_536);
        for page in [include_str!("../wit/records.wit"), include_str!("../wit/kv.wit")] {
            assert!(page.contains("65,536 bytes"), "{page}");
        }
    }

    #[tokio::test]
    async fn a_guest_that_writes_more_than_a_record_gets_an_error_and_nothing_is_written() {
        let clock = Clock::system();
        let store = incumbent::store::open("memory:", &clock).await.unwrap();
        let mut bucket = Bucket::new(Arc::new(Shared::new(store, clock)), Duration::from_secs(5));
        let put = |bytes: usize| Put {
            value: "a".into(),
            headers: vec![("X".into(), "x".repeat(bytes - 2))],
            lease: Duration::from_secs(5),
        };
        let limit = 1_000_000_000;
        let refused = bucket.put("jobs", Expect::Absent, put(LONGEST + 1), limit).await;
        let detail = "the guest writes 65537 bytes, and a record has 65536 at most".to_owned();
        assert_eq!(refused, Outcome::Failed(Fault { kind: FaultKind::Broken, detail }));
        let applied = bucket.put("jobs", Expect::Absent, put(LONGEST), limit).await;
        assert!(matches!(applied, Outcome::Applied { .. }), "{applied:?}");
    }
}
