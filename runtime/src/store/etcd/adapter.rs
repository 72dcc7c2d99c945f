//! The adapter: what the driver asks for, as calls of etcd.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use futures_util::StreamExt;
use futures_util::stream::BoxStream;
use incumbent_core::queue::{Action, Failure, LeaseId, Outcome, Server, Snapshot};
use incumbent_core::record::Entry;
use incumbent_core::store::{Fault, FaultKind, StoreInfo};
use tonic::transport::Endpoint;

use super::keys::Keys;
use super::leases::Leases;
use super::settings::EtcdSettings;
use super::transaction;
use super::wire::connection::{Connection, method};
use crate::clock::Clock;
use crate::store::queue_adapter::{Identity, KeepAliveAnswer, QueueAdapter, QueueEvent};
use crate::store::{CandidateInfo, WatchEvent, local};
use crate::{Error, ErrorKind, Result};

/// The elections under a prefix, over a separate connection.
pub(crate) struct Etcd {
    connection: Arc<Connection>,
    keys: Keys,
    leases: Arc<Leases>,
}

impl Etcd {
    /// Connects to a member.
    pub(crate) async fn open(settings: &EtcdSettings, clock: &Clock) -> Result<Self> {
        let invalid = || Error::new(ErrorKind::InvalidUrl, "write etcd://HOST:2379/PREFIX");
        let endpoints = settings.hosts.iter().map(|host| Endpoint::from_shared(format!("http://{host}")));
        let endpoints = endpoints.collect::<std::result::Result<_, _>>().map_err(|_| invalid())?;
        let connection = Arc::new(Connection::new(endpoints, None).ok_or_else(invalid)?);
        let leases = Arc::new(Leases::new(&connection, clock));
        Ok(Self { connection, keys: Keys::new(settings.prefix.clone()), leases })
    }
}

fn later() -> Fault {
    Fault { kind: FaultKind::Broken, detail: "not there yet".into() }
}

#[async_trait]
impl QueueAdapter for Etcd {
    fn server(&self) -> Server {
        Server { version: None, shortest: Duration::from_secs(2) }
    }

    fn check_key(&self, key: &str) -> Result<()> {
        Keys::check(key)
    }

    fn check_name(&self, name: &str) -> Result<()> {
        local::check_text("candidate's name", name)
    }

    async fn inspect(&self) -> std::result::Result<StoreInfo, Fault> {
        Err(later())
    }

    async fn grant(&self, lease: LeaseId, ttl: Duration) -> std::result::Result<Duration, Failure> {
        self.leases.grant(lease, ttl).await
    }

    async fn share(&self, gone: Option<LeaseId>, ttl: Duration) -> std::result::Result<LeaseId, Failure> {
        self.leases.share(gone, ttl, || LeaseId(1)).await
    }

    fn keep_alive(&self, leases: Vec<LeaseId>) -> BoxStream<'static, KeepAliveAnswer> {
        let all = Arc::clone(&self.leases);
        let answers = futures_util::stream::iter(leases).then(move |lease| {
            let all = Arc::clone(&all);
            async move {
                let [(lease, sent_at, result)] = all.keep_alive([lease], Duration::from_secs(60)).await;
                KeepAliveAnswer { lease, sent_at, result }
            }
        });
        answers.boxed()
    }

    async fn read(
        &self,
        election: &str,
        own: Option<LeaseId>,
        whole: bool,
    ) -> std::result::Result<Box<Snapshot>, Failure> {
        let request = transaction::read(&self.keys, election, own, whole);
        let answer = self.connection.call(method::TXN, request).await;
        transaction::snapshot(&self.keys, election, answer).map(Box::new)
    }

    async fn write(&self, election: &str, identity: &Identity, action: &Action) -> Outcome {
        let request = transaction::write(&self.keys, election, identity, action);
        transaction::written(action, self.connection.call(method::TXN, request).await)
    }

    async fn revoke(&self, lease: LeaseId) -> std::result::Result<(), Failure> {
        self.leases.revoke(lease).await
    }

    async fn watch(&self) -> std::result::Result<BoxStream<'static, QueueEvent>, Fault> {
        Err(later())
    }

    async fn entry(&self, _election: &str) -> std::result::Result<Entry, Fault> {
        Err(later())
    }

    async fn list(&self) -> std::result::Result<Vec<WatchEvent>, Fault> {
        Err(later())
    }

    async fn candidates(&self, _election: Option<&str>) -> std::result::Result<Vec<CandidateInfo>, Fault> {
        Err(later())
    }

    async fn reconnect(&self) {
        self.connection.renew();
    }

    async fn close(&self) {}
}
