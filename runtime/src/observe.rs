//! Watching an election without taking part.

use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use futures_util::{Stream, StreamExt};

use crate::driver::request::{DriverHandle, Request};
use crate::observation::Observation;
use crate::queue::Subscription;
use incumbent_store::clock::Clock;

/// The changes of an election's leader; returned by [`Store::observe`](crate::Store::observe).
///
/// The stream begins with the present holder. Then it emits every change of the holder or its metadata, and every
/// vacancy as soon as the store shows it: a release or a deletion at once; an expiry at once if the store reports
/// expiries, and otherwise when the lease is over. The stream ends when the store is closed.
///
/// An observer that falls 1024 observations behind loses the oldest.
pub struct Observer {
    pub(crate) seen: Subscription<Observation>,
    pub(crate) clock: Clock,
    pub(crate) election: Arc<str>,
    /// Keeps the store open.
    pub(crate) store: DriverHandle,
}

impl Observer {
    /// The next observation; `None` when the store is closed. Cancel-safe.
    pub async fn next(&mut self) -> Option<Observation> {
        StreamExt::next(self).await
    }

    /// The time since `observation` began to hold.
    pub fn age(&self, observation: &Observation) -> Duration {
        self.clock.now().since(observation.since)
    }
}

impl Drop for Observer {
    fn drop(&mut self) {
        // In a forked child nothing is sent, because the driver's thread may have held the locks of `seen` and of the
        // store when the process forked.
        if !self.store.is_forked() {
            self.seen.unsubscribe();
            // A driver that has ended observes nothing.
            let _ = self.store.send(Request::Unobserved { election: Arc::clone(&self.election) });
        }
    }
}

impl Stream for Observer {
    type Item = Observation;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Observation>> {
        self.seen.poll_next_unpin(cx)
    }
}

impl fmt::Debug for Observer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Observer").finish_non_exhaustive()
    }
}
