//! Requests to the store, for the session and for callers: futures on the driver's own task, each with a limit.

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use futures_util::stream::{self, BoxStream};
use futures_util::{FutureExt, StreamExt};
use incumbent_core::record::Entry;
use incumbent_core::session::CampaignId;
use incumbent_core::store::{Fault, StoreInfo};
use tokio_util::task::TaskTracker;

use super::command::Reply;
use super::request::Enter;
use incumbent_store::Registry;
use incumbent_store::clock::Clock;
use incumbent_store::link::{Answers, Link, Watch, unanswered, within};
use incumbent_store::notifier::Notifier;
use incumbent_store::{Error, Result};

/// The time limit of a read for an observer or for a caller.
const QUERY_LIMIT: Duration = Duration::from_secs(5);
/// The time limit of the check before a candidate enters. It is the same as for the inspection after that.
const CHECK_LIMIT: Duration = Duration::from_secs(2);
/// The time that a closed campaign waits for its handlers to return.
const HANDLERS_LIMIT: Duration = Duration::from_secs(2);

/// The result of a request to the store.
pub(super) enum Done<L: Link> {
    /// Campaigns have answers.
    Answered(Answers<L>),
    Inspected(u64, Result<StoreInfo, Fault>),
    /// True if there is a new connection.
    Reconnected(bool),
    /// The watch with that number has begun, or failed.
    Watching(u64, Result<Watch<L>, Fault>),
    /// A read for observers, with the number of changes when it began, which shows whether the watch overtook it.
    ReadForObservers(Arc<str>, u64, Result<Entry, Fault>),
    /// True if the candidates were registered.
    Registered(bool),
    /// The result of the check whether another election of the store has keys that would count in this election.
    OverlapChecked(Box<Enter>, Result<()>),
    /// The handlers of a closed campaign have returned, or the wait for them is over.
    HandlersReturned(CampaignId),
    /// A caller has its answer.
    Replied,
}

/// A request in flight, with one result or several, one after another.
pub(super) type InFlight<L> = BoxStream<'static, Done<L>>;

/// Makes the requests.
pub(super) struct StoreRequests<L> {
    pub(super) link: L,
    pub(super) clock: Clock,
    /// Runs the code of users.
    pub(super) notifier: Notifier,
}

impl<L: Link> StoreRequests<L> {
    pub(super) fn inspect(&self, number: u64, limit: Duration) -> InFlight<L> {
        let ask = bounded(self.clock.clone(), limit, "an inspection", self.link.inspect());
        one(ask.map(move |answer| Done::Inspected(number, answer)))
    }

    /// Checks the election that a candidate enters. If no answer comes within the limit, the candidate may enter.
    pub(super) fn check_overlap(&self, enter: Enter, check: BoxFuture<'static, Result<()>>) -> InFlight<L> {
        let check = within(self.clock.clone(), CHECK_LIMIT, check);
        let enter = Box::new(enter);
        one(check.map(move |checked| Done::OverlapChecked(enter, checked.unwrap_or(Ok(())))))
    }

    pub(super) fn reconnect(&self, limit: Duration) -> InFlight<L> {
        let connect = within(self.clock.clone(), limit, self.link.reconnect());
        one(connect.map(|connected| Done::Reconnected(connected.is_some())))
    }

    pub(super) fn watch(&self, number: u64, limit: Duration) -> InFlight<L> {
        let begin = bounded(self.clock.clone(), limit, "a watch", self.link.watch());
        one(begin.map(move |watch| Done::Watching(number, watch)))
    }

    pub(super) fn read_for_observers(&self, key: &Arc<str>, changes: u64) -> InFlight<L> {
        let ask = bounded(self.clock.clone(), QUERY_LIMIT, "a read", self.link.observed(key));
        let key = Arc::clone(key);
        one(ask.map(move |answer| Done::ReadForObservers(key, changes, answer)))
    }

    pub(super) fn register(&self, roll: &Registry, limit: Duration) -> InFlight<L> {
        let register = self.link.register(roll);
        let register = bounded(self.clock.clone(), limit, "the registration of candidates", register);
        one(register.map(|registered| {
            if let Err(fault) = &registered {
                tracing::debug!("the candidates cannot be registered at present: {fault}");
            }
            Done::Registered(registered.is_ok())
        }))
    }

    pub(super) fn await_handlers(&self, id: CampaignId, tasks: TaskTracker) -> InFlight<L> {
        let join = within(self.clock.clone(), HANDLERS_LIMIT, async move { tasks.wait().await });
        one(join.map(move |_| Done::HandlersReturned(id)))
    }

    /// Asks the store on behalf of a caller, and sends the caller the answer.
    pub(super) fn answer<T: Send + 'static>(
        &self,
        reply: Reply<T>,
        ask: BoxFuture<'static, Result<T, Fault>>,
    ) -> InFlight<L> {
        let ask = bounded(self.clock.clone(), QUERY_LIMIT, "the query", ask);
        one(async move {
            // A caller that no longer waits has dropped its receiver.
            let _ = reply.send(ask.await.map_err(Error::from));
            Done::Replied
        })
    }
}

/// The answers to requests of campaigns.
pub(super) fn answered<L: Link>(answers: BoxStream<'static, Answers<L>>) -> InFlight<L> {
    answers.map(Done::Answered).boxed()
}

fn one<L: Link>(request: impl Future<Output = Done<L>> + Send + 'static) -> InFlight<L> {
    stream::once(request).boxed()
}

/// Waits for the answer to `ask`. If none comes within the limit, the store counts as unreachable.
pub(super) async fn bounded<T>(
    clock: Clock,
    limit: Duration,
    what: &'static str,
    ask: BoxFuture<'static, Result<T, Fault>>,
) -> Result<T, Fault> {
    within(clock, limit, ask).await.unwrap_or_else(|| Err(unanswered(what, limit)))
}
