//! The requests of campaigns, observers and operators, as calls to etcd.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures_util::stream::BoxStream;
use incumbent_core::queue::{Action, Change, Failure, LeaseId, Operation, Outcome, Server, Snapshot};
use incumbent_core::record::Entry;
use incumbent_core::store::{Fault, FaultKind, StoreInfo};

use super::inspection::Inspected;
use super::keys::{Identity, Keys};
use super::leases::{KeepAliveAnswer, Leases};
use super::reads::Reads;
use super::settings::EtcdSettings;
use super::watch::Watches;
use super::wire::connection::{Connection, method};
use super::wire::messages::{RangeRequest, RangeResponse};
use super::{elections, inspection, prefixes, transaction};
use incumbent_store::clock::Clock;
use incumbent_store::link::Watched;
use incumbent_store::{CandidateInfo, WatchEvent, local};
use incumbent_store::{ErrorKind, Result};

/// The pause between two attempts to find a member.
const PAUSE: Duration = Duration::from_millis(500);

/// The elections under a prefix, over their own connection.
///
/// The adapter carries keys and leases and classifies answers, but decides nothing. The only request that it repeats is
/// one that was refused for an expired token. It answers [`Failure::Unknown`] if the outcome is not known. Every future
/// and stream may be dropped at any time: that abandons the wait for the answer, not the request, which may still be
/// applied. The caller bounds the waits.
pub(super) struct Etcd {
    settings: EtcdSettings,
    clock: Clock,
    connection: Arc<Connection>,
    keys: Keys,
    leases: Arc<Leases>,
    reads: Arc<Reads>,
    pub(super) watches: Arc<Watches>,
    server: Mutex<Server>,
    /// The alarm of the cluster, or what the last inspection failed to learn.
    flaw: Mutex<Option<Fault>>,
}

impl Etcd {
    /// Connects to a usable member.
    ///
    /// If no member answers it waits for one, and logs the first failure; with [`EtcdSettings::fail_fast`] it returns
    /// the failure.
    ///
    /// # Errors
    /// `Authentication` for files, credentials or TLS that cannot be used, `PermissionDenied` for a user without the
    /// role of a candidate, `Unsupported` for servers that are too old and for proxies, `StoreUnavailable` with
    /// `fail_fast` if no member answers.
    pub(super) async fn open(settings: &EtcdSettings, clock: &Clock) -> Result<Self> {
        settings.check()?;
        let keys = settings.keys();
        let connection = Arc::new(Connection::new(settings.clone())?);
        let mut failing = false;
        let shortest = loop {
            let error = match inspection::find_member(&connection, settings, &keys).await {
                Ok(shortest) => break shortest,
                Err(error) => error,
            };
            if settings.fail_fast || error.kind() != ErrorKind::StoreUnavailable {
                return Err(error);
            }
            // Logs one line for each outage, not for each attempt.
            if !std::mem::replace(&mut failing, true) {
                tracing::warn!("trying etcd at {} again: {error}", settings.servers_shown());
            }
            tokio::time::sleep(PAUSE).await;
            connection.renew();
        };
        Ok(Self {
            settings: settings.clone(),
            clock: clock.clone(),
            leases: Arc::new(Leases::new(&connection, clock)),
            reads: Arc::new(Reads::new(&connection)),
            watches: Arc::new(Watches::new(&connection, &keys)),
            server: Mutex::new(Server { shortest }),
            connection,
            keys,
            flaw: Mutex::default(),
        })
    }

    /// Asks for the shortest lease unless it is known already. Returns a fault if it remains unknown.
    async fn learn_shortest(&self) -> Option<Fault> {
        if self.server().shortest.is_some() {
            return None;
        }
        match inspection::shortest(&self.connection).await {
            Ok(shortest) => {
                lock(&self.server).shortest = Some(shortest);
                None
            }
            Err(fault) => Some(fault),
        }
    }

    /// The raft term of the cluster, from the header of a linearised answer. If a lease is requested after this answer,
    /// no raft leader of an earlier term knows it.
    async fn raft_term(&self) -> Result<u64, Failure> {
        let birth = RangeRequest { key: self.keys.birth(), keys_only: true, ..Default::default() };
        let answer = self.connection.call::<_, RangeResponse>(method::RANGE, birth).await;
        let answer = answer.map_err(|status| transaction::failure(Operation::Read, &status))?;
        answer.header.map(|header| header.raft_term).ok_or(Failure::Unknown)
    }

