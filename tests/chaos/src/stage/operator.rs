//! Writes that no candidate would make, on the official client: for buckets and for faults.

use std::future::Future;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use async_nats::jetstream::{self, kv};
use incumbent::ErrorKind;
use incumbent::store::nats::{InitOptions, NatsSettings, init};

use crate::kind::Kind;
use crate::scenario::MARKED;

/// The longest time of one attempt at a write.
const TRY: Duration = Duration::from_secs(2);
/// The longest time of all attempts; the store may be down meanwhile.
const TIMEOUT: Duration = Duration::from_secs(12);
/// The longest time that a cluster may take to place a bucket.
const PLACING: Duration = Duration::from_secs(60);

/// An operator with all permissions.
#[derive(Debug)]
pub(crate) struct Operator {
    stores: Vec<(&'static str, kv::Store)>,
}

/// Makes a bucket whose name was never used before.
pub(crate) async fn make(servers: &str, bucket: &str, lease: Duration, replicas: u32) -> Result<()> {
    let marked = bucket == MARKED;
    let options =
        InitOptions::new(lease).replicas(replicas).markers(marked).own_leases(marked).never_used(true);
    let settings = NatsSettings::new(servers, bucket)?;
    let began = Instant::now();
    loop {
        match init(&settings, &options).await {
            Ok(_) => return Ok(()),
            // The servers have not heard enough of each other yet, or their leader has only just been elected, and has
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
    pub(crate) async fn connect(addresses: &[String], buckets: &[&'static str]) -> Result<Self> {
        let client = async_nats::connect(addresses).await?;
        let context = jetstream::new(client);
        let mut stores = Vec::new();
        for bucket in buckets {
            stores.push((*bucket, context.get_key_value(*bucket).await?));
        }
        Ok(Self { stores })
    }

    /// Deletes, overwrites or purges a key; tries until it succeeds.
    pub(crate) async fn meddle(&self, kind: Kind, bucket: &str, key: &str) -> Result<()> {
        let store = self.stores.iter().find(|(name, _)| *name == bucket);
        let (_, store) = store.with_context(|| format!("no bucket {bucket}"))?;
        match kind {
            Kind::Delete => insist(|| store.delete(key)).await,
            Kind::Purge => insist(|| store.purge(key)).await,
            Kind::Overwrite => insist(|| store.put(key, "an operator".into())).await,
            other => bail!("{other} is not an operator's"),
        }
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
