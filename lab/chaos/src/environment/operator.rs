//! Writes to buckets that no candidate would make: preparations and faults, with the official client or command line.

use std::future::Future;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use async_nats::jetstream::{self, kv};
use incumbent::ErrorKind;
use incumbent::store::etcd::{self, EtcdSettings};
use incumbent::store::nats::{InitOptions, NatsSettings, init};
use incumbent_testkit::etcd::ctl;

use crate::kind::Kind;
use crate::scenario::{MARKED, StoreKind};

/// The longest time of one attempt at a write.
const TRY: Duration = Duration::from_secs(2);
/// The longest time of all attempts together; the store may be down for part of it.
const TIMEOUT: Duration = Duration::from_secs(12);
/// The longest time that a cluster may take to place a bucket.
const PLACING: Duration = Duration::from_secs(60);

/// An operator with all permissions.
#[derive(Debug)]
pub(crate) enum Operator {
    /// An operator of these buckets.
    Nats(Vec<(&'static str, kv::Store)>),
    /// An operator of these members.
    Etcd(String),
}

/// Declares that no election was ever held under that prefix of etcd.
pub(crate) async fn declare_new(servers: &str, prefix: &str) -> Result<()> {
    etcd::init(&EtcdSettings::new(servers)?.prefix(prefix), true).await.context("cannot prepare etcd")?;
    Ok(())
}

/// Makes a bucket whose name was never used before.
pub(crate) async fn make(servers: &str, bucket: &str, lease: Duration, replicas: u32) -> Result<()> {
    let marked = bucket == MARKED;
    let options = InitOptions::new()
        .lease(lease)
        .replicas(replicas)
        .markers(marked)
        .own_leases(marked)
        .never_used(true);
    let settings = NatsSettings::new(servers, bucket)?;
    let began = Instant::now();
    loop {
        match init(&settings, &options).await {
            Ok(_) => return Ok(()),
            // The servers have not all connected to each other yet, or their leader has only just been elected and has
            // forgotten earlier requests.
            Err(error) if is_passing(&error) && began.elapsed() < PLACING => {
                tokio::time::sleep(Duration::from_millis(200)).await;
            }
            Err(error) => return Err(error).with_context(|| format!("cannot make the bucket {bucket}")),
        }
    }
}

fn is_passing(error: &incumbent::Error) -> bool {
    error.kind() == ErrorKind::StoreUnavailable || error.message().contains("no suitable peers")
}

impl Operator {
    pub(crate) async fn connect(
        store: StoreKind,
        addresses: &[String],
        buckets: &[&'static str],
    ) -> Result<Self> {
        if store == StoreKind::Etcd {
            return Ok(Self::Etcd(addresses.join(",")));
        }
        let client = async_nats::connect(addresses).await?;
        let context = jetstream::new(client);
        let mut stores = Vec::new();
        for bucket in buckets {
            stores.push((*bucket, context.get_key_value(*bucket).await?));
        }
        Ok(Self::Nats(stores))
    }

    /// Deletes, overwrites or purges a key, or revokes its lease; tries until it succeeds.
    pub(crate) async fn meddle(&self, kind: Kind, bucket: &str, key: &str) -> Result<()> {
        let stores = match self {
            Self::Etcd(members) => {
                return insist(|| async { meddle_in_queue(members, kind, &format!("{bucket}/{key}/")) })
                    .await;
            }
            Self::Nats(stores) => stores,
        };
        let store = stores.iter().find(|(name, _)| *name == bucket);
        let (_, store) = store.with_context(|| format!("no bucket {bucket}"))?;
        match kind {
            Kind::Delete => insist(|| store.delete(key)).await,
            Kind::Purge => insist(|| store.purge(key)).await,
            Kind::Overwrite => insist(|| store.put(key, "an operator".into())).await,
            other => bail!("{other} is not a fault by an operator"),
        }
    }
}

/// Makes that fault at the first place of an etcd queue, which is the leader's.
fn meddle_in_queue(members: &str, kind: Kind, queue: &str) -> Result<(), String> {
    let order = ["--prefix", "--sort-by", "CREATE", "--order", "ASCEND", "--limit", "1"];
    let get = |how: &[&str]| ctl(members, &[&["get", queue], &order[..], how].concat(), "");
    let keys = get(&["--keys-only"])?;
    let place = keys.lines().next().filter(|key| !key.is_empty()).ok_or("no candidate has a place")?;
    match kind {
        Kind::Delete => ctl(members, &["del", place], "").map(drop),
        Kind::Revoke => {
            // A place's name contains its lease.
            let lease = place.rsplit('/').next().unwrap_or_default();
            ctl(members, &["lease", "revoke", lease], "").map(drop)
        }
        // A place that has vanished in the meantime is not created again: without a lease it would block the queue.
        Kind::Overwrite => {
            let write = format!("mod(\"{place}\") > \"0\"\n\nput \"{place}\" \"an operator\"\n\n\n");
            let said = ctl(members, &["txn"], &write)?;
            if said.starts_with("SUCCESS") { Ok(()) } else { Err(format!("{place} is gone: {said}")) }
        }
        other => Err(format!("{other} is not a fault by an operator")),
    }
}

async fn insist<T, E, F>(mut write: impl FnMut() -> F) -> Result<()>
where
    E: std::fmt::Display,
    F: Future<Output = Result<T, E>>,
{
    let began = Instant::now();
    loop {
        let said = match tokio::time::timeout(TRY, write()).await {
            Ok(Ok(_)) => return Ok(()),
            Ok(Err(error)) => error.to_string(),
            Err(_) => "no answer".into(),
        };
        if began.elapsed() > TIMEOUT {
            bail!("an operator's write fails: {said}");
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}