    /// Knowledge about the store's servers; each inspection may add to it.
    pub(super) fn server(&self) -> Server {
        *lock(&self.server)
    }

    /// Checks that the store can hold an election under this key; the error gives the reason.
    pub(super) fn check_key(&self, key: &str) -> Result<()> {
        Keys::check(key)
    }

    /// Checks that the store can hold this candidate name; the error gives the reason.
    pub(super) fn check_name(&self, name: &str) -> Result<()> {
        local::check_text("candidate's name", name)
    }

    /// Checks, before a campaign enters, that no key of the store would wrongly count as a candidate of this election.
    /// If the store does not answer, the campaign finds out on its own.
    pub(super) async fn check_overlap(&self, election: &str) -> Result<()> {
        prefixes::check_overlap(&self.connection, &self.reads, &self.keys, election).await
    }

    /// Asks the store for its incarnation and its newest revision. Writes a birth record if the store has none; if two
    /// clients write one at the same time, both find the first.
    ///
    /// `asked_at` in the answer is read from the clock before the request is sent.
    pub(super) async fn inspect(&self) -> Result<StoreInfo, Fault> {
        let asked_at = self.clock.now();
        let inspected = inspection::inspect(&self.connection, &self.keys, asked_at);
        let (inspected, shortest_unknown) = futures_util::join!(inspected, self.learn_shortest());
        let Inspected { info, flaw } = inspected?;
        *lock(&self.flaw) = flaw.or(shortest_unknown);
        Ok(info)
    }

    /// The problem that the newest answer to [`inspect`](Self::inspect) reported and only an operator can end: the
    /// alarm of a full store. Leaders keep leading meanwhile. The driver calls this after each inspection, and reports
    /// a change to every candidate.
    pub(super) fn flaw(&self) -> Option<Fault> {
        lock(&self.flaw).clone()
    }

    /// Asks for a lease of this number; returns the time to live that the server granted.
    pub(super) async fn grant(&self, lease: LeaseId, ttl: Duration) -> Result<Duration, Failure> {
        self.leases.grant(lease, ttl).await
    }

    /// The lease of this connection's companions, one for each time to live. A new lease is granted if there is none
    /// yet, or only the `gone` one. Its [number](LeaseId::of_companions) contains the raft term of a linearised read
    /// that was answered before the grant was sent.
    pub(super) async fn share(&self, gone: Option<LeaseId>, ttl: Duration) -> Result<LeaseId, Failure> {
        // This does not fail in practice, because the campaign has already drawn its nonce from the same source.
        let drawn = getrandom::u64().map_err(|_| Failure::Unknown)?;
        self.leases.share(gone, ttl, self.raft_term(), drawn).await
    }

