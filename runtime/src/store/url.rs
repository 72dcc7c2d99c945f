//! Stores by URL: the same text in every language and on the command line.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

#[cfg(feature = "etcd")]
use super::EtcdSettings;
#[cfg(feature = "kafka")]
use super::KafkaSettings;
#[cfg(feature = "etcd")]
use super::etcd::{EtcdAdmin, Queues};
#[cfg(feature = "kafka")]
use super::kafka::{Groups, KafkaAdmin};
use super::query::{Query, decode, is_word};
use super::seam::Reports;
use super::{Adapter, Memory, MemorySettings, RecordLink, StoreAdmin, local, request, selectors};
#[cfg(feature = "nats")]
use super::{Nats, NatsSettings, nats};
#[cfg(feature = "sqlite")]
use super::{Sqlite, SqliteSettings};
use crate::clock::Clock;
use crate::driver::Opened;
use crate::{Error, ErrorKind, Result};

/// The schemes of a URL and the stores behind them, as an error shows them.
const FORMS: &str = "memory:, memory:NAME, sqlite:PATH, nats://HOST:4222/BUCKET, etcd://HOST:2379/PREFIX, \
                     kafka://HOST:9092/PREFIX";

/// The stores in this build, each by the scheme of its URLs: `memory`, and those of the features `sqlite`, `nats`,
/// `etcd` and `kafka`.
pub const BUILT_IN: &[&str] = &[
    "memory",
    #[cfg(feature = "sqlite")]
    "sqlite",
    #[cfg(feature = "nats")]
    "nats",
    #[cfg(feature = "etcd")]
    "etcd",
    #[cfg(feature = "kafka")]
    "kafka",
];

/// The settings of a store, as given by its URL.
///
/// | URL | store |
/// |---|---|
/// | `memory:` | in memory, not shared |
/// | `memory:NAME` | in memory, shared by all openings of the same name in this process |
/// | `sqlite:PATH` | a SQLite file, shared by the processes of this machine |
/// | `nats://HOST:4222/BUCKET` | a NATS JetStream key-value bucket; see `NatsSettings::from_url` |
/// | `etcd://HOST:2379/PREFIX` | the keys of an etcd cluster under a prefix; see `EtcdSettings::from_url` |
/// | `kafka://HOST:9092/PREFIX` | consumer groups of a Kafka cluster; see `KafkaSettings::from_url` |
///
/// Parameters follow a `?`: `markers=true` for memory (expiry is reported to watchers); `poll=10ms` (the
/// interval of a watcher's checks), `create=false` (do not create the file) and `fuse=true` (use a file
/// on FUSE) for SQLite. A `%`, `?` or `#` in a path or name is written `%25`, `%3F`, `%23`.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum StoreSettings {
    /// In memory.
    Memory(MemorySettings),
    /// A SQLite file.
    #[cfg(feature = "sqlite")]
    Sqlite(SqliteSettings),
    /// A NATS JetStream key-value bucket.
    #[cfg(feature = "nats")]
    Nats(Box<NatsSettings>),
    /// An etcd cluster.
    #[cfg(feature = "etcd")]
    Etcd(Box<EtcdSettings>),
    /// Consumer groups of a Kafka cluster.
    #[cfg(feature = "kafka")]
    Kafka(Box<KafkaSettings>),
}

impl StoreSettings {
    /// Opens the store; its records expire by `clock`.
    ///
    /// # Errors
    /// Those of the store: [`Memory::open`], [`Sqlite::open`], [`Nats::open`]. `Unsupported` for etcd, whose elections are
    /// queues, and for Kafka, whose elections are groups: they have no [`Adapter`], and [`Store`](crate::Store) opens them.
    pub async fn open(&self, clock: &Clock) -> Result<Box<dyn Adapter>> {
        Ok(match self {
            Self::Memory(settings) => Box::new(Memory::open(settings, clock)?),
            #[cfg(feature = "sqlite")]
            Self::Sqlite(settings) => Box::new(Sqlite::open(settings, clock).await?),
            #[cfg(feature = "nats")]
            Self::Nats(settings) => Box::new(Nats::open(settings, clock).await?),
            #[cfg(feature = "etcd")]
            Self::Etcd(_) => return Err(no_adapter("queues")),
            #[cfg(feature = "kafka")]
            Self::Kafka(_) => return Err(no_adapter("consumer groups")),
        })
    }

