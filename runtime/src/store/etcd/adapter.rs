//! The adapter: what the driver asks for, as calls of etcd.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use futures_util::stream::BoxStream;
use incumbent_core::queue::{Action, Failure, LeaseId, Operation, Outcome, Server, Snapshot};
use incumbent_core::record::Entry;
use incumbent_core::store::{Fault, StoreInfo};

use super::inspection::Inspected;
use super::keys::Keys;
use super::leases::Leases;
use super::reads::Reads;
use super::settings::EtcdSettings;
use super::watch::Watches;
use super::wire::connection::{Connection, method};
use super::wire::messages::{RangeRequest, RangeResponse};
use super::{elections, inspection, prefixes, transaction};
use crate::clock::Clock;
use crate::store::queue_adapter::{Identity, KeepAliveAnswer, QueueAdapter, QueueEvent};
use crate::store::{CandidateInfo, WatchEvent, local};
use crate::{ErrorKind, Result};

/// The pause between two attempts to find a member.
const PAUSE: Duration = Duration::from_millis(500);

/// The elections under a prefix, over a separate connection.
pub(crate) struct Etcd {
    settings: EtcdSettings,
    clock: Clock,
    connection: Arc<Connection>,
    keys: Keys,
    leases: Arc<Leases>,
    reads: Arc<Reads>,
    pub(super) watches: Arc<Watches>,
    server: Mutex<Server>,
    /// The alarm of the cluster, or what could not be found out, by the last inspection.
    flaw: Mutex<Option<Fault>>,
}

impl Etcd {
    /// Connects to a member that can be used.
    ///
    /// Where no member answers it waits for one, and logs the first failure; with [`EtcdSettings::fail_fast`] it returns it.
    ///
    /// # Errors
    /// `Authentication` for files, credentials or TLS that do not fit, `PermissionDenied` for a user without the role of
    /// a candidate, `Unsupported` for servers that are too old and for proxies, `StoreUnavailable` without an answer and
    /// with `fail_fast`.
    pub(crate) async fn open(settings: &EtcdSettings, clock: &Clock) -> Result<Self> {
        settings.check()?;
        let keys = settings.keys();
        let connection = Arc::new(settings.connect()?);
        let mut failing = false;
        let shortest = loop {
            let error = match inspection::find_member(&connection, settings, &keys).await {
                Ok(shortest) => break shortest,
                Err(error) => error,
            };
            if settings.fail_fast || error.kind() != ErrorKind::StoreUnavailable {
                return Err(error);
            }
            // One line for each outage, not for each attempt.
            if !std::mem::replace(&mut failing, true) {
                tracing::warn!("etcd at {} is tried again: {error}", settings.servers_shown());
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

    /// Asks for the shortest lease where it is not known yet. Returns the reason where it stays so.
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

    /// The raft term of the cluster, from the header of a linearised answer. No leader of an earlier term knows a lease that is
    /// asked for after it.
    async fn raft_term(&self) -> std::result::Result<u64, Failure> {
        let birth = RangeRequest { key: self.keys.birth(), keys_only: true, ..Default::default() };
        let answer = self.connection.call::<_, RangeResponse>(method::RANGE, birth).await;
        let answer = answer.map_err(|status| transaction::failure(Operation::Read, &status))?;
        answer.header.map(|header| header.raft_term).ok_or(Failure::Unknown)
    }
}

#[async_trait]
impl QueueAdapter for Etcd {
    fn server(&self) -> Server {
        *lock(&self.server)
    }

    fn check_key(&self, key: &str) -> Result<()> {
        Keys::check(key)
    }

    fn check_name(&self, name: &str) -> Result<()> {
        local::check_text("candidate's name", name)
    }

    async fn check_overlap(&self, election: &str) -> Result<()> {
        prefixes::check_overlap(&self.connection, &self.reads, &self.keys, election).await
    }

    async fn inspect(&self) -> std::result::Result<StoreInfo, Fault> {
        let asked_at = self.clock.now();
        let inspected = inspection::inspect(&self.connection, &self.keys, asked_at);
        let (inspected, shortest_unknown) = futures_util::join!(inspected, self.learn_shortest());
        let Inspected { info, flaw } = inspected?;
        *lock(&self.flaw) = flaw.or(shortest_unknown);
        Ok(info)
    }

    fn flaw(&self) -> Option<Fault> {
        lock(&self.flaw).clone()
    }

    async fn grant(&self, lease: LeaseId, ttl: Duration) -> std::result::Result<Duration, Failure> {
        self.leases.grant(lease, ttl).await
    }

    async fn share(&self, gone: Option<LeaseId>, ttl: Duration) -> std::result::Result<LeaseId, Failure> {
        // A machine without random numbers could not have made a campaign's nonce either.
        let drawn = getrandom::u64().map_err(|_| Failure::Unknown)?;
        self.leases.share(gone, ttl, self.raft_term(), drawn).await
    }

    fn keep_alive(&self, leases: Vec<LeaseId>) -> BoxStream<'static, KeepAliveAnswer> {
        self.leases.keep_alive(leases)
    }

    async fn read(
        &self,
        election: &str,
        own: Option<LeaseId>,
        whole: bool,
    ) -> std::result::Result<Box<Snapshot>, Failure> {
        let answer = self.reads.read(transaction::read(&self.keys, election, own, whole)).await;
        let snapshot = transaction::snapshot(&self.keys, election, answer)?;
        self.watches.read(election, snapshot.revision);
        Ok(Box::new(snapshot))
    }

    async fn write(&self, election: &str, identity: &Identity, action: &Action) -> Outcome {
        let request = transaction::write(&self.keys, election, identity, action);
        let answer = self.connection.call(method::TXN, request).await;
        transaction::written(&self.keys, election, action, answer)
    }

    async fn revoke(&self, lease: LeaseId) -> std::result::Result<(), Failure> {
        self.leases.revoke(lease).await
    }

    fn follow(&self, election: &str) {
        self.watches.follow(election);
    }

    fn unfollow(&self, election: &str) {
        self.watches.unfollow(election);
    }

    async fn watch(&self) -> std::result::Result<BoxStream<'static, QueueEvent>, Fault> {
        self.watches.begin().await
    }

    async fn entry(&self, election: &str) -> std::result::Result<Entry, Fault> {
        let (entry, read) = elections::entry(&self.connection, &self.keys, election).await?;
        self.watches.read(election, read);
        Ok(entry)
    }

    async fn list(&self) -> std::result::Result<Vec<WatchEvent>, Fault> {
        elections::list(&self.connection, &self.keys).await
    }

    async fn candidates(&self, election: Option<&str>) -> std::result::Result<Vec<CandidateInfo>, Fault> {
        elections::candidates(&self.connection, &self.keys, election).await
    }

    async fn reconnect(&self) {
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

    async fn close(&self) {
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

/// Never held across an await, nor while user code runs.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
