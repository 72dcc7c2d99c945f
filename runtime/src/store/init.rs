//! Preparing a store of any kind for elections: one implementation for the command line and every language.

use std::time::Duration;

use incumbent_core::Incarnation;

use super::{StoreSettings, refusals};
#[cfg(any(feature = "nats", feature = "sqlite"))]
use crate::Clock;
use crate::text::Text;
use crate::{Error, ErrorKind, Result};

/// The default lease of a new bucket.
#[cfg(feature = "nats")]
const LEASE: Duration = Duration::from_secs(30);

/// The requirements of a store that is prepared for elections; see [`StoreSettings::init`].
#[derive(Clone, Debug, Default)]
#[must_use]
pub struct InitOptions {
    election: Option<String>,
    lease: Option<Duration>,
    replicas: Option<u32>,
    max_bytes: Option<u64>,
    markers: bool,
    own_leases: bool,
    never_used: bool,
    update: bool,
}

impl InitOptions {
    /// Nothing is required beyond the safety of elections.
    pub fn new() -> Self {
        Self::default()
    }

    /// The election whose topic is created, in Kafka; other stores are prepared as a whole.
    pub fn election(mut self, election: impl Into<String>) -> Self {
        self.election = Some(election.into());
        self
    }

    /// The lease of a NATS bucket's elections, which is its TTL. By default 30 s for a new bucket; an existing one keeps
    /// its own.
    pub fn lease(mut self, lease: Duration) -> Self {
        self.lease = Some(lease);
        self
    }

    /// The number of a NATS cluster's servers that keep the bucket: 1, 3 or 5. By default 1 for a new bucket; an
    /// existing one keeps its own.
    pub fn replicas(mut self, replicas: u32) -> Self {
        self.replicas = Some(replicas);
        self
    }

    /// The most bytes of a NATS bucket, 65,536 at least, if the account requires a limit. By default a new bucket has
    /// none; an existing one keeps its own.
    pub fn max_bytes(mut self, bytes: u64) -> Self {
        self.max_bytes = Some(bytes);
        self
    }

    /// Requires that a NATS bucket reports an expiry to watchers by a marker (2.11 or newer).
    pub fn markers(mut self, markers: bool) -> Self {
        self.markers = markers;
        self
    }

    /// Requires that a NATS bucket lets each election have its own lease (2.11 or newer).
    pub fn own_leases(mut self, own_leases: bool) -> Self {
        self.own_leases = own_leases;
        self
    }

    /// States that no election ever ran in this store, so that its first leader need not wait for a lease. Refused for
    /// a store that has been written to. Not for automation: if it recreates a store under a leader, the statement is
    /// false and there can be two leaders.
    pub fn never_used(mut self, never_used: bool) -> Self {
        self.never_used = never_used;
        self
    }

    /// Whether to change an existing NATS bucket that differs, instead of reporting the differences.
    pub fn update(mut self, update: bool) -> Self {
        self.update = update;
        self
    }

    /// Refuses requirements that only make sense for a bucket. `this` describes the store.
    #[cfg(any(feature = "etcd", feature = "kafka", feature = "sqlite"))]
    fn only_of_buckets(&self, this: &str) -> Result<()> {
        let of_buckets = [
            ("markers", self.markers),
            ("own_leases", self.own_leases),
            ("replicas", self.replicas.is_some()),
            ("max_bytes", self.max_bytes.is_some()),
        ];
        if let Some((setting, _)) = of_buckets.iter().find(|(_, is_given)| *is_given) {
            return Err(invalid(refusals::of_buckets(setting, this)));
        }
        match self.lease {
            None => Ok(()),
            Some(_) => Err(invalid(refusals::lease_of_buckets(this))),
        }
    }
}

/// The findings and actions of [`StoreSettings::init`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct InitReport {
    /// The store did not exist, and was created.
    pub created: bool,
    /// The store existed, and was changed.
    pub updated: bool,
    /// The store states that no election ever ran in it.
    pub never_used: bool,
    /// The lease of the elections in a NATS bucket; elsewhere each candidate has its own.
    pub lease: Option<Duration>,
    /// The differences between an existing bucket and the requirements; an update has corrected them.
    pub differences: Vec<Difference>,
    /// The leader topic, in Kafka.
    pub topic: Option<String>,
    /// The incarnation of the elections, in etcd.
    pub incarnation: Option<Incarnation>,
}

/// A bucket's setting that differs from the requirement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// The setting, by its name in the server's configuration.
    pub setting: &'static str,
    /// The present value.
    pub is: String,
    /// The required value.
    pub should: String,
    /// True if it can be changed without creating the bucket again.
    pub changeable: bool,
}

impl InitReport {
    /// Returns true if the store is as required.
    pub fn is_ready(&self) -> bool {
        self.updated || self.differences.is_empty()
    }

    /// Returns true if [`InitOptions::update`] would correct every difference.
    pub fn is_correctable(&self) -> bool {
        self.differences.iter().all(|difference| difference.changeable)
    }
}

impl Difference {
    /// The option of [`InitOptions`] that asks for this setting, if there is one.
    pub fn option(&self) -> Option<&'static str> {
        match self.setting {
            "max_age" => Some("lease"),
            "num_replicas" => Some("replicas"),
            "max_bytes" => Some("max-bytes"),
            _ => None,
        }
    }
}