    /// Opens the store for a driver.
    pub(crate) async fn connect(&self, reports: Reports) -> Result<Box<dyn Opened>> {
        Ok(match self {
            #[cfg(feature = "nats")]
            Self::Nats(settings) => Box::new(nats::link::connect(settings, reports).await?),
            #[cfg(feature = "etcd")]
            Self::Etcd(settings) => Box::new(Queues::open(settings, reports).await?),
            #[cfg(feature = "kafka")]
            Self::Kafka(settings) => Box::new(Groups::open(settings, reports).await?),
            records => Box::new(RecordLink::new(records.open(&reports.clock).await?, reports)),
        })
    }

    /// Sets whether an unresponsive store is an error instead of being waited for, if the store offers the choice.
    #[must_use]
    pub fn fail_fast(self, fail_fast: bool) -> Self {
        match self {
            #[cfg(feature = "nats")]
            Self::Nats(settings) => Self::Nats(Box::new(settings.fail_fast(fail_fast))),
            #[cfg(feature = "etcd")]
            Self::Etcd(settings) => Self::Etcd(Box::new(settings.fail_fast(fail_fast))),
            #[cfg(feature = "kafka")]
            Self::Kafka(settings) => Self::Kafka(Box::new(settings.fail_fast(fail_fast))),
            settings => {
                let _ = fail_fast;
                settings
            }
        }
    }

    /// Sets the shortest lease that will be used, if the connection's own intervals depend on it.
    #[must_use]
    pub fn expected_lease(self, lease: Duration) -> Self {
        match self {
            #[cfg(feature = "nats")]
            Self::Nats(settings) => Self::Nats(Box::new(settings.expected_lease(lease))),
            settings => {
                let _ = lease;
                settings
            }
        }
    }

    /// Refuses a key that is impossible for an election in such a store, without connecting to it.
    ///
    /// # Errors
    /// `InvalidName`.
    pub fn check_election(&self, key: &str) -> Result<()> {
        request::check_election(key)?;
        match self {
            Self::Memory(_) => local::check_text("key", key),
            #[cfg(feature = "sqlite")]
            Self::Sqlite(_) => local::check_text("key", key),
            #[cfg(feature = "nats")]
            Self::Nats(settings) => settings.check_key(key),
            #[cfg(feature = "etcd")]
            Self::Etcd(settings) => settings.check_key(key),
            #[cfg(feature = "kafka")]
            Self::Kafka(settings) => settings.check_key(key),
        }
    }

    /// Opens the store for an operator's unconditional writes.
    ///
    /// # Errors
    /// As [`open`](Self::open).
    pub async fn operate(&self, clock: &Clock) -> Result<Box<dyn StoreAdmin>> {
        Ok(match self {
            Self::Memory(settings) => Box::new(Memory::open(settings, clock)?),
            #[cfg(feature = "sqlite")]
            Self::Sqlite(settings) => Box::new(Sqlite::open(settings, clock).await?),
            #[cfg(feature = "nats")]
            Self::Nats(settings) => Box::new(Nats::open(settings, clock).await?),
            #[cfg(feature = "etcd")]
            Self::Etcd(settings) => {
                crate::threads::ready().await?;
                Box::new(EtcdAdmin::open(settings)?)
            }
            #[cfg(feature = "kafka")]
            Self::Kafka(_) => Box::new(KafkaAdmin),
        })
    }
}

/// Opens the store that a URL names; see [`StoreSettings`] for the form of the URL.
///
/// # Errors
/// [`InvalidUrl`](ErrorKind::InvalidUrl) for an unreadable URL, [`Unsupported`](ErrorKind::Unsupported)
/// for a store this build does not have, and those of the store.
pub async fn open(url: &str, clock: &Clock) -> Result<Box<dyn Adapter>> {
    url.parse::<StoreSettings>()?.open(clock).await
}

impl FromStr for StoreSettings {
    type Err = Error;

