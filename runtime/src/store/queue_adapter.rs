//! The contract between the driver and a store whose elections are queues.

use std::time::{Duration, SystemTime};

use async_trait::async_trait;
use futures_util::stream::BoxStream;
use incumbent_core::queue::{Action, Change, Failure, KeptAlive, LeaseId, Outcome, Server, Snapshot};
use incumbent_core::record::{Entry, Nonce};
use incumbent_core::store::{Fault, StoreInfo};
use incumbent_core::{Instant, Revision};

use super::{CandidateInfo, WatchEvent};
use crate::Result;

/// A store whose elections are queues; the counterpart of [`Adapter`](super::Adapter).
///
/// An adapter carries keys and leases, and classifies answers; it decides nothing. It repeats nothing but a request that
/// was refused for an expired token, and answers [`Failure::Unknown`] where the outcome is not known. Every future and stream
/// may be dropped at any time: that abandons the wait for the answer, not the request, which may still be applied. The
/// driver bounds its waits, so an adapter needs no time limits.
#[async_trait]
pub(crate) trait QueueAdapter: Send + Sync + 'static {
    /// What is known of the servers of the store; it may grow with each inspection.
    fn server(&self) -> Server;

    /// Checks that the store can hold an election under this key; the error gives the reason.
    fn check_key(&self, key: &str) -> Result<()>;

    /// Checks that the store can hold this candidate name; the error gives the reason.
    fn check_name(&self, name: &str) -> Result<()>;

    /// Checks that no key of the store would count as a candidate of this election without being one, before a campaign
    /// enters. Where the store does not answer, the campaign learns of it by itself.
    async fn check_overlap(&self, election: &str) -> Result<()> {
        let _ = election;
        Ok(())
    }

    /// Asks the store for its incarnation and its newest revision. A store that has no birth record gets one; of two that
    /// write one at the same time, both find the first.
    ///
    /// `asked_at` in the answer is read from the clock before the request is sent.
    async fn inspect(&self) -> std::result::Result<StoreInfo, Fault>;

    /// A state of the store that an operator has to end, by the newest answer to [`inspect`](Self::inspect), and that
    /// leaders survive: the alarm of a store that is full. The driver calls this after each inspection, and reports a
    /// change to every candidate.
    fn flaw(&self) -> Option<Fault> {
        None
    }

    /// Asks for a lease of this number; returns the time to live that the server granted.
    async fn grant(&self, lease: LeaseId, ttl: Duration) -> std::result::Result<Duration, Failure>;

    /// The lease of the companions of this connection, one for each time to live. A new one is granted where there is none
    /// yet, or only the one that is `gone`. Its [number](LeaseId::of_companions) has the raft term of a linearised read that
    /// was answered before the grant was sent.
    async fn share(&self, gone: Option<LeaseId>, ttl: Duration) -> std::result::Result<LeaseId, Failure>;

    /// Sends keep-alives of these leases in this order, over the connection's one stream, and emits the answers in the same
    /// order; then the stream ends. The leases of all campaigns whose rounds begin in one turn of the driver are best given
    /// together.
    ///
    /// Nothing is sent before the stream is polled. A keep-alive that is not answered is not waited for any longer once
    /// [`reconnect`](Self::reconnect) is called: it and all behind it fail with [`Failure::Unknown`].
    fn keep_alive(&self, leases: Vec<LeaseId>) -> BoxStream<'static, KeepAliveAnswer>;

    /// Reads the queue at one revision, linearised. `own` names the candidate's own keys; `whole` asks for all places and
    /// companions, not only the first two of each.
    async fn read(
        &self,
        election: &str,
        own: Option<LeaseId>,
        whole: bool,
    ) -> std::result::Result<Box<Snapshot>, Failure>;

    /// Carries out a campaign's action in one transaction.
    async fn write(&self, election: &str, identity: &Identity, action: &Action) -> Outcome;

    /// Revokes a lease; the keys that are attached to it are deleted. One that is gone already counts as revoked.
    async fn revoke(&self, lease: LeaseId) -> std::result::Result<(), Failure>;

    /// Includes an election in the [watch](Self::watch), from the next read of it on, until it is
    /// [unfollowed](Self::unfollow).
    fn follow(&self, election: &str);

    /// Leaves an election out of the watch again. A read that is under way does not bring it back.
    fn unfollow(&self, election: &str);

    /// Watches the followed elections from the moment at which this returns, and an operator's requests: those that stand
    /// first.
    /// The stream ends when changes may have been missed: at compaction, when the store cancels it, when the connection
    /// breaks. The driver then watches again, which every campaign takes as a gap.
    async fn watch(&self) -> std::result::Result<BoxStream<'static, QueueEvent>, Fault>;

    /// The leader of an election as observers see it: the first place, or [`Entry::Vacant`].
    ///
    /// A leader with a companion of the same creation has that one's nonce, lease and metadata, and its creation as token; a
    /// leader of other software has the value of its place as name. The revision is that of the place's creation.
    async fn entry(&self, election: &str) -> std::result::Result<Entry, Fault>;

    /// The [`entry`](Self::entry) of every election that has a place, by key.
    async fn list(&self) -> std::result::Result<Vec<WatchEvent>, Fault>;

    /// The candidates of all elections or of one, by election and then in the order of its queue, the leader first.
    ///
    /// Candidates of other software are listed with the value of their place as name, and without a nonce. `standing_for`
    /// is the candidate's own account, and zero for other software, so it says nothing of the order.
    async fn candidates(&self, election: Option<&str>) -> std::result::Result<Vec<CandidateInfo>, Fault>;

    /// Leaves the present connection and its stream of keep-alives for a new one, to another member where there are several.
    /// Returns once connected again; the driver bounds the wait.
    async fn reconnect(&self);

    /// Closes the connection, after it gave up the leases of its companions: those are revoked. No candidate of this
    /// connection leads any more, or is about to leave.
    async fn close(&self);
}

/// The values of a campaign's keys, beside those that its actions state.
#[derive(Clone, Debug)]
pub(crate) struct Identity {
    /// The candidate's name: the value of its place.
    pub(crate) name: String,
    /// The campaign's number.
    pub(crate) nonce: Nonce,
    /// The campaign's lease time.
    pub(crate) lease_time: Duration,
    /// The time of day since which it is a candidate. Shown to people; decides nothing.
    pub(crate) since: SystemTime,
    /// The metadata that the candidate publishes.
    pub(crate) metadata: Vec<(String, String)>,
}

/// The answer to one keep-alive.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct KeepAliveAnswer {
    /// The lease.
    pub(crate) lease: LeaseId,
    /// The clock, read before this keep-alive was sent.
    pub(crate) sent_at: Instant,
    /// The answer.
    pub(crate) result: std::result::Result<KeptAlive, Failure>,
}

/// An item of the watch of a queue.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum QueueEvent {
    /// Keys of an election changed.
    Changed {
        /// The election's key.
        election: String,
        /// All that one revision changed of it: nothing that matters to campaigns where a place was created or rewritten,
        /// which observers still need to [read](QueueAdapter::entry).
        change: Change,
    },
    /// An operator's request stands under a reserved key, as [`request::read`](super::request::read) takes it.
    Request {
        /// The reserved key.
        key: String,
        /// Its text.
        text: String,
        /// The revision that wrote it.
        revision: Revision,
    },
}
