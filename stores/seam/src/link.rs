//! The seam between the driver and the stores: a link names the rule of a store's elections, and carries out its
//! requests.
//!
//! The driver is the same for every rule. A store whose candidates take turns writing one record implements
//! [`Adapter`](crate::Adapter), and [`RecordLink`](super::RecordLink) turns it into a link.

use std::future::poll_fn;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::{Duration, SystemTime};

use futures_util::future::BoxFuture;
use futures_util::stream::BoxStream;
use incumbent_core::candidacy::{Candidacy, Rule};
use incumbent_core::record::Entry;
use incumbent_core::session::{self, CampaignId, Scope};
use incumbent_core::store::{Action, Capabilities, Fault, FaultKind, Outcome, StoreInfo};
use incumbent_core::{Instant, Revision};

use crate::adapter::{EntryInfo, WatchEvent};
use crate::clock::Clock;
use crate::error::Result;
use crate::notifier::{Notifier, WriteListener};
use crate::registry::{CandidateInfo, Registry};

/// The target of log lines about the connection, by which programs can filter them.
pub const CONNECTION: &str = "incumbent::driver::connection";

/// The store's answers to campaigns.
pub type Answers<L> = Vec<(CampaignId, <<L as Link>::Rule as Rule>::Answer)>;
/// The answers to a request, each within its limit.
pub enum Asking<L: Link> {
    /// One answer, for which no separate timer is set.
    One(OneAnswer<(CampaignId, <L::Rule as Rule>::Answer)>),
    /// Perhaps many.
    Several(BoxStream<'static, Answers<L>>),
}
/// An event for the session of a store with this link.
pub type Input<L> = session::Input<<<L as Link>::Rule as Rule>::Answer, <<L as Link>::Rule as Rule>::Shown>;
/// An output of the session of a store with this link.
pub type Output<L> =
    session::Output<<<L as Link>::Rule as Rule>::Request, <<L as Link>::Rule as Rule>::Timer>;
/// The changes of a store, and the requests of an operator.
pub type Watch<L> = BoxStream<'static, Watched<<<L as Link>::Rule as Rule>::Shown>>;

/// An open store, together with the rule of its elections.
///
/// Requests are independent futures, which the driver bounds; only [`ask`](Self::ask) itself bounds what it returns.
pub trait Link: Send + 'static {
    /// The rule of the store's elections.
    type Rule: Rule<
            Store: Send,
            Settings: Send + Sync,
            Timer: Send,
            Request: Send,
            Answer: Send,
            Shown: Send,
            Early: Send,
            Race: Send,
            Leaving: Send,
            Told: Send,
            Tell: Send,
        > + Send
        + 'static;

    /// True if a leader's renewals do not change its entry. If false, each renewal is a new revision, and an entry that
    /// stays the same for the length of its lease has expired.
    const ENTRIES_STAY: bool;

    /// The properties of the store on which the rule depends, as of the newest inspection.
    fn properties(&self) -> <Self::Rule as Rule>::Store;

    /// As [`Adapter::capabilities`](super::Adapter::capabilities).
    fn capabilities(&self) -> Capabilities;

    /// As [`Adapter::check_key`](super::Adapter::check_key).
    fn check_key(&self, key: &str) -> Result<()>;

    /// As [`Adapter::check_name`](super::Adapter::check_name).
    fn check_name(&self, name: &str) -> Result<()>;

    /// Refuses a hand-over, if the store itself chooses the successor.
    fn check_hand_over(&self) -> Result<()> {
        Ok(())
    }