    fn from_str(url: &str) -> Result<Self> {
        selectors::check_url(url)?;
        let Some((scheme, rest)) = url.split_once(':') else {
            return Err(invalid(format!("give the store as a URL: one of {FORMS}")));
        };
        match scheme {
            "memory" => memory(rest).map(Self::Memory),
            "sqlite" => sqlite(rest),
            "nats" | "tls" | "ws" | "wss" => nats(url),
            "etcd" | "etcds" => etcd(url),
            "kafka" | "kafkas" => kafka(url),
            _ if is_word(scheme) => {
                Err(invalid(format!("no store has the scheme {scheme:?}; use one of {FORMS}")))
            }
            _ => Err(invalid(format!("no store has this URL's scheme; use one of {FORMS}"))),
        }
    }
}

fn memory(rest: &str) -> Result<MemorySettings> {
    let (name, mut query) = split("memory", rest)?;
    let settings = MemorySettings {
        name: (!name.is_empty()).then_some(name),
        markers: query.flag("markers")?.unwrap_or(false),
    };
    query.finish()?;
    selectors::check(ErrorKind::InvalidUrl, settings.selectors())?;
    Ok(settings)
}

#[cfg(feature = "sqlite")]
fn sqlite(rest: &str) -> Result<StoreSettings> {
    let (path, mut query) = split("sqlite", rest)?;
    // Other libraries read the first part of sqlite://a/b as a host, or as a folder, so it is refused here.
    let path = match path.strip_prefix("//") {
        Some(absolute) if absolute.starts_with('/') => absolute,
        Some(_) => {
            let message = "a path after sqlite:// has no host; write sqlite:elections.db or \
                           sqlite:///var/lib/elections.db";
            return Err(invalid(message));
        }
        None => &path,
    };
    if path.is_empty() {
        return Err(invalid("sqlite: names no file; write sqlite:elections.db"));
    }
    if path == ":memory:" {
        return Err(invalid("SQLite's :memory: is shared with no other process; write memory: instead"));
    }
    let defaults = SqliteSettings::new(path);
    let settings = SqliteSettings {
        poll: query.duration("poll")?,
        create: query.flag("create")?.unwrap_or(defaults.create),
        fuse: query.flag("fuse")?.unwrap_or(defaults.fuse),
        ..defaults
    };
    query.finish()?;
    selectors::check(ErrorKind::InvalidUrl, settings.selectors())?;
    Ok(StoreSettings::Sqlite(settings))
}

#[cfg(not(feature = "sqlite"))]
fn sqlite(_rest: &str) -> Result<StoreSettings> {
    Err(absent("SQLite", "sqlite"))
}

#[cfg(feature = "nats")]
fn nats(url: &str) -> Result<StoreSettings> {
    Ok(StoreSettings::Nats(Box::new(NatsSettings::from_url(url)?)))
}

#[cfg(not(feature = "nats"))]
fn nats(_url: &str) -> Result<StoreSettings> {
    Err(absent("NATS", "nats"))
}

#[cfg(feature = "etcd")]
fn etcd(url: &str) -> Result<StoreSettings> {
    Ok(StoreSettings::Etcd(Box::new(EtcdSettings::from_url(url)?)))
}

#[cfg(not(feature = "etcd"))]
fn etcd(_url: &str) -> Result<StoreSettings> {
    Err(absent("etcd", "etcd"))
}

#[cfg(feature = "kafka")]
fn kafka(url: &str) -> Result<StoreSettings> {
    Ok(StoreSettings::Kafka(Box::new(KafkaSettings::from_url(url)?)))
}

#[cfg(not(feature = "kafka"))]
fn kafka(_url: &str) -> Result<StoreSettings> {
    Err(absent("Kafka", "kafka"))
}

/// The decoded part before the `?`, and the parameters after it.
fn split(scheme: &'static str, rest: &str) -> Result<(String, Query)> {
    if rest.contains('#') {
        return Err(invalid(format!("a {scheme}: URL has no part after #; write %23 for a # in it")));
    }
    let (place, query) = rest.split_once('?').unwrap_or((rest, ""));
    Ok((decode(scheme, place)?, Query::read(scheme, query)?))
}

