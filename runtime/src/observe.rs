//! Watching an election without taking part.

use std::collections::VecDeque;
use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use futures_util::{Stream, StreamExt};
use incumbent_core::Instant;
use incumbent_core::campaign::Leader;

use crate::clock::Clock;
use crate::hub::Requests;
use crate::queue::{Subscription, Told};

/// Who leads an election, as an observer sees it.
///
/// It says what the store holds. A leader that crashed is there until its record expires, and one that
/// has won may still be waiting until it is told so.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Observation {
    /// The election's key.
    pub election: Arc<str>,
    /// Who holds the seat, with the revision at which it was first seen to and with what it publishes;
    /// `None`: the seat is vacant.
    pub leader: Option<Leader>,
    /// When this was first seen, on the store's clock.
    pub since: Instant,
}

/// The changes of an election's seat; made by [`Store::observe`](crate::Store::observe).
///
/// It begins with who holds the seat now, and then tells every change of the holder, of what it publishes,
/// and every vacancy as soon as the store shows it: a release or a deletion at once, an expiry at once
/// where the store tells of it and when the lease is over elsewhere. It ends when the store is closed.
///
/// An observer that falls 1024 observations behind loses the oldest.
pub struct Observer {
    pub(crate) seen: Subscription<Observation>,
    pub(crate) clock: Clock,
    /// Keeps the store open.
    pub(crate) _store: Requests,
}

impl Observer {
    /// The next observation; `None` when the store is closed. Cancel-safe.
    pub async fn next(&mut self) -> Option<Observation> {
        StreamExt::next(self).await
    }

    /// For how long what `observation` says has been so.
    pub fn age(&self, observation: &Observation) -> Duration {
        self.clock.now().since(observation.since)
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

impl Told for Observation {
    fn shed(waiting: &mut VecDeque<Self>) -> u64 {
        waiting.pop_front().into_iter().count() as u64
    }
}