    /// Sends keep-alives of these leases in this order, over the connection's one stream, and emits the answers in the
    /// same order; then the stream ends. The caller passes the leases of all campaigns whose rounds begin in the same
    /// turn of the driver in one call.
    ///
    /// Nothing is sent before the stream is polled. Once [`reconnect`](Self::reconnect) is called, unanswered
    /// keep-alives fail with [`Failure::Unknown`].
    pub(super) fn keep_alive(&self, leases: Vec<LeaseId>) -> BoxStream<'static, KeepAliveAnswer> {
        self.leases.keep_alive(leases)
    }

    /// Reads the queue at one revision, linearised. `own` names the candidate's own keys; `whole` asks for all places and
    /// companions, not only the first two of each.
    pub(super) async fn read(
        &self,
        election: &str,
        own: Option<LeaseId>,
        whole: bool,
    ) -> Result<Box<Snapshot>, Failure> {
        let answer = self.reads.read(transaction::read(&self.keys, election, own, whole)).await;
        let snapshot = transaction::snapshot(&self.keys, election, answer);
        let snapshot = snapshot.map_err(|failure| self.placed(failure, "read", election))?;
        self.watches.read(election, snapshot.revision);
        Ok(Box::new(snapshot))
    }

    /// Carries out a campaign's action in one transaction.
    pub(super) async fn write(&self, election: &str, identity: &Identity, action: &Action) -> Outcome {
        let request = transaction::write(&self.keys, election, identity, action);
        let answer = self.connection.call(method::TXN, request).await;
        match transaction::written(&self.keys, election, action, answer) {
            Outcome::Failed(failure) => Outcome::Failed(self.placed(failure, "write", election)),
            outcome => outcome,
        }
    }

    /// Adds the server, the user and the keys to the failure of a missing permission.
    fn placed(&self, failure: Failure, verb: &str, election: &str) -> Failure {
        match failure {
            Failure::Fault(Fault { kind: FaultKind::Denied, detail }) => {
                let user = self.settings.user_name().map(|user| format!("the user {user:?}"));
                let detail = format!(
                    "etcd at {} does not let {} {verb} the keys of {election:?}: {detail}",
                    self.connection.member(),
                    user.unwrap_or_else(|| "this client".into())
                );
                Failure::Fault(Fault { kind: FaultKind::Denied, detail })
            }
            failure => failure,
        }
    }

    /// Revokes a lease; the keys that are attached to it are deleted. A lease that is already gone counts as revoked.
    pub(super) async fn revoke(&self, lease: LeaseId) -> Result<(), Failure> {
        self.leases.revoke(lease).await
    }

    /// Includes an election in the [watch](Self::watch), from the next read of it on, until it is
    /// [unfollowed](Self::unfollow).
    pub(super) fn follow(&self, election: &str) {
        self.watches.follow(election);
    }

    /// Leaves an election out of the watch again. A read in flight does not include it again.
    pub(super) fn unfollow(&self, election: &str) {
        self.watches.unfollow(election);
    }

    /// Watches the followed elections from the moment this returns, and operators' requests, beginning with the
    /// existing ones. The stream ends when changes may have been missed: at compaction, when the store cancels it, when
    /// the connection breaks. The driver then begins another watch, which every campaign treats as a gap.
    pub(super) async fn watch(&self) -> Result<BoxStream<'static, Watched<Change>>, Fault> {
        self.watches.begin().await
    }

    /// The leader of an election as observers see it: the first place, or [`Entry::Vacant`].
    ///
    /// For a leader whose companion was created in one transaction with its place, the entry has the companion's nonce,
    /// lease and metadata, and the revision of that creation as token. For a leader of other software, the name is the
    /// value of its place. The entry's revision is that of the place's creation.
    pub(super) async fn entry(&self, election: &str) -> Result<Entry, Fault> {
        let (entry, read) = elections::entry(&self.connection, &self.keys, election).await?;
        self.watches.read(election, read);
        Ok(entry)
    }

    /// The [`entry`](Self::entry) of every election that has a place, by key.
    pub(super) async fn list(&self) -> Result<Vec<WatchEvent>, Fault> {
        elections::list(&self.connection, &self.keys).await
    }

    /// The candidates of all elections or of one, by election and then in the order of its queue, the leader first.
    ///
    /// Candidates of other software are listed with the value of their place as name, and without a nonce.
    /// `standing_for` is the candidate's own claim, and zero for other software, so it does not determine the order.
    pub(super) async fn candidates(&self, election: Option<&str>) -> Result<Vec<CandidateInfo>, Fault> {
        elections::candidates(&self.connection, &self.keys, election).await
    }

    /// Replaces the current connection and its stream of keep-alives with a new one, to another member if there are
    /// several. Returns once connected again; the driver bounds the wait.
    pub(super) async fn reconnect(&self) {
        let limit = self.settings.connect_timeout;
        for attempt in 1_usize.. {
            self.connection.renew();
            self.leases.leave_stream();
            let usable = inspection::is_usable(&self.connection);
            if tokio::time::timeout(limit, usable).await.unwrap_or(false) {
                return;
            }
            if attempt % self.settings.hosts.len() == 0 {
                tokio::time::sleep(PAUSE).await;
            }
        }
    }

    /// Revokes the leases of the companions, and closes the connection. The caller makes sure that no candidate of this
    /// connection leads or is still leaving.
    pub(super) async fn close(&self) {
        self.leases.give_up_shared().await;
        self.leases.leave_stream();
        self.connection.leave();
    }
}

impl fmt::Debug for Etcd {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Etcd").field("settings", &self.settings).finish_non_exhaustive()
    }
}

/// Locks `mutex`. No lock is held across an await, nor while user code runs.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