#[cfg(any(feature = "etcd", feature = "kafka"))]
fn no_adapter(elections: &str) -> Error {
    let message =
        format!("elections of this store are {elections}, so it has no adapter; open it with Store::open");
    Error::new(ErrorKind::Unsupported, message)
}

fn invalid(message: impl fmt::Display) -> Error {
    Error::new(ErrorKind::InvalidUrl, message.to_string())
}

#[cfg(not(all(feature = "etcd", feature = "kafka", feature = "nats", feature = "sqlite")))]
fn absent(store: &str, feature: &str) -> Error {
    let message = format!(
        "this build has no {store} store, only {}; build it with the feature {feature:?}",
        BUILT_IN.join(", ")
    );
    Error::new(ErrorKind::Unsupported, message)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(url: &str) -> String {
        let error = url.parse::<StoreSettings>().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidUrl, "{url}");
        error.message().to_owned()
    }

    #[test]
    fn a_memory_url_names_a_store_or_none() {
        let read = |url: &str| match url.parse().unwrap() {
            StoreSettings::Memory(settings) => settings,
            other => panic!("{other:?}"),
        };
        assert_eq!(read("memory:"), MemorySettings::private());
        assert_eq!(read("memory:jobs"), MemorySettings::named("jobs"));
        assert_eq!(read("memory:a%3Fb?markers=true"), MemorySettings::named("a?b").markers(true));
    }

    #[test]
    #[cfg(feature = "sqlite")]
    fn a_sqlite_url_names_a_file_relative_or_absolute() {
        let read = |url: &str| match url.parse().unwrap() {
            StoreSettings::Sqlite(settings) => settings,
            other => panic!("{other:?}"),
        };
        assert_eq!(read("sqlite:elections.db"), SqliteSettings::new("elections.db"));
        assert_eq!(read("sqlite:/var/lib/e.db"), SqliteSettings::new("/var/lib/e.db"));
        assert_eq!(read("sqlite:///var/lib/e.db"), SqliteSettings::new("/var/lib/e.db"));
        assert_eq!(read("sqlite:100%25.db"), SqliteSettings::new("100%.db"));
        let all = SqliteSettings::new("e.db").poll(Duration::from_millis(5)).create(false).fuse(true);
        assert_eq!(read("sqlite:e.db?poll=5ms&create=false&fuse=true"), all);
    }

    #[test]
    fn a_url_without_a_known_scheme_is_refused_with_those_there_are() {
        for url in ["", "elections.db", "redis://localhost", "MEMORY:", "token@host:4222/b"] {
            let message = refused(url);
            assert!(message.ends_with(FORMS), "{message}");
        }
    }

    #[test]
    fn a_url_that_begins_with_a_token_is_not_quoted() {
        assert!(!refused("hunter2@host:4222/b").contains("hunter2"));
    }

    #[test]
    #[cfg(feature = "sqlite")]
    fn an_unknown_parameter_is_refused_with_those_there_are() {
        assert_eq!(
            refused("sqlite:e.db?pol=5ms"),
            "a sqlite: URL has no parameter \"pol\"; the parameters are poll, create, fuse"
        );
        assert_eq!(refused("memory:?x"), "a memory: URL has no parameter \"x\"; the parameters are markers");
    }

    #[test]
    #[cfg(feature = "sqlite")]
    fn a_malformed_url_is_refused_with_the_part_and_the_remedy() {
        for (url, part) in [
            ("sqlite:", "names no file"),
            ("sqlite:?poll=5ms", "names no file"),
            ("sqlite::memory:", "write memory: instead"),
            ("sqlite://elections.db", "sqlite:elections.db"),
            ("sqlite:e.db#x", "%23"),
            ("sqlite:%ff.db", "UTF-8"),
            ("sqlite:e.db?poll=5", "poll=5"),
            ("sqlite:e.db?poll=ms", "poll=ms"),
            ("sqlite:e.db?poll=99999999999999999999h", "10ms"),
            ("sqlite:e.db?create=yes", "true or false"),
            ("sqlite:e.db?poll=5ms&poll=6ms", "twice"),
            ("memory:?markers", "true or false"),
        ] {
            let message = refused(url);
            assert!(message.contains(part), "{url}: {message}");
        }
    }
}