    /// Checks that no other election of the store has keys that would count in this election; `None` if no store of
    /// this kind can have such keys. The error names the other election. The caller bounds the wait.
    fn check_overlap(&self, election: &str) -> Option<BoxFuture<'static, Result<()>>> {
        let _ = election;
        None
    }

    /// As [`Adapter::flaw`](super::Adapter::flaw).
    fn flaw(&self) -> Option<Fault>;

    /// As [`Adapter::inspect`](super::Adapter::inspect).
    fn inspect(&self) -> BoxFuture<'static, Result<StoreInfo, Fault>>;

    /// Sends a campaign's request and emits the answers, each within the request's limit. If there is no answer by
    /// then, the outcome is unknown. `None` for a request that [`ask_together`](Self::ask_together) sends.
    fn ask(&mut self, campaign: &Candidacy<Self::Rule>, asked: Asked<Self::Rule>) -> Option<Asking<Self>>
    where
        Self: Sized;

    /// Sends the requests of one turn of the driver that are best sent together.
    fn ask_together(&mut self) -> Option<BoxStream<'static, Answers<Self>>> {
        None
    }

    /// Forgets a campaign that is over, and will not ask again.
    fn ended(&mut self, id: CampaignId) {
        let _ = id;
    }

    /// Whether the leader waits until its successor is next before it leaves.
    fn is_handing_over(campaign: &Candidacy<Self::Rule>) -> bool {
        let _ = campaign;
        false
    }

    /// Adds an election that a campaign or an observer needs, and that the watch must show.
    fn follow(&self, key: &str) {
        let _ = key;
    }

    /// Removes an election that no campaign and no observer needs any more.
    fn unfollow(&self, key: &str) {
        let _ = key;
    }

    /// Watches all elections.
    fn watch(&self) -> BoxFuture<'static, Result<Watch<Self>, Fault>>;

    /// The entry in a change of an election; `None` if the change does not contain the entry, so that it must be read.
    fn entry_of(shown: &<Self::Rule as Rule>::Shown) -> Option<&Entry>;

    /// Reads the entry of an election.
    fn entry(&self, key: &str) -> BoxFuture<'static, Result<Entry, Fault>>;

    /// Reads the entry of an election for observers. The watch shows them each change too, so an entry that the watch
    /// has just shown need not be read again.
    fn observed(&self, key: &str) -> BoxFuture<'static, Result<Entry, Fault>> {
        self.entry(key)
    }

    /// As [`Adapter::written`](super::Adapter::written).
    fn written(&self, key: &str) -> BoxFuture<'static, Result<Option<EntryInfo>, Fault>>;

    /// Reads the entries of all elections.
    fn list(&self) -> BoxFuture<'static, Result<Vec<WatchEvent>, Fault>>;

    /// The candidates of an election or of all. `own` are the candidates of this connection.
    fn candidates(
        &self,
        own: &Registry,
        election: Option<String>,
    ) -> BoxFuture<'static, Result<Option<Vec<CandidateInfo>>, Fault>>;

    /// As [`Adapter::register`](super::Adapter::register).
    fn register(&self, own: &Registry) -> BoxFuture<'static, Result<(), Fault>>;

    /// As [`Adapter::reconnect`](super::Adapter::reconnect).
    fn reconnect(&self) -> BoxFuture<'static, ()>;

    /// As [`Adapter::close`](super::Adapter::close).
    fn close(&self) -> BoxFuture<'static, ()>;
}

/// A campaign's request.
pub struct Asked<R: Rule> {
    /// The number of the campaign.
    pub id: CampaignId,
    /// The election's key.
    pub election: Arc<str>,
    /// The time of day at which the campaign's candidate entered the election.
    pub since: SystemTime,
    /// What it asks.
    pub request: R::Request,
    /// The time for the answer.
    pub limit: Duration,
}

/// An item of a watch.
#[derive(Clone, Debug, PartialEq)]
pub enum Watched<S> {
    /// An election changed.
    Changed {
        /// The election's key.
        election: String,
        /// What changed.
        shown: S,
    },
    /// There is an operator's request.
    Requested {
        /// The reserved key.
        key: String,
        /// The request's text.
        text: String,
        /// The request's revision.
        revision: Revision,
    },
    /// Every entry that these elections had when the watch began has been shown.
    ShownAll(Scope),
}

/// The reports of a store other than its answers: the outcomes of writes to the user's listener, and new connections to
/// the driver.
#[derive(Clone)]
pub struct Reports {
    /// The clock of all deadlines.
    pub clock: Clock,
    /// The user's listener of writes.
    pub listener: WriteListener,
    /// Calls the code of users.
    pub notifier: Notifier,
    /// Called when the store has a new connection that the driver did not request.
    pub connected: Arc<dyn Fn() + Send + Sync>,
}

impl Reports {
    /// Reports the outcome of a write to the user's listener.
    pub fn written(&self, election: &Arc<str>, sent: Instant, action: &Action, outcome: &Outcome) {
        let took = self.clock.now().since(sent);
        self.listener.notify(&self.notifier, election, (action, outcome, took));
    }
}

/// A request with one answer. The request ends without an answer if it is polled at its limit or [later](in_time).
pub struct OneAnswer<A> {
    /// The request's limit.
    pub until: Instant,
    /// The answer.
    pub answer: BoxFuture<'static, A>,
}

impl<A> Future for OneAnswer<A> {
    type Output = A;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<A> {
        self.answer.as_mut().poll(context)
    }
}

/// The fault of a store that did not answer in time.
pub fn unanswered(what: &str, limit: Duration) -> Fault {
    let detail = format!("the store did not answer {what} within {limit:?}");
    Fault { kind: FaultKind::Unreachable, detail }
}

/// Waits for `work`; `None` if `work` is not done when it is polled at `until` or later. No timer is set, because the
/// driver polls all these requests again at the earliest limit.
pub async fn in_time<T>(clock: &Clock, until: Instant, work: impl Future<Output = T>) -> Option<T> {
    let mut work = pin!(work);
    poll_fn(|context| match work.as_mut().poll(context) {
        Poll::Ready(done) => Poll::Ready(Some(done)),
        Poll::Pending if clock.now() >= until => Poll::Ready(None),
        Poll::Pending => Poll::Pending,
    })
    .await
}

/// Waits for `work`, but no longer than `limit`.
pub async fn within<T>(clock: Clock, limit: Duration, work: impl Future<Output = T>) -> Option<T> {
    let until = clock.now() + limit;
    tokio::select! {
        biased;
        done = work => Some(done),
        () = clock.sleep_until(until) => None,
    }
}
