//! Requests to the adapter, for the session and for callers: futures on the driver's own task, each with a limit.

use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use futures_util::stream::BoxStream;
use incumbent_core::campaign::ReadId;
use incumbent_core::record::{Attempt, Entry};
use incumbent_core::store::{Fault, FaultKind, Outcome, StoreInfo, Write};
use tokio_util::task::TaskTracker;

use super::{CampaignId, Reply};
use crate::clock::Clock;
use crate::notifier::{Notifier, WriteListener};
use crate::store::{Adapter, Registry, WatchEvent};
use crate::{Error, ErrorKind, Result};

/// The time limit of a read for an observer or for a caller.
const QUERY_LIMIT: Duration = Duration::from_secs(5);
/// The time that a closed campaign waits for its handlers to return.
const HANDLERS_LIMIT: Duration = Duration::from_secs(2);

/// The result of a request to the adapter.
pub(super) enum Done {
    Wrote(CampaignId, Attempt, Outcome),
    Read(CampaignId, ReadId, Result<Entry, Fault>),
    Inspected(u64, Result<StoreInfo, Fault>),
    /// Whether there is a new connection.
    Reconnected(bool),
    /// The watch of that number has begun, or failed.
    Watching(u64, Result<BoxStream<'static, WatchEvent>, Fault>),
    /// A read for observers, with the number of changes for detecting that the watch overtook it.
    ReadForObservers(Arc<str>, u64, Result<Entry, Fault>),
    /// Whether the candidates were registered.
    Registered(bool),
    /// The handlers of a closed campaign have returned, or the wait for them is over.
    HandlersReturned(CampaignId),
    /// A caller has its answer.
    Answered,
}

/// A request in flight.
pub(super) type InFlight = BoxFuture<'static, Done>;

/// Makes the requests.
pub(super) struct StoreRequests {
    pub(super) adapter: Arc<dyn Adapter>,
    pub(super) clock: Clock,
    /// Receives the outcomes of writes.
    pub(super) write_listener: WriteListener,
    /// Runs the code of users.
    pub(super) notifier: Notifier,
}

impl StoreRequests {
    /// A write. Without an answer within the limit, its outcome is unknown.
    pub(super) fn write(&self, id: CampaignId, key: &Arc<str>, write: Write, limit: Duration) -> InFlight {
        let (adapter, key, attempt) = (Arc::clone(&self.adapter), Arc::clone(key), write.attempt);
        let (clock, write_listener, notifier) =
            (self.clock.clone(), self.write_listener.clone(), self.notifier.clone());
        async move {
            let sent = clock.now();
            let outcome = within(clock.clone(), limit, adapter.write(&key, &write)).await;
            let outcome = outcome.unwrap_or(Outcome::Unknown);
            let took = clock.now().since(sent);
            write_listener.notify(&notifier, &key, (&write.action, &outcome, took));
            Done::Wrote(id, attempt, outcome)
        }
        .boxed()
    }

    pub(super) fn read(&self, id: CampaignId, key: &Arc<str>, read: ReadId, limit: Duration) -> InFlight {
        let (adapter, key) = (Arc::clone(&self.adapter), Arc::clone(key));
        let ask = self.bounded(limit, "a read", async move { adapter.read(&key).await });
        ask.map(move |answer| Done::Read(id, read, answer)).boxed()
    }

    pub(super) fn inspect(&self, number: u64, limit: Duration) -> InFlight {
        let adapter = Arc::clone(&self.adapter);
        let ask = self.bounded(limit, "an inspection", async move { adapter.inspect().await });
        ask.map(move |answer| Done::Inspected(number, answer)).boxed()
    }

    pub(super) fn reconnect(&self, limit: Duration) -> InFlight {
        let adapter = Arc::clone(&self.adapter);
        let connect = within(self.clock.clone(), limit, async move { adapter.reconnect().await });
        connect.map(|connected| Done::Reconnected(connected.is_some())).boxed()
    }

    pub(super) fn watch(&self, number: u64, limit: Duration) -> InFlight {
        let adapter = Arc::clone(&self.adapter);
        let begin = self.bounded(limit, "a watch", async move { adapter.watch().await });
        begin.map(move |watch| Done::Watching(number, watch)).boxed()
    }

    pub(super) fn read_for_observers(&self, key: &Arc<str>, changes: u64) -> InFlight {
        let (adapter, asked) = (Arc::clone(&self.adapter), Arc::clone(key));
        let ask = self.bounded(QUERY_LIMIT, "a read", async move { adapter.read(&asked).await });
        let key = Arc::clone(key);
        ask.map(move |answer| Done::ReadForObservers(key, changes, answer)).boxed()
    }

    pub(super) fn register(&self, roll: &Registry, limit: Duration) -> InFlight {
        let (adapter, roll) = (Arc::clone(&self.adapter), roll.clone());
        let register = self
            .bounded(limit, "the registration of candidates", async move { adapter.register(&roll).await });
        let registered = |registered: Result<(), Fault>| {
            if let Err(fault) = &registered {
                tracing::debug!("the candidates cannot be registered at present: {fault}");
            }
            Done::Registered(registered.is_ok())
        };
        register.map(registered).boxed()
    }

    pub(super) fn await_handlers(&self, id: CampaignId, tasks: TaskTracker) -> InFlight {
        let join = within(self.clock.clone(), HANDLERS_LIMIT, async move { tasks.wait().await });
        join.map(move |_| Done::HandlersReturned(id)).boxed()
    }

    /// Asks the store on behalf of a caller, and sends the caller the answer.
    pub(super) fn answer<T: Send + 'static>(
        &self,
        reply: Reply<T>,
        ask: impl Future<Output = Result<T, Fault>> + Send + 'static,
    ) -> InFlight {
        let ask = self.bounded(QUERY_LIMIT, "the query", ask);
        async move {
            // A caller that no longer waits needs no answer.
            let _ = reply.send(ask.await.map_err(error));
            Done::Answered
        }
        .boxed()
    }

    fn bounded<T: Send + 'static>(
        &self,
        limit: Duration,
        what: &'static str,
        ask: impl Future<Output = Result<T, Fault>> + Send + 'static,
    ) -> BoxFuture<'static, Result<T, Fault>> {
        let ask = within(self.clock.clone(), limit, ask);
        ask.map(move |answer| {
            answer.unwrap_or_else(|| {
                let detail = format!("the store did not answer {what} within {limit:?}");
                Err(Fault { kind: FaultKind::Unreachable, detail })
            })
        })
        .boxed()
    }
}

/// Waits for `work`, but no longer than `limit`.
pub(super) async fn within<T>(clock: Clock, limit: Duration, work: impl Future<Output = T>) -> Option<T> {
    let until = clock.now() + limit;
    tokio::select! {
        biased;
        done = work => Some(done),
        () = clock.sleep_until(until) => None,
    }
}

/// Converts a fault to the error of a call.
pub(super) fn error(fault: Fault) -> Error {
    let kind = match fault.kind {
        FaultKind::Denied => ErrorKind::PermissionDenied,
        FaultKind::Broken => ErrorKind::Broken,
        FaultKind::Unreachable => ErrorKind::StoreUnavailable,
    };
    Error::new(kind, fault.detail)
}