impl StoreSettings {
    /// Prepares the store for elections, or reports how an existing bucket differs. A second call changes nothing.
    ///
    /// - A NATS bucket is created with file storage, a history of 1 and its lease as TTL. Without markers it refuses
    ///   purges, which would remove the record of a leader. An existing bucket is compared, and left as it is without
    ///   [`InitOptions::update`].
    /// - An SQLite file is created if it does not exist.
    /// - Under a prefix of etcd the birth record is written, from which candidates notice that the cluster was
    ///   replaced.
    /// - In Kafka the leader topic of one election is created.
    ///
    /// In a new store no candidate leads until the store is one lease old, because it may replace another in which a
    /// candidate still leads. [`InitOptions::never_used`] removes that wait.
    ///
    /// # Errors
    /// `InvalidSetting` for an option that is invalid or not for this kind of store; `UnsafeStore` for a bucket that
    /// cannot be corrected, and for a store that is stated to be new but has been written to; `Unsupported` for servers
    /// that are too old; and every error of reaching the store. This does not wait for a store that does not answer.
    pub async fn init(&self, options: &InitOptions) -> Result<InitReport> {
        if let Some(election) = &options.election
            && !self.has_store_per_election()
        {
            return Err(invalid(refusals::election_of_whole(election)));
        }
        match self {
            Self::Memory(_) => Err(invalid(refusals::preparation())),
            #[cfg(feature = "sqlite")]
            Self::Sqlite(settings) => file(settings, options).await,
            #[cfg(feature = "nats")]
            Self::Nats(settings) => bucket(settings, options).await,
            #[cfg(feature = "etcd")]
            Self::Etcd(settings) => prefix(settings, options).await,
            #[cfg(feature = "kafka")]
            Self::Kafka(settings) => topic(settings, options).await,
        }
    }

    fn has_store_per_election(&self) -> bool {
        #[cfg(feature = "kafka")]
        return matches!(self, Self::Kafka(_));
        #[cfg(not(feature = "kafka"))]
        return false;
    }
}

/// The most attempts to examine a bucket whose servers do not answer.
#[cfg(feature = "nats")]
const SURVEYS: u32 = 4;

#[cfg(feature = "nats")]
async fn bucket(settings: &super::NatsSettings, options: &InitOptions) -> Result<InitReport> {
    use super::nats;

    let asked = |lease: Duration, replicas: u32| {
        let asked = nats::InitOptions::new(lease)
            .replicas(replicas)
            .markers(options.markers)
            .own_leases(options.own_leases)
            .never_used(options.never_used)
            .update(options.update);
        match options.max_bytes {
            Some(bytes) => asked.max_bytes(bytes),
            None => asked,
        }
    };
    asked(options.lease.unwrap_or(LEASE), options.replicas.unwrap_or(1)).check()?;
    let existing = match (options.lease, options.replicas) {
        (Some(_), Some(_)) => None,
        // A bucket that could not be examined may exist, so do not assume the default lease and replicas.
        _ => existing_bucket(settings).await?,
    };
    // An existing bucket keeps settings for which nothing is required.
    let lease = options.lease.or_else(|| existing.as_ref()?.max_age).unwrap_or(LEASE);
    let replicas = options.replicas.or_else(|| existing.as_ref().map(|bucket| bucket.replicas)).unwrap_or(1);
    let nats::InitReport { created, updated, differences } =
        nats::init(settings, &asked(lease, replicas)).await?;
    let stated = options.never_used || existing.is_some_and(|bucket| bucket.info.never_used);
    let lease = Some(lease);
    let report = InitReport { created, updated, lease, differences, ..InitReport::default() };
    Ok(InitReport { never_used: stated && report.is_ready(), ..report })
}

/// The existing bucket; `None` if there is none. Asked more than once, because a cluster that has just elected a leader
/// loses requests.
#[cfg(feature = "nats")]
async fn existing_bucket(settings: &super::NatsSettings) -> Result<Option<super::nats::Survey>> {
    let settings = settings.clone().fail_fast(true);
    let mut tries = 1..SURVEYS;
    loop {
        match super::nats::survey(&settings, &Clock::system()).await {
            Ok(existing) => return Ok(Some(existing)),
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            Err(error) if error.kind() == ErrorKind::StoreUnavailable && tries.next().is_some() => {}
            Err(error) => return Err(error),
        }
    }
}

#[cfg(feature = "sqlite")]
async fn file(settings: &super::SqliteSettings, options: &InitOptions) -> Result<InitReport> {
    options.only_of_buckets("a file")?;
    let (info, created) = super::Sqlite::prepare(settings, &Clock::system(), options.never_used).await?;
    Ok(InitReport { created, never_used: info.never_used, ..InitReport::default() })
}

#[cfg(feature = "etcd")]
async fn prefix(settings: &super::EtcdSettings, options: &InitOptions) -> Result<InitReport> {
    use super::etcd;

    options.only_of_buckets("etcd")?;
    let etcd::InitReport { created, incarnation, never_used, .. } =
        etcd::init(settings, options.never_used).await?;
    Ok(InitReport { created, never_used, incarnation: Some(incarnation), ..InitReport::default() })
}

#[cfg(feature = "kafka")]
async fn topic(settings: &super::KafkaSettings, options: &InitOptions) -> Result<InitReport> {
    use super::kafka;

    options.only_of_buckets("Kafka")?;
    if options.never_used {
        return Err(invalid(kafka::refusals::new_topic()));
    }
    let Some(election) = &options.election else {
        return Err(invalid(kafka::refusals::no_election()));
    };
    let kafka::InitReport { topic, created } = kafka::init(settings, election).await?;
    Ok(InitReport { created, topic: Some(topic), ..InitReport::default() })
}

fn invalid(refused: Text) -> Error {
    Error::named(ErrorKind::InvalidSetting, refused)
}
